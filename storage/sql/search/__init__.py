"""Full-text search in SQL: what both databases share (`repository`), and the index of each."""
