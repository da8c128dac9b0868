"""How many turns of a session in a row began by themselves; which schedules such a turn made."""

from alembic import op
from sqlalchemy import Boolean, Column, false

from storage.sql.dialect import ID, Count, Words

revision = "0067_unasked"
down_revision = "0066_grants"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", Column("unasked_turns", Count))
    op.add_column("sessions", Column("unasked_row", ID))
    op.add_column("sessions", Column("unasked_told", Words))
    op.add_column("schedules", Column("unasked", Boolean, nullable=False, server_default=false()))
