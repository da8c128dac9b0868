"""What providers read from their prompt caches is counted apart."""

import sqlalchemy as sa
from alembic import op

from storage.sql.dialect import Count

revision = "0031_cached"
down_revision = "0030_words"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("ledger", "delegations"):
        column = sa.Column("cached_tokens", Count, nullable=False, server_default="0")
        op.add_column(table, column)
