"""Calls that people allowed for a conversation."""

from alembic import op
from sqlalchemy import Column, Double, ForeignKey

from storage.sql.dialect import ID, Words

revision = "0040_grants"
down_revision = "0031_cached"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "grants",
        Column("id", ID, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), nullable=False),
        Column("address", Words, nullable=False),
        Column("tool", Words, nullable=False),
        Column("hash", Words, nullable=False),
        Column("shown", Words, nullable=False),
        Column("granted_by", Words, nullable=False),
        Column("granted_name", Words, nullable=False),
        Column("time", Double, nullable=False),
    )
    op.create_index("grants_call", "grants", ["session", "address", "tool", "hash"], unique=True)
