"""Full-text search. The index is empty at first; whoever follows the entries fills it."""

from alembic import op
from sqlalchemy import Column, String

from storage.sql.dialect import SEARCH_INDEX

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "search_words", Column("word", String, primary_key=True), sqlite_with_rowid=False
    )
    op.execute(SEARCH_INDEX)
