"""Full-text search. The index is empty at first; whoever follows the entries fills it."""

from alembic import op
from sqlalchemy import Column

from storage.sql.dialect import Words, search_index

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "search_words", Column("word", Words, primary_key=True), sqlite_with_rowid=False
    )
    for statement in search_index(op.get_bind().dialect):
        op.execute(statement)
