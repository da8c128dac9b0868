"""Until when a grant holds, how the call runs, with what files, and how often it was used. Grants
from before cover whatever the files hold, as they did."""

from alembic import op
from sqlalchemy import Column, Double, Text

from storage.sql.dialect import Count, Words

revision = "0066_grants"
down_revision = "0064_imports"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for column in (
        Column("until", Double),
        Column("runs", Words, nullable=False, server_default=""),
        Column("files", Text, nullable=False, server_default='{"*": "any"}'),
        Column("used", Count, nullable=False, server_default="0"),
    ):
        op.add_column("grants", column)
