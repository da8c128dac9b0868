"""Forgetting people, step by step, in SQL."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import (
    Connection,
    RowMapping,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from storage.errors import NotFound
from storage.json_text import dumps, loads
from storage.records.attached import attached
from storage.records.entries import Entry
from storage.records.retention.forgetting import Extent, Forgetting, Step
from storage.records.retention.tombstones import (
    pseudonym_of,
    without_decision,
    without_quotation,
)
from storage.sql.retention import extent, mentions, other_rows, person_rows
from storage.sql.retention.privacy_schema import forgettings, salts
from storage.sql.retention.tombstones import IS_NONE, Graves, new_salt
from storage.sql.rows import insert_row
from storage.sql.schema import audit, conversations, entries, inbox, ledger, outbox, sessions

_DAY = 86_400.0
_PASSED_BY = 50
"""So many times as many entries are looked at as are changed: most are of others."""
_BOUNDED: tuple[Table, ...] = (sessions, entries, inbox, outbox, audit, ledger)
_ORDER = list(Step)
_GET = select(forgettings).where(forgettings.c.id == bindparam("wanted"))
_LOCKED = _GET.with_for_update()
_OPEN = select(forgettings).where(forgettings.c.step != Step.DONE.value).order_by(forgettings.c.id)
_REACH = (
    update(forgettings)
    .where(forgettings.c.id == bindparam("wanted"))
    .values(step=bindparam("to"), reached=bindparam("row"))
)
_END = (
    update(forgettings)
    .where(forgettings.c.id == bindparam("wanted"))
    .values(identity="", names="[]", addresses="[]", sessions="[]", step=Step.DONE.value, reached=0)
)
_UNNAME = (
    update(forgettings)
    .where(forgettings.c.id == bindparam("wanted"))
    .values(names="[]", sessions="[]")
)
"""The ledger knows nobody's name."""
_LOOK = select(
    entries.c.id,
    entries.c.session,
    entries.c.author,
    IS_NONE,
    (entries.c.sort == "user") & entries.c.body.like("%In reply to %"),
)


class SqlForgettings:
    def __init__(self, connection: Connection, now: float, graves: Graves) -> None:
        self._connection = connection
        self._now = now
        self._graves = graves
        self.begun = False
        """Somebody is to be forgotten from now on."""

    def begin(self, identity: str, by: str, *, rights: bool = False) -> Forgetting:
        bounds = {table.name: self._newest(table) for table in _BOUNDED}
        for one in self.open():
            if (one.identity, one.bounds, one.rights) == (identity, bounds, rights):
                return one
        theirs = extent.theirs(self._connection, identity)
        salt = new_salt()
        pseudonym = pseudonym_of(identity, salt)
        made = {"name": pseudonym, "salt": salt, "made": self._now}
        self._connection.execute(insert(salts), made)
        values = {
            "identity": identity,
            "pseudonym": pseudonym,
            "salt": salt,
            "names": dumps(sorted(theirs.names)),
            "addresses": dumps(sorted(theirs.addresses)),
            "sessions": dumps(sorted(theirs.sessions)),
            "bounds": dumps(bounds),
            "step": Step.ENTRIES.value,
            "reached": 0,
            "rights": rights,
            "started": self._now,
        }
        made_id = insert_row(self._connection, insert(forgettings), values)
        left = delete(conversations).where(conversations.c.private_with == identity)
        self._connection.execute(left)
        self.begun = True
        return self.get(made_id)

    def open(self) -> list[Forgetting]:
        return [_read(row) for row in self._connection.execute(_OPEN).mappings()]

    def get(self, forgetting: int) -> Forgetting:
        row = self._connection.execute(_GET, {"wanted": forgetting}).mappings().one_or_none()
        if row is None:
            raise NotFound(f"nobody is forgotten under the number {forgetting}")
        return _read(row)

    def extent(self, identity: str) -> Extent:
        return extent.of(self._connection, identity)

    def paths(self, forgetting: Forgetting, limit: int) -> list[tuple[int, str]]:
        if forgetting.step is not Step.ENTRIES:
            return []
        wanted, _ = self._entries(forgetting, limit)
        sent = [
            (entry.session, file.path)
            for entry in wanted
            if entry.author == forgetting.identity or entry.session in forgetting.sessions
            for file in attached(entry.body)
            if file.path
        ]
        forks = {one: extent.with_forks(self._connection, one) for one, _ in sent}
        return [(below, path) for one, path in sent for below in forks[one]]

    def outputs(self, forgetting: Forgetting) -> list[tuple[int, str]]:
        return other_rows.outputs(self._connection, forgetting)

    def advance(self, forgetting: Forgetting, limit: int) -> bool:
        """Whoever else does it at the same time waits here, and then sees how far it has come."""
        row = self._connection.execute(_LOCKED, {"wanted": forgetting.id}).mappings().one()
        now = _read(row)
        if (now.step, now.reached) != (forgetting.step, forgetting.reached):
            return now.step is not Step.DONE
        match now.step:
            case Step.DONE:
                return False
            case Step.MONEY if self._now < _midnight(now.started):
                return False
            case _:
                return self._done_with(now, limit)

    def _done_with(self, now: Forgetting, limit: int) -> bool:
        steps: Mapping[Step, Callable[[Forgetting, int], int | None]] = {
            Step.ENTRIES: self._bury,
            Step.INBOX: lambda of, most: person_rows.inbox_rows(self._connection, of, most),
            Step.OUTBOX: lambda of, most: person_rows.outbox_rows(
                self._connection, of, most, self._now
            ),
            Step.AUDIT: lambda of, most: person_rows.audit_rows(self._connection, of, most),
            Step.LINKS: lambda of, most: person_rows.links(self._connection, of, most),
            Step.ROWS: lambda of, _: other_rows.all_else(self._connection, of),
            Step.MONEY: lambda of, most: person_rows.ledger_lines(self._connection, of, most),
        }
        reached = steps[now.step](now, limit)
        if reached == now.reached:
            return False  # messages are still to be sent
        if reached is not None:
            self._reach(now.id, now.step, reached)
            return True
        after = _ORDER[_ORDER.index(now.step) + 1]
        if after is Step.DONE:
            other_rows.forget_facts(self._connection, now)
            self._connection.execute(_END, {"wanted": now.id})
            return False
        self._reach(now.id, after, 0)
        if after is Step.MONEY:
            self._connection.execute(_UNNAME, {"wanted": now.id})
        return True

    def _bury(self, now: Forgetting, limit: int) -> int | None:
        said = mentions.decided(self._connection, now)
        found, reached = self._entries(now, limit, said)
        wholly = [entry for entry in found if _is_theirs(entry, now)]
        own = [entry for entry in wholly if entry.author == now.identity]
        rest = [entry for entry in wholly if entry.author != now.identity]
        self._graves.bury(own, now.pseudonym, now.salt, now.pseudonym)
        self._graves.bury(rest, now.pseudonym, now.salt)
        other_rows.untitle(self._connection, own)
        names = {*now.names, now.identity}
        quoting = [
            (entry, left)
            for entry in found
            if not _is_theirs(entry, now)
            and (left := without_quotation(entry, names, now.pseudonym, now.salt)) is not None
        ]
        self._graves.replace(quoting)
        names_them = mentions.pattern_of(now)
        telling = [
            (entry, left)
            for entry in found
            if not _is_theirs(entry, now) and entry.session in said
            for answer in [mentions.pattern_of(now, said[entry.session])]
            if (left := without_decision(entry, names_them, answer, now.pseudonym, now.salt))
        ]
        self._graves.replace(telling)
        return reached

    def _entries(
        self, now: Forgetting, limit: int, more: Collection[int] = ()
    ) -> tuple[list[Entry], int | None]:
        """The next so many entries that may be concerned, those of the sessions `more` among them;
        how far those go, None where they are the last. Others are passed by, many at once."""
        theirs = frozenset(now.sessions)
        upto, further = person_rows.window(self._connection, entries, now, limit * _PASSED_BY)
        within = entries.c.id.between(now.reached + 1, upto)
        looked_at = self._connection.execute(_LOOK.where(within).order_by(entries.c.id))
        wanted = [
            id_
            for id_, session, author, is_none, quotes in looked_at
            if author == now.identity
            or ((session in theirs or session in more) and is_none)
            or quotes
        ]
        if len(wanted) > limit:
            wanted = wanted[:limit]
            upto, further = wanted[-1], True
        return self._graves.read(wanted), upto if further else None

    def _reach(self, forgetting: int, step: Step, row: int) -> None:
        values = {"wanted": forgetting, "to": step.value, "row": row}
        self._connection.execute(_REACH, values)

    def _newest(self, table: Table) -> int:
        return int(self._connection.scalar(select(func.max(table.c.id))) or 0)


def _is_theirs(entry: Entry, now: Forgetting) -> bool:
    return entry.author == now.identity or entry.session in now.sessions


def _midnight(started: float) -> float:
    """The end of that day (UTC)."""
    return (started // _DAY + 1) * _DAY


def _read(row: RowMapping) -> Forgetting:
    held: dict[str, Any] = dict(row)
    for name in ("names", "addresses", "sessions"):
        held[name] = tuple(loads(held[name]))
    return Forgetting(**held | {"bounds": loads(held["bounds"]), "step": Step(held["step"])})
