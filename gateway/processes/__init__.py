"""Several processes of one gateway: what each of them does (`roles`), what one of them does alone
(`duties`, as leases in `leased_duties`), how that is divided (`shares`), and what they say to each
other besides what they commit (`switchboard`). `membership` is all of it for one process, and
`shared_workspace` sees that all who run tools have one folder. Imports the store, the platforms'
names and the configuration, and nothing else of the gateway.
"""
