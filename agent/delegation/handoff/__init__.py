"""What a parent hands over to a child: files, commands, findings; cut to a budget."""
