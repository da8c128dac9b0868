"""Each kind of record: its types, and the protocol of the repository that keeps it."""
