"""The store in SQL: connections, the writer, tables, migrations.

`dialect` is the seam to a database, `sqlite` and `postgres` are behind it; `repositories` and
`search` are the parts of a transaction, `prepared` runs their busiest statements. SQLAlchemy is
imported here only.
"""
