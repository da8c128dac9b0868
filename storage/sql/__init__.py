"""The store in SQL: connections, the writer, tables, migrations.

`repositories` are the parts of a transaction. SQLAlchemy is imported here only.
"""
