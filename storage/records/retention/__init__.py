"""What is not kept for ever: `tombstones`, `forgetting` a person, `pruning` what has had its time.
Imports point to storage.records only."""
