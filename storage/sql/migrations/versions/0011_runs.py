"""Which run of a delegation a session is: said by columns, and not by its title."""

import re

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column

from storage.sql.dialect import Count, Words

revision = "0011_runs"
down_revision = "0020"
branch_labels = None
depends_on = None

_TITLE = re.compile(r"(worker|overseer) ([0-9]+)(, commands as text)?")


def upgrade() -> None:
    op.add_column("sessions", Column("run_role", Words))
    op.add_column("sessions", Column("run_number", Count))
    connection = op.get_bind()
    rows = connection.execute(sa.text("SELECT id, title FROM sessions WHERE kind = 'subagent'"))
    runs = [(id_, _TITLE.fullmatch(title)) for id_, title in rows.fetchall()]
    values = [
        {
            "session": id_,
            "role": f"{run[1]} as text" if run[3] else run[1],
            "number": int(run[2]),
        }
        for id_, run in runs
        if run is not None
    ]
    if values:
        statement = sa.text(
            "UPDATE sessions SET run_role = :role, run_number = :number WHERE id = :session"
        )
        connection.execute(statement, values)
    op.create_index(
        "sessions_run", "sessions", ["parent_session", "run_role", "run_number"], unique=True
    )
