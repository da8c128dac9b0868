"""Commands about whole sessions: list, name, switch, attach, fork, search, import and export."""
