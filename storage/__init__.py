"""What is kept: trees of entries, inbox and outbox, questions, costs; and sessions as files.

`store` is the seam: plain functions on one transaction. Imports point down: checkpoint,
interchange, lock, sql, search, store, tree, records. Imports nothing of Bough above it.
"""
