"""Discord: received, normalized, rendered, sent. discord.py is imported here only.

`inbound` is what comes from there; `interactions` holds the places where presses and commands are
answered; a message is cut in `render`, of the prose and code that `segments` finds in it.
"""
