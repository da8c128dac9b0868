"""Commands about whole sessions: list, name, switch, attach, fork (with its files), search, import
and export."""
