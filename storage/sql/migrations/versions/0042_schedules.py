"""What is to be done later, and people's time zones."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Double, ForeignKey

from storage.sql.dialect import ID, Words

revision = "0042_schedules"
down_revision = "0041_notes"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "schedules",
        Column("id", ID, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), nullable=False),
        Column("address", Words, nullable=False, index=True),
        Column("person", Words, nullable=False),
        Column("text", Words, nullable=False),
        Column("rule", Words, nullable=False),
        Column("zone", Words, nullable=False),
        Column("next", Double, nullable=False),
        Column("state", Words, nullable=False),
        Column("created", Double, nullable=False),
        Column("fired", Double),
        Column("reason", Words, nullable=False),
    )
    active = sa.text("state = 'active'")
    for name, column in (("ix_schedules_due", "next"), ("ix_schedules_active", "person")):
        op.create_index(name, "schedules", [column], sqlite_where=active, postgresql_where=active)
    op.create_table(
        "zones",
        Column("person", Words, primary_key=True),
        Column("zone", Words, nullable=False),
    )
