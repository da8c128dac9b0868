"""Outbox to platform: what is said is committed before it is sent.

`composer` cuts Markdown into messages, `delivery` sends them and survives refusals and crashes,
when `pace` lets it, and `ends` records what became of them; `connections` are the platforms that
can be sent to, `live_messages` the rows of messages that grow. `buttons` gives messages their
buttons and puts on record what they do, `choices` says what stands on them. Of what the agent sends
by itself, `messenger` says to whom, `out_files` makes rows of files, `pictures` makes pictures
anew. Knows adapters and the store, no command and no turn.
"""
