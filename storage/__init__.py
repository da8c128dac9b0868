"""What is kept: trees of entries, inbox and outbox, questions, costs; and sessions as files.

`store` is the seam: plain functions on one transaction, whose repositories keep `records`; `sql` is
behind it. `news` is what a commit tells, `jobs` and `leases` are how processes share the work,
`ephemeral` is what ends with one of them. `blobs` are files, `search` finds words, `tree` reckons
with paths; `interchange` is sessions as files, `transfer` whole databases. `traces` says of which
update it is, `giving_way` lets others run beside who reads much, `lock` keeps a second gateway out,
`checkpoint` empties SQLite's log; `errors`, `faults`: what goes wrong. Imports nothing above it.
"""
