"""Strands, sorts, menus, files, members."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column, Connection, ForeignKey, LargeBinary, Text

from storage.sql.dialect import ID, Words, append_only, append_only_lifted

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in append_only_lifted("entries", op.get_bind().dialect):
        op.execute(statement)
    op.add_column("entries", Column("strand", ID))
    op.add_column("entries", Column("sort", Words, nullable=False, server_default=""))
    op.add_column("leaf_moves", Column("why", Words, nullable=False, server_default=""))
    _fill(op.get_bind())
    _create_indexes()
    _create_tables()
    op.execute(
        "INSERT INTO session_members (member, session) "
        "SELECT address, session FROM conversations WHERE session IS NOT NULL"
    )
    op.execute(
        "INSERT INTO session_members (member, session) SELECT DISTINCT author, session "
        "FROM entries WHERE kind = 'message' AND author LIKE '%:%'"
    )
    for statement in append_only("entries", op.get_bind().dialect):
        op.execute(statement)


def _fill(connection: Connection) -> None:
    """Strands and sorts of the entries that are there, a parent before its children."""
    strands: dict[int, tuple[int, int]] = {}
    """Entry → its session and its strand."""
    continued: set[int] = set()
    rows = connection.execute(
        sa.text("SELECT id, session, parent, kind, body FROM entries ORDER BY id")
    )
    values: list[dict[str, Any]] = []
    for id_, session, parent, kind, body in rows.fetchall():
        above = strands.get(parent)
        goes_on = above is not None and above[0] == session and parent not in continued
        strand = above[1] if above is not None and goes_on else id_
        continued |= {parent} if goes_on else set()
        strands[id_] = session, strand
        sort = _sort(kind, json.loads(body))
        values.append({"entry": id_, "strand": strand if goes_on else None, "sort": sort})
    if values:
        statement = sa.text("UPDATE entries SET strand = :strand, sort = :sort WHERE id = :entry")
        connection.execute(statement, values)


def _sort(kind: str, body: dict[str, Any]) -> str:
    """As tree.sort_of was when this was written."""
    if kind != "message":
        return kind
    content = body.get("content")
    silent = not (content.strip() if isinstance(content, str) else content)
    return "calls" if body.get("tool_calls") and silent else str(body.get("role"))


def _create_indexes() -> None:
    first, label = sa.text("strand IS NULL"), sa.text("kind = 'label'")
    op.create_index("ix_entries_parent", "entries", ["parent"])
    op.create_index("ix_entries_strand", "entries", ["strand", "number"])
    for name, where in (("ix_entries_first", first), ("ix_entries_label", label)):
        op.create_index(name, "entries", ["session"], sqlite_where=where, postgresql_where=where)


def _create_tables() -> None:
    op.create_table(
        "original_ids",
        Column("session", ID, ForeignKey("sessions.id"), primary_key=True),
        Column("original", Words, primary_key=True),
        Column("entry", ID, ForeignKey("entries.id"), nullable=False),
    )
    op.create_table(
        "session_members",
        Column("member", Words, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), primary_key=True, index=True),
    )
    op.create_table(
        "files",
        Column("id", ID, primary_key=True),
        Column("name", Words, nullable=False),
        Column("picture", Boolean, nullable=False),
        Column("data", LargeBinary, nullable=False),
    )
    op.create_table(
        "menu_buttons",
        Column("token", Words, primary_key=True),
        Column("address", Words, nullable=False),
        Column("outbox", ID, ForeignKey("outbox.id"), nullable=False, index=True),
        Column("label", Words, nullable=False),
        Column("command", Words, nullable=False),
        Column("by_whom", Words, nullable=False),
        Column("subject", Text, nullable=False),
        Column("used", Words, nullable=False),
    )
