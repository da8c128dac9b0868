"""What is torn in a database: rows that refer to nothing, trees that are none, text that is no
JSON."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice

from sqlalchemy import Column, Connection, ForeignKey, func, select, text
from sqlalchemy.exc import DBAPIError

from storage.errors import StoreError
from storage.json_text import loads
from storage.records.entries import SessionKind
from storage.sql.dialect import Database, database_of
from storage.sql.schema import (
    HEAD,
    audit,
    buttons,
    entries,
    facts,
    inbox,
    outbox,
    questions,
    sessions,
)
from storage.sql.store import must_exist, version_of
from storage.transfer.contents import tables
from storage.transfer.kept import Kept, folder_of

MOST = 20
"""Faults that are told of each kind."""
_JSON = (
    entries.c.body,
    inbox.c.payload,
    outbox.c.payload,
    questions.c.choices,
    questions.c.subject,
    buttons.c.body,
    audit.c.details,
    facts.c.value,
)


def check(url: str) -> list[str]:
    """What is wrong, a line each, for people; none where all is well. Blocks, and changes nothing.
    StoreUnavailable where the database cannot be used at all."""
    database = database_of(url)
    must_exist(database)
    try:
        version = version_of(database)
    except DBAPIError as error:
        raise database.store_error(error) from error
    if version != HEAD:
        return [
            f"the tables are at {version or 'nothing'!r} and this Bough wants {HEAD!r}: start "
            "`bough run` once, which brings older ones up to date, or use the version that wrote "
            "them"
        ]
    engine = database.reader_engine()
    try:
        with engine.begin() as connection:
            found = [fault for look in _LOOKS for fault in islice(look(connection), MOST)]
            kept = Kept(connection, folder_of(url))
            return found + list(islice(_contents(kept), MOST))
    except DBAPIError as error:
        return [_told(database, error)]
    finally:
        engine.dispose()


def _told(database: Database, error: DBAPIError) -> str:
    translated: StoreError = database.store_error(error)
    return str(translated)


def _pages(connection: Connection) -> Iterator[str]:
    """What SQLite itself finds; PostgreSQL keeps checksums of its own."""
    if connection.dialect.name == "sqlite":
        found = connection.execute(text(f"PRAGMA integrity_check({MOST})")).scalars()
        yield from (f"the file is damaged: {line}" for line in found if line != "ok")


def _references(connection: Connection) -> Iterator[str]:
    for table in tables():
        for key in sorted(table.foreign_keys, key=lambda key: str(key.parent)):
            yield from _dangling(connection, key)


def _dangling(connection: Connection, key: ForeignKey) -> Iterator[str]:
    column, there = key.parent, key.column.table.alias()
    wanted = there.c[key.column.name]
    there_is = select(wanted).where(wanted == column).exists()
    query = select(func.count()).where(column.is_not(None), ~there_is)
    if count := connection.scalar(query):
        yield f"{column}: {count} rows refer to a row of {key.column.table} that is not there"


def _tree(connection: Connection) -> Iterator[str]:
    """A fork's first entries hang on entries of what it was forked from."""
    parent = entries.alias()
    elsewhere = parent.c.session != entries.c.session
    wrong = (parent.c.depth + 1 != entries.c.depth) | (parent.c.number >= entries.c.number)
    below = (
        select(entries.c.id, entries.c.session, parent.c.session, wrong)
        .join(parent, parent.c.id == entries.c.parent)
        .where(wrong | elsewhere)
        .order_by(entries.c.id)
    )
    forks = _forks(connection)
    for entry, session, there, torn in connection.execute(below):
        if torn or there not in _above(session, forks):
            yield f"entry {entry} does not hang on its parent: other session, depth or order"


def _forks(connection: Connection) -> dict[int, int]:
    """Session → what it was forked from."""
    query = select(sessions.c.id, sessions.c.parent_session).where(
        sessions.c.kind == SessionKind.CHAT.value, sessions.c.parent_session.is_not(None)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def _above(session: int, forks: Mapping[int, int]) -> set[int]:
    """The session, what it was forked from, and so on."""
    found = {session}
    while (source := forks.get(session)) is not None and source not in found:
        found.add(source)
        session = source
    return found


def _leaves(connection: Connection) -> Iterator[str]:
    leaf = entries.alias()
    strange = (
        select(sessions.c.id, leaf.c.session)
        .outerjoin(leaf, leaf.c.id == sessions.c.leaf)
        .where(
            sessions.c.leaf.is_not(None),
            leaf.c.session.is_distinct_from(sessions.c.id),
        )
        .order_by(sessions.c.id)
    )
    forks = _forks(connection)
    for session, there in connection.execute(strange):
        if there not in _above(session, forks):
            yield f"session {session}: its leaf is no entry of it"
    highest = (
        select(func.max(entries.c.number))
        .where(entries.c.session == sessions.c.id)
        .scalar_subquery()
    )
    behind = select(sessions.c.id).where(sessions.c.last_number < highest)
    for session in connection.execute(behind.order_by(sessions.c.id).limit(MOST)).scalars():
        yield f"session {session}: it has entries beyond its last number"


def _json(connection: Connection) -> Iterator[str]:
    for column in _JSON:
        yield from _unreadable(connection, column)


def _unreadable(connection: Connection, column: "Column[str]") -> Iterator[str]:
    (key,) = column.table.primary_key.columns
    rows = connection.execute(select(key, column), execution_options={"yield_per": 1_000})
    for name, value in rows:
        try:
            loads(value)
        except (json.JSONDecodeError, RecursionError, TypeError):
            yield f"{column}: the row {name} holds no JSON"


def _contents(kept: Kept) -> Iterator[str]:
    for digest, entry in kept.missing():
        yield f"entry {entry} shows a file that is not there, or is damaged: {digest}"


_LOOKS = (_pages, _references, _tree, _leaves, _json)
