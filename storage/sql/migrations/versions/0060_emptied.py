"""What was worked off and what was sent keep no second copy of the words; two tables are smaller.

Whose a row of the inbox is stands in columns of its own, so that its payload can go. Rows are read
in parts: there may be very many of them.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column, Connection, ForeignKey

from storage.sql.dialect import ID, Words

revision = "0060_emptied"
down_revision = "0059_ephemeral"
branch_labels = None
depends_on = None

_AT_ONCE = 1_000

_inbox = sa.table(
    "inbox",
    *(sa.column(name) for name in ("id", "state", "payload", "held")),
    *(sa.column(name, Words) for name in ("person", "name")),
)


def upgrade() -> None:
    op.add_column("inbox", Column("person", Words, nullable=False, server_default=""))
    op.add_column("inbox", Column("name", Words, nullable=False, server_default=""))
    op.add_column("inbox", Column("held", Boolean, nullable=False, server_default=sa.false()))
    connection = op.get_bind()
    _empty_inbox(connection)
    _empty_outbox(connection)
    op.drop_index("ix_ledger_delegation", "ledger")
    known = sa.text("delegation IS NOT NULL")
    op.create_index(
        "ix_ledger_delegation", "ledger", ["delegation"], sqlite_where=known, postgresql_where=known
    )
    if connection.dialect.name == "sqlite":
        _links_by_key()


def _empty_inbox(connection: Connection) -> None:
    held = _asked_again(connection)
    change = (
        sa.update(_inbox)
        .where(_inbox.c.id == sa.bindparam("row"))
        # With `id`, so that SQLite joins the pages that have become empty.
        .values(
            id=_inbox.c.id,
            **{name: sa.bindparam(name) for name in ("payload", "person", "name", "held")},
        )
    )
    for rows in _inbox_rows(connection):
        connection.execute(change, [_changed(row, held) for row in rows])


def _inbox_rows(connection: Connection) -> Iterator[Sequence[sa.Row[*tuple[Any, ...]]]]:
    after = 0
    query = sa.select(_inbox.c.id, _inbox.c.state, _inbox.c.payload).order_by(_inbox.c.id)
    while rows := connection.execute(query.where(_inbox.c.id > after).limit(_AT_ONCE)).fetchall():
        yield rows
        after = rows[-1].id


def _changed(row: sa.Row[*tuple[Any, ...]], held: Collection[int]) -> dict[str, Any]:
    payload = json.loads(row.payload)
    stays = row.state != "done" or row.id in held
    return {
        "row": row.id,
        "payload": row.payload if stays else "{}",
        "held": row.id in held,
        **_whose(payload if isinstance(payload, dict) else {}),
    }


def _whose(payload: dict[str, Any]) -> dict[str, str]:
    """As the inbox had it when this was written."""
    user, person = payload.get("user"), payload.get("person")
    if isinstance(user, dict):
        identity = f"{user.get('platform')}:{user.get('id')}"
        return {"person": identity, "name": str(user.get("name") or "")}
    return {"person": person if isinstance(person, str) else "", "name": ""}


def _asked_again(connection: Connection) -> set[int]:
    """Rows that a button may ask again."""
    bodies = connection.execute(sa.text("SELECT body FROM buttons WHERE body LIKE '%reask%'"))
    found: set[int] = set()
    for body in map(json.loads, bodies.scalars()):
        about = body.get("payload") or body.get("subject") or {}
        found |= {row for row in (about.get("row"),) if isinstance(row, int)}
    return found


def _empty_outbox(connection: Connection) -> None:
    """But for messages that something hangs on: of those they are read again."""
    connection.execute(
        sa.text(
            "UPDATE outbox SET id = id, payload = '{}' WHERE state = 'sent' "
            "AND NOT EXISTS (SELECT 1 FROM buttons WHERE buttons.outbox = outbox.id) "
            "AND NOT EXISTS (SELECT 1 FROM live_messages WHERE live_messages.outbox = outbox.id) "
            "AND NOT EXISTS (SELECT 1 FROM question_posts WHERE question_posts.outbox = outbox.id)"
        )
    )


def _links_by_key() -> None:
    """The table is its key's index."""
    op.create_table(
        "links_by_key",
        Column("address", Words, primary_key=True),
        Column("message_id", Words, primary_key=True),
        Column("entry", ID, ForeignKey("entries.id"), nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO links_by_key (address, message_id, entry) "
        "SELECT address, message_id, entry FROM message_links ORDER BY address, message_id"
    )
    op.drop_table("message_links")
    op.rename_table("links_by_key", "message_links")
