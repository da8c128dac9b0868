"""One table for the buttons of questions, of commands and of children.

The questions that /agents asked, whose buttons acted on children, are questions no more: their
buttons expire by themselves, and their message knows the text that is shown then.
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Column, Connection, Double, ForeignKey, Text

from storage.sql.dialect import ID, Words

revision = "0010_buttons"
down_revision = "0004"
branch_labels = None
depends_on = None

Row = dict[str, Any]


def upgrade() -> None:
    connection = op.get_bind()
    rows = [*_of_commands(connection), *_of_questions(connection)]
    _keep_texts(connection)
    op.drop_table("menu_buttons")
    op.drop_table("buttons")
    for statement in (
        "DELETE FROM question_posts WHERE question IN "
        "(SELECT id FROM questions WHERE kind = 'control')",
        "DELETE FROM questions WHERE kind = 'control'",
    ):
        op.execute(statement)
    table = op.create_table(
        "buttons",
        Column("token", Words, primary_key=True),
        Column("address", Words, nullable=False),
        Column("outbox", ID, ForeignKey("outbox.id"), nullable=False, index=True),
        Column("label", Words, nullable=False),
        Column("action", Words, nullable=False),
        Column("body", Text, nullable=False),
        Column("by_whom", Words, nullable=False),
        Column("expires", Double),
        Column("used", Words, nullable=False),
    )
    valid = sa.text("expires IS NOT NULL AND used = ''")
    op.create_index(
        "ix_buttons_temporary", "buttons", ["outbox"], sqlite_where=valid, postgresql_where=valid
    )
    if rows:
        connection.execute(table.insert(), rows)


def _row(found: sa.Row[Any], action: str, body: Row, **more: Any) -> Row:
    """`found`: with token, address and outbox."""
    place = {"token": found.token, "address": found.address, "outbox": found.outbox}
    return {
        **place,
        "label": "",
        "action": action,
        "body": json.dumps(body),
        "by_whom": "",
        "expires": None,
        "used": "",
        **more,
    }


def _of_commands(connection: Connection) -> list[Row]:
    return [
        _row(
            found,
            "command",
            {"command": found.command, "subject": json.loads(found.subject)},
            label=found.label,
            by_whom=found.by_whom,
            used=found.used,
        )
        for found in connection.execute(sa.text("SELECT * FROM menu_buttons")).fetchall()
    ]


def _of_questions(connection: Connection) -> list[Row]:
    select = sa.text(
        "SELECT b.token, b.address, p.outbox, b.question, b.choice, q.kind, q.choices, "
        "q.session, q.subject, q.expires, q.state FROM buttons b "
        "JOIN question_posts p ON p.id = b.post JOIN questions q ON q.id = b.question"
    )
    return [
        _of_child(found) if found.kind == "control" else _of_choice(found)
        for found in connection.execute(select).fetchall()
    ]


def _of_choice(found: sa.Row[Any]) -> Row:
    labels = {choice["key"]: choice["label"] for choice in json.loads(found.choices)}
    body = {"question": found.question, "choice": found.choice}
    return _row(found, "decide", body, label=labels.get(found.choice, ""))


def _of_child(found: sa.Row[Any]) -> Row:
    what, _, number = found.choice.partition(":")
    return _row(
        found,
        "child",
        {"what": what, "delegation": int(number), "session": found.session},
        label=f"{what.capitalize()} #{number}",
        by_whom=json.loads(found.subject).get("by", ""),
        expires=found.expires,
        used="" if found.state == "open" else found.state,
    )


def _keep_texts(connection: Connection) -> None:
    """The text of each message that /agents posted goes from its question to the message."""
    select = sa.text(
        "SELECT o.id, o.payload, q.text FROM questions q JOIN question_posts p "
        "ON p.question = q.id JOIN outbox o ON o.id = p.outbox "
        "WHERE q.kind = 'control' AND q.state = 'open'"
    )
    for found in connection.execute(select).fetchall():
        payload = {**json.loads(found.payload), "text": found.text}
        values = {"id": found.id, "payload": json.dumps(payload)}
        connection.execute(sa.text("UPDATE outbox SET payload = :payload WHERE id = :id"), values)
