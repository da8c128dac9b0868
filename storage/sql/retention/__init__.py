"""What is not kept for ever, in SQL: `tombstones` in the place of entries; `forgettings`, step by
step, with the rows of a person in `person_rows` and `other_rows`, by what `extent` says is theirs;
`people` who are known; `pruning`, with `sums` of the ledger and `families` of sessions."""
