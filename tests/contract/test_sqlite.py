"""What only the SQL store can do wrong: triggers, group commits, other processes, kills."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from storage.errors import EpochLost, NotFound, StoreError, StoreLost, StoreUnavailable
from storage.records.entries import Session
from storage.records.inbox_outbox import OutboxDraft
from storage.records.questions import Choice, QuestionDraft, QuestionState
from storage.sql.dialect import database_of
from storage.sql.store import SqlStore, SqlTransaction
from storage.store import Store, Transaction
from tests.support.stores import append, compaction, new_session, path_of, said, texts, url_of


class Gate:
    """A job that keeps the writer busy, so that what comes next is committed as one group."""

    def __init__(self, store: Store) -> None:
        self._begun = Event()
        self._open = Event()
        self._task = asyncio.create_task(store.run(self._wait))

    def _wait(self, t: Transaction) -> None:
        self._begun.set()
        assert self._open.wait(timeout=30)

    async def entered(self) -> None:
        await asyncio.to_thread(self._begun.wait)

    async def leave(self) -> None:
        self._open.set()
        await self._task


def raw(t: Transaction) -> sqlite3.Connection:
    assert isinstance(t, SqlTransaction)
    connection = t.connection.connection.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    return connection


@pytest.mark.parametrize("statement", ["UPDATE entries SET body = '{}'", "DELETE FROM entries"])
async def test_the_database_itself_refuses_to_change_an_entry(
    sqlite: SqlStore, database: Path, statement: str
) -> None:
    session = await new_session(sqlite)
    await append(sqlite, session.id, said("for ever"), said("and ever"))
    with (
        sqlite3.connect(database) as other,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        other.execute(statement)
    assert texts(await path_of(sqlite, session.id)) == ["for ever", "and ever"]


async def test_what_is_acknowledged_is_on_the_disk(sqlite: SqlStore) -> None:
    def settings(t: Transaction) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [raw(t).execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await sqlite.run(settings) == ["wal", 2, 1]


async def test_a_job_that_raises_in_a_group_leaves_the_others_in(sqlite: SqlStore) -> None:
    session = await new_session(sqlite)
    gate = Gate(sqlite)
    await gate.entered()

    def fail(t: Transaction) -> None:
        t.tree.append(session.id, said("never"), after=t.tree.session(session.id).leaf)
        raise ZeroDivisionError

    jobs = asyncio.gather(
        append(sqlite, session.id, said("1")),
        sqlite.run(fail),
        append(sqlite, session.id, said("2")),
        sqlite.run(lambda t: t.outbox.enqueue(OutboxDraft("a:1", "post", {}, entry=99))),
        append(sqlite, session.id, said("3")),
        return_exceptions=True,
    )
    await asyncio.sleep(0)
    await gate.leave()
    results = await jobs
    assert [type(result) for result in results] == [
        list,
        ZeroDivisionError,
        list,
        NotFound,
        list,
    ]
    assert texts(await path_of(sqlite, session.id)) == ["1", "2", "3"]


def break_the_commit(t: Transaction) -> None:
    """A broken foreign key that is only looked at in the commit."""
    raw(t).execute("PRAGMA defer_foreign_keys = ON")
    raw(t).execute("INSERT INTO message_links (address, message_id, entry) VALUES ('a', 'b', 99)")


async def test_a_group_that_cannot_be_committed_fails_each_of_its_jobs(sqlite: SqlStore) -> None:
    session = await new_session(sqlite)
    gate = Gate(sqlite)
    await gate.entered()
    jobs = asyncio.gather(
        append(sqlite, session.id, said("1")),
        sqlite.run(break_the_commit),
        append(sqlite, session.id, said("2")),
        sqlite.run(lambda t: t.tree.session(99)),
        return_exceptions=True,
    )
    await asyncio.sleep(0)
    await gate.leave()
    results = await jobs
    assert all(isinstance(result, StoreError) for result in results)
    assert isinstance(results[3], NotFound)
    assert await path_of(sqlite, session.id) == ()
    await append(sqlite, session.id, said("after that"))
    assert texts(await path_of(sqlite, session.id)) == ["after that"]


async def test_a_single_job_that_cannot_be_committed_fails(sqlite: SqlStore) -> None:
    session = await new_session(sqlite)
    with pytest.raises(StoreError):
        await sqlite.run(break_the_commit)
    await append(sqlite, session.id, said("after that"))
    assert texts(await path_of(sqlite, session.id)) == ["after that"]


@pytest.mark.parametrize("value", [[], {}, "x" * 2_000_000])
async def test_a_value_that_no_column_takes_is_refused_and_the_database_is_not_away(
    sqlite: SqlStore, value: Any
) -> None:
    def smallest(t: Transaction) -> None:
        assert isinstance(t, SqlTransaction)
        driver: Any = t.connection.connection.driver_connection
        driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)

    await sqlite.run(smallest)
    with pytest.raises(StoreError) as caught:
        await sqlite.run(lambda t: t.directory.audit("odd", value, {}))
    assert not isinstance(caught.value, StoreUnavailable)
    await sqlite.run(lambda t: t.directory.audit("fine", "telegram:1", {}))


async def test_when_the_disk_is_full_nobody_is_told_that_it_went_well(sqlite: SqlStore) -> None:
    session = await new_session(sqlite)

    def limit(t: Transaction) -> None:
        (pages,) = raw(t).execute("PRAGMA page_count").fetchone()
        raw(t).execute(f"PRAGMA max_page_count = {pages + 20}")

    await sqlite.run(limit)
    gate = Gate(sqlite)
    await gate.entered()
    texts_in = [str(i) * 3_000 for i in range(10, 60)]
    jobs = asyncio.gather(
        *(append(sqlite, session.id, said(text)) for text in texts_in), return_exceptions=True
    )
    await asyncio.sleep(0)
    await gate.leave()
    results = await jobs
    refused = [result for result in results if isinstance(result, StoreUnavailable)]
    assert refused and "free some space" in str(refused[0])
    told = [result[0].body["content"] for result in results if isinstance(result, list)]
    assert texts(await path_of(sqlite, session.id)) == told


async def test_a_job_is_done_though_its_caller_was_cancelled_before_its_turn(
    sqlite: SqlStore, caplog: pytest.LogCaptureFixture
) -> None:
    session = await new_session(sqlite)
    gate = Gate(sqlite)
    await gate.entered()
    writing = asyncio.create_task(append(sqlite, session.id, said("still done")))
    failing = asyncio.create_task(sqlite.run(lambda t: t.tree.session(99)))
    await asyncio.sleep(0)
    for task in (writing, failing):
        task.cancel()
    for task in (writing, failing):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert texts(await path_of(sqlite, session.id)) == []
    await gate.leave()
    await append(sqlite, session.id, said("next"))
    assert texts(await path_of(sqlite, session.id)) == ["still done", "next"]
    assert "there is no session 99" in caplog.text


async def test_close_finishes_what_is_queued(database: Path) -> None:
    store = await SqlStore.open(url_of(database))
    session = await new_session(store)
    gate = Gate(store)
    await gate.entered()
    jobs = [asyncio.create_task(append(store, session.id, said(str(i)))) for i in range(300)]
    await asyncio.sleep(0)
    closing = asyncio.create_task(store.close())
    await gate.leave()
    await closing
    assert all(job.done() for job in jobs)
    again = await SqlStore.open(url_of(database))
    assert len(await path_of(again, session.id)) == 300
    await again.close()
    assert not database.with_name("bough.db-wal").exists()


async def test_a_context_is_read_no_further_than_its_first_kept_entry(sqlite: SqlStore) -> None:
    """Above it stands an entry that cannot be decoded, so whoever went there would fail."""
    session = await new_session(sqlite)

    def unreadable(t: Transaction) -> int:
        entry = t.tree.append(session.id, said("root"), after=None).id
        raw(t).execute(
            "INSERT INTO entries (session, parent, number, depth, kind, body, author, tokens, time)"
            " VALUES (?, ?, 2, 1, 'message', 'not JSON', '', 0, 0)",
            (session.id, entry),
        )
        return t.tree.move_leaf(session.id, entry + 1, after=entry, by="").leaf or 0

    await sqlite.run(unreadable)
    kept, _ = await append(sqlite, session.id, said("kept"), said("4"))
    (first,) = await append(sqlite, session.id, compaction(kept.id))
    more = await append(sqlite, session.id, said("5"), compaction(kept.id), said("6"))
    for leaf in (first, *more):
        path = await sqlite.read(lambda t, leaf=leaf.id: t.tree.context_path(leaf))  # type: ignore[misc]
        assert path[0] == kept
    with pytest.raises(ValueError, match="Expecting"):
        await path_of(sqlite, session.id)


async def test_a_read_does_not_wait_for_a_writer_and_sees_one_state(sqlite: SqlStore) -> None:
    session = await new_session(sqlite)
    await append(sqlite, session.id, said("1"))
    gate = Gate(sqlite)
    await gate.entered()
    assert texts(await path_of(sqlite, session.id)) == ["1"]
    await gate.leave()

    first_look, written = Event(), Event()

    def look_twice(t: Transaction) -> tuple[Session, Session]:
        before = t.tree.session(session.id)
        first_look.set()
        assert written.wait(timeout=30)
        return before, t.tree.session(session.id)

    reading = asyncio.create_task(sqlite.read(look_twice))
    await asyncio.to_thread(first_look.wait)
    await append(sqlite, session.id, said("2"))
    written.set()
    before, after = await reading
    assert before == after


async def test_a_command_line_reads_and_writes_beside_the_gateway(
    sqlite: SqlStore, database: Path
) -> None:
    session = await new_session(sqlite)
    beside = await SqlStore.open(url_of(database))
    stores = [sqlite, beside]
    await asyncio.gather(*(append(stores[i % 2], session.id, said(str(i))) for i in range(100)))
    path = await path_of(beside, session.id)
    assert sorted(texts(path), key=int) == [str(i) for i in range(100)]
    assert path == await path_of(sqlite, session.id)
    await beside.close()


async def test_of_two_processes_one_decides_a_question(sqlite: SqlStore, database: Path) -> None:
    session = await new_session(sqlite)
    draft = QuestionDraft("escalation", "?", (Choice("a", "A"),), session.id, "telegram:1", {})
    beside = await SqlStore.open(url_of(database))
    for _ in range(20):
        question = await sqlite.run(lambda t: t.questions.create(draft))

        def press(t: Transaction, question: int = question.id) -> bool:
            return t.questions.close(question, QuestionState.DECIDED, choice="a")

        assert sorted(await asyncio.gather(sqlite.run(press), beside.run(press))) == [False, True]
    await beside.close()


WRITER = """
import asyncio, sys
from storage.sql.store import SqlStore
from tests.support.stores import append, compaction, new_session, said

async def main():
    store = await SqlStore.open(sys.argv[1])
    sessions = [(await new_session(store)).id for _ in range(8)]

    async def write(session):
        while True:
            (entry,) = await append(store, session, said("x" * 100))
            print(entry.id, flush=True)

    await asyncio.gather(*map(write, sessions))

asyncio.run(main())
"""


@pytest.mark.crash
async def test_a_killed_writer_loses_nothing_that_it_acknowledged(url: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(200)]
    os.kill(process.pid, signal.SIGKILL)
    lines += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    acknowledged = [int(line) for line in lines if line.endswith("\n")]
    store = await SqlStore.open(url)
    found = await store.read(lambda t: [t.tree.entry(entry) for entry in acknowledged])
    assert len(found) >= 200
    leaves = await store.read(lambda t: [t.tree.session(s) for s in range(1, 9)])
    paths = await store.read(lambda t: [t.tree.path(s.leaf) for s in leaves])
    assert {entry.id for entry in found} <= {entry.id for path in paths for entry in path}
    await store.close()


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (StoreUnavailable("the disk is away"), 0),
        (EpochLost("newer"), 0),
        (ValueError("a fault"), 1),
    ],
)
async def test_a_job_that_fails_after_its_caller_was_cancelled_logs_no_traceback(
    sqlite: SqlStore, caplog: pytest.LogCaptureFixture, error: Exception, lines: int
) -> None:
    began, go = Event(), Event()

    def work(_: Transaction) -> None:
        began.set()
        go.wait()
        raise error

    task = asyncio.create_task(sqlite.run(work))
    await asyncio.to_thread(began.wait)
    task.cancel()
    go.set()
    await asyncio.wait([task])
    await sqlite.run(lambda _: None)
    told = [record for record in caplog.records if record.name == "storage.sql.writer"]
    assert [record.exc_info for record in told] == [None] * lines


def test_a_page_that_the_disk_does_not_give_is_not_called_damage(tmp_path: Path) -> None:
    """SQLite says of both that the file is malformed."""
    damaged, unread = tmp_path / "damaged.db", tmp_path / "unread.db"
    damaged.write_bytes(b"x" * 10_000)
    unread.symlink_to("/proc/self/mem")  # whose first page no read gives: EIO
    with pytest.raises(DBAPIError) as caught, database_of(f"sqlite:///{damaged}").checking():
        pass
    databases = {file: database_of(f"sqlite:///{file}") for file in (damaged, unread)}
    found = {file: each.store_error(caught.value) for file, each in databases.items()}
    assert isinstance(found[damaged], StoreLost)
    assert not isinstance(found[unread], StoreLost)
    assert "the disk does not give all of it (input/output error)" in str(found[unread])
    assert "damaged or no SQLite database" not in str(found[unread])
