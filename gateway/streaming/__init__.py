"""Answers that grow in the chat while the model writes them.

`partial` makes sane Markdown of a text that has not ended, `live_answer` shows it at the platform's
pace, `model` tells it when a call of the model is over; the rows behind it are in
gateway.outbound.live_messages. Imports gateway.status and below.
"""
