"""What Alembic runs: within the transaction that migrate.py has begun."""

from alembic import context

from storage.sql.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
)
context.run_migrations()
