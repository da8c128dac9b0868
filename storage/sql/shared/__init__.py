"""What processes on one PostgreSQL have in common besides its rows: commits and messages that they
tell each other of (`announcing` tells, `listening` hears), and wake-ups as jobs of procrastinate
(`jobs`, `worker`, and what is said to its tables in `statements`), which is imported nowhere else.
`peers` is all of it, `alone` the seam, and what stands there with SQLite.
Imports the writer, and what stands below it.
"""
