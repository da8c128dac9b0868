"""Outbox to platform: what is said is committed before it is sent.

`composer` cuts Markdown into messages, `delivery` sends them and survives refusals and crashes,
`connections` are the platforms that can be sent to, `buttons` gives messages their buttons and puts
on record what they do. Of what the agent sends by itself, `messenger` says to whom, `out_files`
makes rows of files, `pictures` makes pictures anew. Knows adapters and the store, no command and no
turn.
"""
