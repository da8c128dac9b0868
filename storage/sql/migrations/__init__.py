"""Alembic: how a database becomes what `schema` says, one file in `versions` for each step."""
