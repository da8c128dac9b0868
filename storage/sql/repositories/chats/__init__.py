"""What belongs to chats, in SQL: one repository for each of storage.records.chats."""
