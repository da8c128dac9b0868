"""The newest change of the model on a strand is found at once."""

import sqlalchemy as sa
from alembic import op

revision = "0050_model_changes"
down_revision = "0043_commands"
branch_labels = None
depends_on = None


def upgrade() -> None:
    changes = sa.text("kind = 'model_change'")
    op.create_index(
        "ix_entries_model_change",
        "entries",
        ["strand", "number"],
        sqlite_where=changes,
        postgresql_where=changes,
    )
