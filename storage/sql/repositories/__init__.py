"""The parts of a transaction in SQL, one for each kind of record."""
