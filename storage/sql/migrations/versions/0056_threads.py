"""Threads say which channel they are in."""

import sqlalchemy as sa
from alembic import op

from storage.sql.dialect import Words

revision = "0056_threads"
down_revision = "0054_blobs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "threads",
        sa.Column("address", Words, primary_key=True),
        sa.Column("channel", Words, nullable=False),
        sa.Column("opened", sa.Boolean, nullable=False),
        sa.Column("refused", sa.Boolean, nullable=False),
    )
