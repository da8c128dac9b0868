"""Leases of processes and, in PostgreSQL, the job engine's own tables."""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

from storage.sql.dialect import Words

revision = "0058_leases"
down_revision = "0057_retention"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("name", Words, primary_key=True),
        sa.Column("owner", Words, nullable=False),
        sa.Column("until", sa.Double, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        # Late: with SQLite the engine need not be installed.
        import_module("storage.sql.shared.jobs").create_tables(op.get_bind())
