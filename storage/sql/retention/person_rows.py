"""The rows of a person who is being forgotten, table by table, in SQL. What goes through a table in
parts gives how far it came, None at its end."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Table,
    bindparam,
    delete,
    select,
    update,
)

from storage.json_text import dumps, loads
from storage.records.inbox_outbox import InboxState, OutboxState
from storage.records.retention.forgetting import Forgetting
from storage.records.retention.tombstones import FORGOTTEN
from storage.sql.retention.mentions import pattern_of, posts_of_decided, unasked, unnamed
from storage.sql.schema import (
    audit,
    buttons,
    files,
    inbox,
    ledger,
    message_links,
    outbox,
    question_posts,
    questions,
)

PATIENCE = 3_600.0
"""Seconds for which messages that are still to be sent are waited for."""
_TOLD = frozenset({"name", "words", "text", "shown"})
"""Keys of an audit's details under which people's words stand."""


def inbox_rows(connection: Connection, of: Forgetting, limit: int) -> int | None:
    """Empty what came from them. Keys stay, so that nothing is taken in twice."""
    upto, more = window(connection, inbox, of, limit)
    columns = (
        *(inbox.c.id, inbox.c.address, inbox.c.session, inbox.c.state, inbox.c.payload),
        inbox.c.person,
    )
    theirs = frozenset(of.sessions)
    for row in _within(connection, inbox, columns, of, upto):
        private = row["address"] in of.addresses or row["session"] in theirs
        if not private and row["person"] != of.identity:
            _unquote(connection, row["id"], row["payload"], of)
            continue
        state = InboxState.DONE.value if row["state"] == InboxState.OPEN.value else row["state"]
        _empty(connection, inbox, row, of, {"state": state, "person": "", "name": ""})
    return upto if more else None


def _unquote(connection: Connection, row: int, kept: str, of: Forgetting) -> None:
    """What somebody else quotes of them."""
    payload = loads(kept)
    if payload.get("quoted_from") in {of.identity, *of.names}:
        changed = {**payload, "quoted": "", "quoted_from": ""}
        values = {"payload": dumps(changed)}
        connection.execute(update(inbox).where(inbox.c.id == row).values(values))


def outbox_rows(connection: Connection, of: Forgetting, limit: int, now: float) -> int | None:
    """Empty what was said to them in private, or asked others about it, and take its buttons; take
    their name out of what was said to others. What is still to be sent is waited for, for an
    hour."""
    upto, more = window(connection, outbox, of, limit)
    columns = (outbox.c.id, outbox.c.address, outbox.c.state, outbox.c.payload, outbox.c.edits)
    rows = _within(connection, outbox, columns, of, upto)
    asked = _asked(connection, rows, of)
    names, in_words = pattern_of(of), posts_of_decided(connection, of)
    for row in rows:
        changed = None
        if row["address"] not in of.addresses and not {row["id"], row["edits"]} & asked:
            said = {in_words[post] for post in {row["id"], row["edits"]} & in_words.keys()}
            payload = loads(row["payload"])
            changed = unasked(unnamed(payload, pattern_of(of, said) if said else names), of)
            if changed == payload:
                continue
        pending = row["state"] == OutboxState.PENDING.value
        if pending and now < of.started + PATIENCE:
            before: int = row["id"] - 1
            return max(before, of.reached)
        if changed is not None:
            values = {"payload": dumps(changed)}
            connection.execute(update(outbox).where(outbox.c.id == row["id"]).values(values))
            continue
        kept = loads(row["payload"]).get("file")
        if isinstance(kept, int):
            connection.execute(delete(files).where(files.c.id == kept))
        connection.execute(delete(buttons).where(buttons.c.outbox == row["id"]))
        state = OutboxState.FAILED.value if pending else row["state"]
        _empty(connection, outbox, row, of, {"state": state, "error": ""})
    return upto if more else None


def _asked(connection: Connection, rows: Sequence[RowMapping], of: Forgetting) -> set[int]:
    """Posts, in whatever chat, of questions that are forgotten wholly."""
    posts = {row["id"] for row in rows} | {row["edits"] for row in rows if row["edits"]}
    query = (
        select(question_posts.c.outbox, questions.c.session, questions.c.subject)
        .join(questions, questions.c.id == question_posts.c.question)
        .where(question_posts.c.outbox.in_(posts))
    )
    theirs = frozenset(of.sessions)
    return {
        row.outbox
        for row in connection.execute(query)
        if row.session in theirs or loads(row.subject).get("person") == of.identity
    }


def _empty(
    connection: Connection, table: Table, row: RowMapping, of: Forgetting, more: Mapping[str, str]
) -> None:
    address = of.pseudonym if row["address"] in of.addresses else row["address"]
    values = {"payload": "{}", "address": address, **more}
    connection.execute(update(table).where(table.c.id == row["id"]).values(values))


def audit_rows(connection: Connection, of: Forgetting, limit: int) -> int | None:
    """The pseudonym takes their place, and what they said or are called goes."""
    upto, more = window(connection, audit, of, limit)
    columns = (audit.c.id, audit.c.who, audit.c.details)
    for row in _within(connection, audit, columns, of, upto):
        about = row["who"] == of.identity
        details = loads(row["details"])
        changed = hidden(details, of, told=about or _concerns(details, of))
        who = of.pseudonym if about else row["who"]
        if (who, changed) != (row["who"], details):
            values = {"who": who, "details": dumps(changed)}
            connection.execute(update(audit).where(audit.c.id == row["id"]).values(values))
    return upto if more else None


def hidden(value: Any, of: Forgetting, *, told: bool) -> Any:
    """A value out of JSON without the person. `told`: without what people said, too."""
    match value:
        case str():
            if value in of.names:
                return FORGOTTEN
            for known in {of.identity, *of.addresses}:
                value = re.sub(rf"(?<![\w-]){re.escape(known)}(?![\w])", of.pseudonym, value)
            return value
        case dict():
            return {
                hidden(key, of, told=False): FORGOTTEN
                if told and key in _TOLD and each
                else hidden(each, of, told=told)
                for key, each in value.items()
            }
        case list():
            return [hidden(each, of, told=told) for each in value]
        case _:
            return value


def _concerns(details: Any, of: Forgetting) -> bool:
    """Whether an entry of the audit is about them, or what is theirs alone."""
    if not isinstance(details, dict):
        return False
    known = {of.identity, *of.addresses}
    return any(isinstance(each, str) and each in known for each in details.values()) or (
        details.get("session") in of.sessions
    )


def links(connection: Connection, of: Forgetting, limit: int) -> int | None:
    """Which of their messages became which entries."""
    found = (
        select(message_links.c.address, message_links.c.message_id)
        .where(
            message_links.c.address.in_(of.addresses),
            message_links.c.entry <= of.bounds["entries"],
        )
        .limit(limit)
    )
    rows = connection.execute(found).all()
    if rows:
        gone = delete(message_links).where(
            message_links.c.address == bindparam("at"),
            message_links.c.message_id == bindparam("message"),
        )
        connection.execute(gone, [{"at": at, "message": message} for at, message in rows])
    return of.reached + len(rows) if len(rows) == limit else None


def ledger_lines(connection: Connection, of: Forgetting, limit: int) -> int | None:
    """The sums stay, and are nobody's."""
    upto, more = window(connection, ledger, of, limit)
    within = ledger.c.id.between(of.reached + 1, upto)
    in_private = ledger.c.address.in_(of.addresses)
    change = update(ledger).where(within)
    connection.execute(change.where(ledger.c.person == of.identity).values(person=""))
    connection.execute(change.where(in_private).values(address=of.pseudonym))
    return upto if more else None


def window(connection: Connection, table: Table, now: Forgetting, limit: int) -> tuple[int, bool]:
    """The id up to which the next so many rows go, and whether there are more behind it."""
    bound = now.bounds[table.name]
    ids: Sequence[int] = (
        connection.execute(
            select(table.c.id)
            .where(table.c.id > now.reached, table.c.id <= bound)
            .order_by(table.c.id)
            .limit(limit)
        )
        .scalars()
        .all()
    )
    if len(ids) < limit:
        return bound, False
    return ids[-1], ids[-1] < bound


def _within(
    connection: Connection,
    table: Table,
    columns: Sequence[ColumnElement[Any]],
    of: Forgetting,
    upto: int,
) -> list[RowMapping]:
    query = select(*columns).where(table.c.id.between(of.reached + 1, upto)).order_by(table.c.id)
    return list(connection.execute(query).mappings())
