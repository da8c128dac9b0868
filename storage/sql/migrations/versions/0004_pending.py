"""The outbox can be asked by conversation."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pending = sa.text("state = 'pending'")
    op.create_index(
        "ix_outbox_pending",
        "outbox",
        ["address", "id"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
    op.drop_index("ix_outbox_state", "outbox")
