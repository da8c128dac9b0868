"""The store in SQL (`store`): connections, the `writer`, tables, `migrations`.

`dialect` is the seam to a database, `sqlite` and `postgres` are behind it, with what processes on
one PostgreSQL tell each other in `shared`, and what a file is in `file_identity`; the tables are in
`schema`, `tool_schema` and `people_schema`, and `migrate` brings a database up to them.
`repositories`, `search` and `retention` are the parts of a transaction, `rows` makes records of
rows and back, `prepared` runs the busiest statements. SQLAlchemy is imported here only.
"""
