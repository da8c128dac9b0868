"""What people sent: which entries show it, and, with PostgreSQL, its content."""

from alembic import op
from sqlalchemy import Column, Double, ForeignKey, LargeBinary

from storage.sql.dialect import ID, Words

revision = "0054_blobs"
down_revision = "0053_people"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "blobs",
        Column("digest", Words, primary_key=True),
        Column("data", LargeBinary, nullable=False),
        Column("put", Double, nullable=False),
    )
    op.create_table(
        "blob_uses",
        Column("digest", Words, primary_key=True),
        Column("entry", ID, ForeignKey("entries.id"), primary_key=True, autoincrement=False),
    )
