"""What is not kept for ever: `pruning` of what has had its time, `forgetting` of people, what is
kept about one of them as a file (`personal_data`), and `service`, which sees to all of it."""
