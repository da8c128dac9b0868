"""What holds in a conversation: `settings` is /settings, `model` is /model."""
