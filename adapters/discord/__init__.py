"""Discord: received, normalized, rendered, sent. discord.py is imported here only.

`receiver` keeps events in order, `history` reads what was missed, `interactions` are presses and
slash commands; a message is cut in `render`, of the prose and code that `segments` finds in it.
"""
