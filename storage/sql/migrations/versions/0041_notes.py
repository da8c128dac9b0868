"""Notes that the agent keeps, and whose private conversation one is."""

from alembic import op
from sqlalchemy import Column, Double

from storage.sql.dialect import ID, Words

revision = "0041_notes"
down_revision = "0040_grants"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "notes",
        Column("id", ID, primary_key=True),
        Column("scope", Words, nullable=False),
        Column("owner", Words, nullable=False),
        Column("text", Words, nullable=False),
        Column("by_whom", Words, nullable=False),
        Column("address", Words, nullable=False),
        Column("time", Double, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_notes_scope_owner", "notes", ["scope", "owner"])
    op.add_column("conversations", Column("private_with", Words))
