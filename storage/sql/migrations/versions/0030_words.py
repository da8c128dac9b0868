"""Questions are answered in words, too; what explains one stands apart from what is asked."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column

from storage.sql.dialect import Words

revision = "0030_words"
down_revision = "0011_runs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("questions", Column("details", Words, nullable=False, server_default=""))
    op.add_column("questions", Column("words", Words, nullable=False, server_default=""))
    op.add_column(
        "question_posts", Column("prompt", Boolean, nullable=False, server_default=sa.false())
    )
    op.create_index("ix_question_posts_address", "question_posts", ["address"])
