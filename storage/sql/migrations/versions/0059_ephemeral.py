"""Rows that hold while the process lives that wrote them."""

import sqlalchemy as sa
from alembic import op

from storage.sql.dialect import Words

revision = "0059_ephemeral"
down_revision = "0058_leases"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ephemeral",
        sa.Column("kind", Words, primary_key=True),
        sa.Column("key", Words, primary_key=True),
        sa.Column("owner", Words, nullable=False),
        sa.Column("scope", Words, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("ix_ephemeral_owner", "ephemeral", ["owner"])
    op.create_index("ix_ephemeral_scope", "ephemeral", ["kind", "scope"])
