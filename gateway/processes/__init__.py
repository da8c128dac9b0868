"""Several processes of one gateway: what each of them does (`roles`), what one of them does alone
(`duties`, as leases in `leased_duties`), how that is divided (`shares`), and what they say to each
other besides what they commit (`switchboard`). `membership` is all of it for one process. Imports
the store and the platforms' names, and nothing else of the gateway.
"""
