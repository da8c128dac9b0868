"""What has had its time, in SQL. Old rows stand at the beginning of their tables, so what is looked
through are those that are old enough, and not the others."""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    delete,
    exists,
    select,
    true,
)

from storage.json_text import loads
from storage.records.inbox_outbox import InboxState, OutboxState
from storage.records.questions import QuestionState
from storage.records.retention.pruning import FamilyOfSessions, Portion, Pruned
from storage.records.retention.tombstones import is_tombstone
from storage.sql.prepared import failure
from storage.sql.retention import expiring, families, sums
from storage.sql.retention.extent import portions
from storage.sql.retention.privacy_schema import forgettings, salts
from storage.sql.retention.tombstones import Graves
from storage.sql.schema import (
    audit,
    blob_uses,
    buttons,
    delegations,
    entries,
    files,
    inbox,
    leaf_moves,
    ledger,
    live_messages,
    outbox,
    question_posts,
    questions,
)
from storage.sql.search.repository import SqlSearch
from storage.sql.tool_schema import commands, schedules

_other = outbox.alias("other")
_newer = leaf_moves.alias("newer")
_open = questions.c.state == QuestionState.OPEN.value
_of_open_question = exists().where(
    question_posts.c.outbox == buttons.c.outbox, question_posts.c.question == questions.c.id, _open
)
_unused_outbox = and_(
    outbox.c.state != OutboxState.PENDING.value,
    ~exists().where(_other.c.edits == outbox.c.id),
    ~exists().where(live_messages.c.outbox == outbox.c.id),
    ~exists().where(question_posts.c.outbox == outbox.c.id),
    ~exists().where(buttons.c.outbox == outbox.c.id),
)
_finished_inbox = and_(
    inbox.c.state != InboxState.OPEN.value, ~exists().where(live_messages.c.inbox == inbox.c.id)
)
_child = delegations.alias("child")
_ended_delegation = and_(
    delegations.c.state.not_in(("running", "waiting")),
    ~exists().where(ledger.c.delegation == delegations.c.id),
    ~exists().where(_child.c.top == delegations.c.id),
)
_DATED: Mapping[Pruned, tuple[Table, str, ColumnElement[bool]]] = {
    Pruned.INBOX: (inbox, "time", _finished_inbox),
    Pruned.OUTBOX: (outbox, "time", _unused_outbox),
    Pruned.AUDIT: (audit, "time", true()),
    Pruned.COMMANDS: (commands, "started", commands.c.ended.is_not(None)),
    Pruned.SCHEDULES: (schedules, "created", schedules.c.state.in_(("done", "deleted"))),
    Pruned.DELEGATIONS: (delegations, "updated", _ended_delegation),
    Pruned.QUESTIONS: (questions, "created", ~_open),
    Pruned.MOVES: (
        leaf_moves,
        "time",
        exists().where(
            _newer.c.session == leaf_moves.c.session, _newer.c.id > leaf_moves.c.id + 100
        ),
    ),
}
"""Of each table: when a row was made, and which rows may go. Newest moves of a session stay: going
back asks for them."""


class SqlPruning:
    def __init__(self, connection: Connection, now: float, graves: Graves) -> None:
        self._connection = connection
        self._now = now
        self._graves = graves
        self._search = SqlSearch(connection, now)

    def prune(self, what: Pruned, before: float, after: int, limit: int) -> Portion:
        match what:
            case Pruned.BUTTONS:
                return self._buttons(before, after, limit)
            case Pruned.SALTS:
                return self._salts(before)
            case _:
                return self._dated(what, before, after, limit)

    def sum_up(self, before: float, limit: int) -> int:
        return sums.sum_up(self._connection, before, limit)

    def families(self) -> list[FamilyOfSessions]:
        return families.all_of(self._connection)

    def sessions_with_old(self, sessions: Collection[int], before: float) -> list[int]:
        return expiring.sessions_with_old(self._connection, sessions, before, self._now)

    def old_entries(
        self, session: int, before: float, after: int, limit: int
    ) -> list[tuple[int, int]]:
        return expiring.old_entries(self._connection, session, before, self._now, after, limit)

    def expire(self, entries: Collection[int]) -> int:
        """The hash can be verified as long as the month's salt is kept."""
        dead = [one for one in self._graves.read(entries) if not is_tombstone(one.body)]
        if dead:
            name = f"expired:{datetime.fromtimestamp(self._now, UTC):%Y-%m}"
            self._graves.bury(dead, name, self._graves.salt(name))
        return len(dead)

    def broken_imports(self, before: float) -> list[int]:
        return expiring.broken_imports(self._connection, before)

    def drop_originals(self, session: int, limit: int) -> int:
        return expiring.drop_originals(self._connection, session, limit)

    def expire_files(self, sessions: Collection[int], before: float, limit: int) -> int:
        count = 0
        for some in portions(sessions):
            old = select(entries.c.id).where(entries.c.session.in_(some), entries.c.time < before)
            shown = (
                select(blob_uses.c.entry).where(blob_uses.c.entry.in_(old)).distinct().limit(limit)
            )
            found = self._connection.execute(shown).scalars().all()
            gone = delete(blob_uses).where(blob_uses.c.entry.in_(found))
            count += self._connection.execute(gone).rowcount if found else 0
            if count >= limit:
                break
        return count

    def shown_files(
        self, sessions: Collection[int], before: float
    ) -> tuple[frozenset[str], frozenset[str]]:
        return expiring.shown_files(self._connection, sessions, before)

    def tidy_index(self, pages: int) -> bool:
        return self._search.tidy(pages)

    def give_back(self, pages: int) -> int:
        if self._connection.dialect.name != "sqlite":
            return 0  # autovacuum does it
        run = self._connection.exec_driver_sql
        free = int(run("PRAGMA freelist_count").scalar_one())
        # Not by SQLAlchemy: the driver must be asked for rows until there are none.
        vacuum = f"PRAGMA incremental_vacuum({pages:d})"
        driver = self._connection.connection.cursor()
        errors: Any = self._connection.dialect.loaded_dbapi
        try:
            driver.execute(vacuum)
            driver.fetchall()
        except errors.Error as error:
            raise failure(self._connection, vacuum, error) from error
        finally:
            driver.close()
        return free - int(run("PRAGMA freelist_count").scalar_one())

    def _dated(self, what: Pruned, before: float, after: int, limit: int) -> Portion:
        table, column, may_go = _DATED[what]
        made = table.c[column]
        looked_at = self._connection.execute(
            select(table.c.id, made, may_go)
            .where(table.c.id > after)
            .order_by(table.c.id)
            .limit(limit)
        ).all()
        old = [row for row in looked_at if row[1] < before]
        gone = [id_ for id_, _, may in old if may]
        _BEFORE.get(what, _nothing)(self._connection, gone)
        removed = 0
        if gone:
            statement = delete(table).where(table.c.id.in_(gone))
            removed = self._connection.execute(statement).rowcount
        # Old rows stand before all others, but for a few: where half of them are not, it is enough.
        more = len(looked_at) == limit and 2 * len(old) >= len(looked_at)
        return Portion(removed, looked_at[-1][0] if looked_at else after, more)

    def _buttons(self, before: float, after: int, limit: int) -> Portion:
        """Those of old messages, but for what an open question asks."""
        looked_at = self._connection.execute(
            select(outbox.c.id, outbox.c.time)
            .where(outbox.c.id > after)
            .order_by(outbox.c.id)
            .limit(limit)
        ).all()
        old = [id_ for id_, time in looked_at if time < before]
        removed = 0
        if old:
            gone = delete(buttons).where(buttons.c.outbox.in_(old), ~_of_open_question)
            removed = self._connection.execute(gone).rowcount
        more = len(looked_at) == limit and 2 * len(old) >= len(looked_at)
        return Portion(removed, looked_at[-1][0] if looked_at else after, more)

    def _salts(self, before: float) -> Portion:
        """Without them, nobody can tell any more what a tombstone stands for, or who a pseudonym
        is."""
        gone = self._connection.execute(delete(salts).where(salts.c.made < before)).rowcount
        ended = delete(forgettings).where(
            forgettings.c.step == "done", forgettings.c.started < before
        )
        gone += self._connection.execute(ended).rowcount
        return Portion(gone, 0, more=False)


def _nothing(_connection: Connection, _gone: Collection[int]) -> None:
    return


def _posts_of(connection: Connection, gone: Collection[int]) -> None:
    if gone:
        connection.execute(delete(question_posts).where(question_posts.c.question.in_(gone)))


def _files_of(connection: Connection, gone: Collection[int]) -> None:
    """Files on their way out that never arrived."""
    payloads = select(outbox.c.payload).where(outbox.c.id.in_(gone)) if gone else None
    found = connection.execute(payloads).scalars() if payloads is not None else ()
    kept = [held for payload in found if isinstance(held := loads(payload).get("file"), int)]
    if kept:
        connection.execute(delete(files).where(files.c.id.in_(kept)))


_BEFORE: Mapping[Pruned, Callable[[Connection, Collection[int]], None]] = {
    Pruned.QUESTIONS: _posts_of,
    Pruned.OUTBOX: _files_of,
}
"""What goes before its rows do."""
