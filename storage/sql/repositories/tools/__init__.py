"""What tools keep, in SQL: one module for each in `storage.records.tools`."""
