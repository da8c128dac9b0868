"""Commands that agents ran, and where each agent stands in its terminal."""

from alembic import op
from sqlalchemy import Boolean, Column, Double, ForeignKey, Text

from storage.sql.dialect import ID, Count, Words

revision = "0043_commands"
down_revision = "0042_schedules"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "commands",
        Column("id", ID, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), nullable=False),
        Column("home", ID, ForeignKey("sessions.id"), nullable=False),
        Column("address", Words, nullable=False),
        Column("person", Words, nullable=False),
        Column("private", Boolean, nullable=False),
        Column("child", Boolean, nullable=False),
        Column("tool", Words, nullable=False),
        Column("line", Words, nullable=False),
        Column("directory", Words, nullable=False),
        Column("background", Boolean, nullable=False),
        Column("state", Words, nullable=False),
        Column("status", Count),
        Column("why", Words, nullable=False),
        Column("output", Words, nullable=False),
        Column("started", Double, nullable=False),
        Column("ended", Double),
    )
    op.create_index("ix_commands_state", "commands", ["state"])
    op.create_index("commands_home", "commands", ["home", "id"])
    op.create_table(
        "shells",
        Column("session", ID, ForeignKey("sessions.id"), primary_key=True, autoincrement=False),
        Column("entry", ID, nullable=False),
        Column("directory", Words, nullable=False),
        Column("environment", Text, nullable=False),
        Column("directory_before", Words, nullable=False),
        Column("environment_before", Text, nullable=False),
    )
