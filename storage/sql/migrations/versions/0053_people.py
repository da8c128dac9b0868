"""Who was let in from a chat, and who asks to be."""

from alembic import op
from sqlalchemy import Boolean, Column, Double

from storage.sql.dialect import Words

revision = "0053_people"
down_revision = "0052_chat_settings"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rights",
        Column("identity", Words, primary_key=True),
        Column("name", Words, nullable=False),
        Column("role", Words, nullable=False),
        Column("since", Double, nullable=False),
        Column("until", Double),
        Column("by_whom", Words, nullable=False),
    )
    op.create_table(
        "pairing_requests",
        Column("identity", Words, primary_key=True),
        Column("name", Words, nullable=False),
        Column("salt", Words, nullable=False),
        Column("digest", Words, nullable=False),
        Column("expires", Double, nullable=False),
        Column("asked", Double, nullable=False),
        Column("ignored", Boolean, nullable=False),
    )
    op.create_index("ix_pairing_requests_asked", "pairing_requests", ["asked"])
