"""Discord: received, normalized, rendered, sent. discord.py is imported here only.

`adapter` is the seam's; `client` and `rest` are how the library is used. `inbound` is what comes
from there, with `attachments`; `handles` are the places where presses and commands are answered, as
`follow_ups`. A message is cut in `render`, of the prose and code that `segments` finds in it, and
sent as `payload`. `checkup` looks at the bot before it serves.
"""
