"""Conversations, people, audit and facts in SQL."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.json_text import dumps
from storage.records.entries import Json, Overview
from storage.sql.repositories import overview
from storage.sql.schema import audit, conversations, facts, people, session_members

_CONVERSATION = select(conversations.c.session).where(conversations.c.address == bindparam("at"))
_ADD_CONVERSATION = insert(conversations)
_BIND = (
    update(conversations)
    .where(conversations.c.address == bindparam("at"))
    .values(session=bindparam("to"))
)
_SET_CURSOR = (
    update(conversations)
    .where(conversations.c.address == bindparam("at"))
    .values(cursor=bindparam("to"))
)
_ADDRESSES = select(conversations.c.address).where(conversations.c.session == bindparam("session"))
_IS_MEMBER = select(session_members.c.session).where(
    session_members.c.member == bindparam("member"),
    session_members.c.session == bindparam("session"),
)
_JOIN = insert(session_members)
_MEMBERS = (
    select(session_members.c.member)
    .where(session_members.c.session == bindparam("session"))
    .order_by(session_members.c.member)
)
_JOINED = (
    select(session_members.c.session)
    .distinct()
    .where(session_members.c.member.in_(bindparam("members", expanding=True)))
    .order_by(session_members.c.session.desc())
)
_CURSORS = select(conversations.c.address, conversations.c.cursor).where(
    conversations.c.platform == bindparam("platform"), conversations.c.cursor.is_not(None)
)
_GREET_AGAIN = (
    update(people).where(people.c.identity == bindparam("who")).values(name=bindparam("called"))
)
_GREET = insert(people)
_AUDIT = insert(audit)
_AUDITS = select(audit.c.what, audit.c.who, audit.c.details, audit.c.time).order_by(audit.c.id)
_AUDITS_OF = _AUDITS.where(audit.c.what == bindparam("what"))
_FACT = select(facts.c.value).where(facts.c.name == bindparam("name"))
_CHANGE_FACT = (
    update(facts).where(facts.c.name == bindparam("called")).values(value=bindparam("to"))
)
_ADD_FACT = insert(facts)


def set_cursor(connection: Connection, address: str, cursor: str) -> None:
    if not connection.execute(_SET_CURSOR, {"at": address, "to": cursor}).rowcount:
        _add_conversation(connection, address, session=None, cursor=cursor)


class SqlDirectory:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def conversation(self, address: str) -> int | None:
        session: int | None = self._connection.execute(_CONVERSATION, {"at": address}).scalar()
        return session

    def bind(self, address: str, session: int) -> None:
        if not self._connection.execute(_BIND, {"at": address, "to": session}).rowcount:
            _add_conversation(self._connection, address, session=session, cursor=None)
        self.join(session, address)

    def addresses(self, session: int) -> list[str]:
        return sorted(self._connection.execute(_ADDRESSES, {"session": session}).scalars())

    def join(self, session: int, member: str) -> None:
        values = {"session": session, "member": member}
        if self._connection.execute(_IS_MEMBER, values).scalar() is None:
            self._connection.execute(_JOIN, values)

    def members(self, session: int) -> list[str]:
        return list(self._connection.execute(_MEMBERS, {"session": session}).scalars())

    def joined(self, members: Collection[str]) -> list[int]:
        return list(self._connection.execute(_JOINED, {"members": list(members)}).scalars())

    def recent(self, members: Collection[str], *, limit: int, skip: int = 0) -> list[int]:
        return overview.recent(self._connection, members, limit, skip)

    def foreign_forks(self, members: Collection[str]) -> list[int]:
        return overview.foreign_forks(self._connection, members)

    def overview(self, session: int) -> Overview:
        return overview.overview(self._connection, session)

    def cursors(self, platform: str) -> Mapping[str, str]:
        rows = self._connection.execute(_CURSORS, {"platform": platform})
        return {row.address: row.cursor for row in rows}

    def greet(self, identity: str, name: str) -> bool:
        if self._connection.execute(_GREET_AGAIN, {"who": identity, "called": name}).rowcount:
            return False
        values = {"identity": identity, "name": name, "first_seen": self._now}
        self._connection.execute(_GREET, values)
        return True

    def audit(self, what: str, who: str, details: Json) -> None:
        values = {"what": what, "who": who, "details": dumps(details), "time": self._now}
        self._connection.execute(_AUDIT, values)

    def audits(self, what: str | None = None) -> list[tuple[str, str, Json, float]]:
        if what is None:
            rows = self._connection.execute(_AUDITS)
        else:
            rows = self._connection.execute(_AUDITS_OF, {"what": what})
        return [(what_, who, json.loads(details), time) for what_, who, details, time in rows]

    def fact(self, name: str) -> Any:
        value = self._connection.execute(_FACT, {"name": name}).scalar()
        return None if value is None else json.loads(value)

    def set_fact(self, name: str, value: Any) -> None:
        text = dumps(value)
        if not self._connection.execute(_CHANGE_FACT, {"called": name, "to": text}).rowcount:
            self._connection.execute(_ADD_FACT, {"name": name, "value": text})


def _add_conversation(
    connection: Connection, address: str, *, session: int | None, cursor: str | None
) -> None:
    values = {
        "address": address,
        "platform": address.partition(":")[0],
        "session": session,
        "cursor": cursor,
    }
    connection.execute(_ADD_CONVERSATION, values)
