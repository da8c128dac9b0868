"""Telegram: received, normalized, rendered, sent. python-telegram-bot is imported here only.

`inbound` confirms an update after it is committed; `render` is pure; a message is cut in `rich`;
`menus` are those of commands.
"""
