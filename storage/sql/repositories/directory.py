"""Conversations, people, audit and facts in SQL."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.json_text import dumps
from storage.records.entries import Json, Overview
from storage.records.inbox_outbox import Thread
from storage.sql.prepared import Prepared
from storage.sql.repositories import overview
from storage.sql.rows import upsert
from storage.sql.schema import audit, conversations, facts, people, session_members, threads

_CONVERSATION = Prepared(
    select(conversations.c.session).where(conversations.c.address == bindparam("at"))
)
_BIND, _SET_CURSOR, _SET_PRIVATE = (
    Prepared(
        upsert(conversations, ["address", "platform", column], key=["address"], change=[column])
    )
    for column in ("session", "cursor", "private_with")
)
_PRIVATE_WITH = Prepared(
    select(conversations.c.private_with).where(conversations.c.address == bindparam("at"))
)
_ADDRESSES = select(conversations.c.address).where(conversations.c.session == bindparam("session"))
_JOIN = Prepared(upsert(session_members, ["member", "session"], key=["member", "session"]))
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
_THREAD = select(threads.c.address).where(threads.c.address == bindparam("at"))
_NOTE_THREAD = upsert(threads, ["address", "channel", "opened", "refused"], key=["address"])
_REFUSE_THREAD = update(threads).where(threads.c.address == bindparam("at")).values(refused=True)
_THREADS = select(threads.c.address, threads.c.channel, threads.c.opened, threads.c.refused)
_IS_KNOWN = select(conversations.c.address).where(conversations.c.address == bindparam("at"))
_KNOWN = select(people.c.name).where(people.c.identity == bindparam("identity"))
_GREET = upsert(people, ["identity", "name", "first_seen"], key=["identity"], change=["name"])
_AUDIT = insert(audit)
_AUDITS = select(audit.c.what, audit.c.who, audit.c.details, audit.c.time).order_by(audit.c.id)
_AUDITS_OF = _AUDITS.where(audit.c.what == bindparam("what"))
_FACT = select(facts.c.value).where(facts.c.name == bindparam("name"))
_SET_FACT = upsert(facts, ["name", "value"], key=["name"], change=["value"])


def set_cursor(connection: Connection, address: str, cursor: str) -> None:
    _SET_CURSOR.later(connection, _of_conversation(address) | {"cursor": cursor})


class SqlDirectory:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.threads_changed = False

    def conversation(self, address: str) -> int | None:
        session: int | None = _CONVERSATION.scalar(self._connection, {"at": address})
        return session

    def bind(self, address: str, session: int) -> None:
        _BIND.later(self._connection, _of_conversation(address) | {"session": session})
        self.join(session, address)

    def is_known(self, address: str) -> bool:
        return self._connection.execute(_IS_KNOWN, {"at": address}).scalar() is not None

    def set_private(self, address: str, identity: str) -> None:
        values = _of_conversation(address) | {"private_with": identity}
        _SET_PRIVATE.later(self._connection, values)

    def private_with(self, address: str) -> str | None:
        identity: str | None = _PRIVATE_WITH.scalar(self._connection, {"at": address})
        return identity

    def addresses(self, session: int) -> list[str]:
        return sorted(self._connection.execute(_ADDRESSES, {"session": session}).scalars())

    def join(self, session: int, member: str) -> None:
        _JOIN.later(self._connection, {"session": session, "member": member})

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

    def note_thread(self, address: str, thread: Thread) -> bool:
        if self._connection.execute(_THREAD, {"at": address}).first() is not None:
            return False
        self._connection.execute(_NOTE_THREAD, {"address": address, **asdict(thread)})
        self.threads_changed = True
        return True

    def refuse_thread(self, address: str) -> None:
        self._connection.execute(_REFUSE_THREAD, {"at": address})
        self.threads_changed = True

    def threads(self) -> dict[str, Thread]:
        return {at: Thread(*rest) for at, *rest in self._connection.execute(_THREADS)}

    def cursors(self, platform: str) -> Mapping[str, str]:
        rows = self._connection.execute(_CURSORS, {"platform": platform})
        return {row.address: row.cursor for row in rows}

    def name_of(self, identity: str) -> str:
        return str(self._connection.execute(_KNOWN, {"identity": identity}).scalar() or "")

    def greet(self, identity: str, name: str) -> bool:
        known = self._connection.execute(_KNOWN, {"identity": identity}).scalar()
        if known != name:
            values = {"identity": identity, "name": name, "first_seen": self._now}
            self._connection.execute(_GREET, values)
        return known is None

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
        self._connection.execute(_SET_FACT, {"name": name, "value": dumps(value)})


def _of_conversation(address: str) -> dict[str, Any]:
    return {"address": address, "platform": address.partition(":")[0]}
