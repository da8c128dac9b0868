"""Telegram: polled, normalized, rendered, sent. python-telegram-bot is imported here only.

`polling` confirms an update after it is committed; `normalize` and `render` are pure; a message is
cut in `rich`.
"""
