"""What processes know of each other in rows: the duties that one of them has at a time (`leases`),
and what holds only while the process lives that wrote it (`ephemeral`)."""
