"""The way of prepared statements to a PostgreSQL. Imported late, as the driver may be missing.
Imports what a prepared statement is, and nothing else of ours.
"""
