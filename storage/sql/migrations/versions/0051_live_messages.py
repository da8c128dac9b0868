"""Messages that grow or change while a turn runs are on record, so that a restart finds them."""

from alembic import op
from sqlalchemy import Column, ForeignKey

from storage.sql.dialect import ID, Words

revision = "0051_live_messages"
down_revision = "0050_model_changes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "live_messages",
        Column("outbox", ID, ForeignKey("outbox.id"), primary_key=True, autoincrement=False),
        Column("inbox", ID, ForeignKey("inbox.id"), nullable=False),
        Column("kind", Words, nullable=False),
    )
    op.create_index("ix_live_messages_inbox", "live_messages", ["inbox"])
