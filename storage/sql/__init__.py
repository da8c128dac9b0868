"""The store in SQL: connections, the writer, tables, migrations.

`dialect` is the seam to a database, `sqlite` and `postgres` are behind it; `repositories` and
`search` are the parts of a transaction, `rows` makes records of rows and back, `prepared` runs the
busiest statements. SQLAlchemy is
imported here only.
"""
