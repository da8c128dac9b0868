"""Who is known, and what is kept about one of them, in SQL."""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, func, or_, select

from storage.json_text import loads
from storage.records.attached import attached
from storage.records.entries import Entry, Json
from storage.records.retention.forgetting import Personal, PersonRow
from storage.sql.people_schema import pairing_requests, rights
from storage.sql.retention.extent import Theirs, notes_of, portions, theirs
from storage.sql.rows import ENTRIES
from storage.sql.schema import (
    audit,
    chat_settings,
    conversations,
    entries,
    inbox,
    ledger,
    people,
    questions,
    session_members,
)
from storage.sql.tool_schema import commands, notes, schedules, zones

_HIDDEN = frozenset({"salt", "digest", "raw"})
"""Columns that say nothing of a person."""


class SqlPeople:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def listed(self) -> list[PersonRow]:
        joined = self._joined()
        given: dict[str, tuple[str, str, float]] = {
            row[0]: (row[1], row[2], row[3])
            for row in self._connection.execute(
                select(rights.c.identity, rights.c.name, rights.c.role, rights.c.since)
            )
        }
        query = select(people.c.identity, people.c.name, people.c.first_seen)
        known = {row[0]: (row[1], row[2]) for row in self._connection.execute(query)}
        found = []
        spoke = self._spoke()
        for identity in known.keys() | given.keys() | joined.keys():
            called, first = spoke.get(identity, ("", self._now))
            let_in_as, role, since = given.get(identity, ("", "", first))
            name, seen = known.get(identity, (let_in_as, since))
            count = joined.get(identity, 0)
            found.append(PersonRow(identity, name or called, min(seen, first), count, role))
        return sorted(found, key=lambda one: (one.first_seen, one.identity))

    def _joined(self) -> dict[str, int]:
        """Who took part in how many conversations. A conversation is a member, too; on platforms
        where it is called like a person, it is that person's private one."""
        member = session_members.c.member
        shared = exists().where(
            conversations.c.address == member, conversations.c.private_with.is_distinct_from(member)
        )
        query = select(member, func.count()).where(~shared).group_by(member)
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def _spoke(self) -> dict[str, tuple[str, float]]:
        """What people called themselves when they last wrote, and when they first did, by what came
        in and is still kept."""
        found: dict[str, tuple[str, float]] = {}
        query = select(inbox.c.person, inbox.c.name, inbox.c.time).order_by(inbox.c.id)
        for who, name, time in self._connection.execute(query.where(inbox.c.person != "")):
            before, first = found.get(who, ("", time))
            found[who] = (name or before, first)
        return found

    def data_of(self, identity: str) -> Personal:
        own = theirs(self._connection, identity)
        said = list(self._said(identity, own))
        digests = {
            file.blob: file.name or file.kind
            for entry in said
            if entry.author == identity
            for file in attached(entry.body)
            if file.blob
        }
        facts: Json = {
            "identity": identity,
            "names": sorted(own.names),
            "private_conversations": sorted(own.addresses),
            "messages": [_as_json(entry) for entry in said],
            **{name: self._rows(*which) for name, which in self._tables(identity, own).items()},
            "received": self._received(identity),
            "cost": self._cost(identity),
        }
        return Personal(facts, digests)

    def strangers(self, before: float, known: Callable[[str], bool], limit: int) -> int:
        unknown = ~exists().where(rights.c.identity == people.c.identity)
        elsewhere = ~exists().where(session_members.c.member == people.c.identity)
        query = select(people.c.identity).where(people.c.first_seen < before, unknown, elsewhere)
        found = self._connection.execute(query).scalars()
        gone = list(islice((identity for identity in found if not known(identity)), limit))
        if gone:
            self._connection.execute(delete(people).where(people.c.identity.in_(gone)))
        old = delete(pairing_requests).where(pairing_requests.c.asked < before)
        return len(gone) + self._connection.execute(old).rowcount

    def _said(self, identity: str, own: Theirs) -> Iterator[Entry]:
        """What they wrote anywhere, and all of what is theirs alone."""
        columns = select(*ENTRIES.columns).order_by(entries.c.id)
        asked: list[tuple[Collection[int], list[ColumnElement[bool]]]] = [
            (own.sessions, []),
            (own.shared, [entries.c.author == identity]),
        ]
        for among, more in asked:
            for some in portions(among):
                query = columns.where(entries.c.session.in_(some), *more)
                for rows in self._connection.execute(query).partitions(256):
                    yield from ENTRIES.all(rows)

    def _tables(
        self, identity: str, own: Theirs
    ) -> Mapping[str, tuple[Table, ColumnElement[bool]]]:
        return {
            "known_as": (people, people.c.identity == identity),
            "rights": (rights, rights.c.identity == identity),
            "requests": (pairing_requests, pairing_requests.c.identity == identity),
            "notes": (notes, notes_of(identity, own.addresses)),
            "schedules": (schedules, schedules.c.person == identity),
            "time_zone": (zones, zones.c.person == identity),
            "commands": (commands, commands.c.person == identity),
            "decisions": (questions, questions.c.decided_by == identity),
            "settings": (
                chat_settings,
                or_(
                    chat_settings.c.by_whom == identity,
                    chat_settings.c.address.in_(own.addresses),
                ),
            ),
            "audit": (audit, audit.c.who == identity),
        }

    def _rows(self, table: Table, which: ColumnElement[bool]) -> list[Json]:
        query = select(table).where(which).order_by(*table.primary_key.columns)
        return [
            {name: _read(value) for name, value in row.items() if name not in _HIDDEN}
            for row in self._connection.execute(query).mappings()
        ]

    def _received(self, identity: str) -> list[Json]:
        """What came from them and has not had its time yet; what it says, as long as it is not
        done."""
        columns = (inbox.c.kind, inbox.c.address, inbox.c.time, inbox.c.payload)
        query = select(*columns).where(inbox.c.person == identity).order_by(inbox.c.id)
        return [
            {**row, "payload": loads(row["payload"])}
            for row in self._connection.execute(query).mappings()
        ]

    def _cost(self, identity: str) -> list[Json]:
        """By day and model."""
        sums = (func.sum(ledger.c.calls), func.sum(ledger.c.input_tokens))
        more = (func.sum(ledger.c.output_tokens), func.sum(ledger.c.cost))
        query = select(ledger.c.day, ledger.c.model, *sums, *more)
        query = query.where(ledger.c.person == identity).group_by(ledger.c.day, ledger.c.model)
        names = ("day", "model", "calls", "input_tokens", "output_tokens", "dollars")
        return [
            dict(zip(names, [day, model, int(calls), int(read), int(wrote), cost], strict=True))
            for day, model, calls, read, wrote, cost in self._connection.execute(
                query.order_by(ledger.c.day, ledger.c.model)
            )
        ]


def _as_json(entry: Entry) -> Json:
    return {
        "conversation": entry.session,
        "number": entry.number,
        "time": entry.time,
        "author": entry.author,
        "kind": entry.kind.value,
        **{name: value for name, value in entry.body.items() if name not in _HIDDEN},
    }


def _read(value: Any) -> Any:
    """What is JSON in a column, as it is meant."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return loads(value)
        except ValueError:
            return value
    return value
