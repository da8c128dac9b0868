"""The newest compaction of a strand is found at once."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0010_buttons"
branch_labels = None
depends_on = None


def upgrade() -> None:
    compactions = sa.text("kind = 'compaction'")
    op.create_index(
        "ix_entries_compaction",
        "entries",
        ["strand", "number"],
        sqlite_where=compactions,
        postgresql_where=compactions,
    )
