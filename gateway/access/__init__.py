"""Who may do what: talk, decide, interrupt (`roles`, with the `rights` that were given in chats),
see which session (`visibility`), and how much of it: `quota` for those who may, `strangers` for the
others, over processes and restarts by `stored_limits`.

`codes` let people in, `owner_code` the first of them; `announcing` is what the start tells of both,
`denials` are what people are told who may not, `menus` what owners are shown. Asked at every
message and every press. Imports the configuration, and nothing else of the gateway.
"""
