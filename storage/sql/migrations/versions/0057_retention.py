"""Tombstones, who is being forgotten, and indexes for what is pruned."""

from alembic import op
from sqlalchemy import Boolean, Column, Double, Text, text

from storage.sql.dialect import ID, Words, append_only_lifted, only_tombstones

revision = "0057_retention"
down_revision = "0056_threads"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "salts",
        Column("name", Words, primary_key=True),
        Column("salt", Words, nullable=False),
        Column("made", Double, nullable=False, index=True),
    )
    op.create_table(
        "forgettings",
        Column("id", ID, primary_key=True),
        Column("identity", Words, nullable=False),
        Column("pseudonym", Words, nullable=False),
        Column("salt", Words, nullable=False),
        Column("names", Text, nullable=False),
        Column("addresses", Text, nullable=False),
        Column("sessions", Text, nullable=False),
        Column("bounds", Text, nullable=False),
        Column("step", Words, nullable=False, index=True),
        Column("reached", ID, nullable=False),
        Column("rights", Boolean, nullable=False),
        Column("started", Double, nullable=False),
    )
    edits = text("edits IS NOT NULL")
    op.create_index(
        "ix_outbox_edits", "outbox", ["edits"], sqlite_where=edits, postgresql_where=edits
    )
    op.create_index("ix_question_posts_outbox", "question_posts", ["outbox"])
    dialect = op.get_bind().dialect
    for statement in append_only_lifted("entries", dialect):
        op.execute(statement)
    for statement in only_tombstones(dialect):
        op.execute(statement)
