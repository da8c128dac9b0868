"""What people chose for their conversations."""

from alembic import op
from sqlalchemy import Column, Double

from storage.sql.dialect import Words

revision = "0052_chat_settings"
down_revision = "0050_model_changes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "chat_settings",
        Column("address", Words, primary_key=True),
        Column("key", Words, primary_key=True),
        Column("value", Words, nullable=False),
        Column("by_whom", Words, nullable=False),
        Column("time", Double, nullable=False),
    )
