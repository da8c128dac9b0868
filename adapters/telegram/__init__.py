"""Telegram: received, normalized, rendered, sent. python-telegram-bot is imported here only.

`adapter` is the seam's; `inbound` confirms an update after it is committed, `files` fetches what
came with it. `render` is pure; a message is cut in `rich`, from what `markdown` makes of it, in the
positions of `utf16`; `menus` are those of commands. `errors` and `logs` keep the token out of every
text; `checkup` looks at the bot before it serves.
"""
