"""What only PostgreSQL can do wrong: several processes that write at once, late commits,
connections and servers that go away."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Barrier, Event
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from storage.errors import LeafMoved, NotFound, StoreError, StoreUnavailable
from storage.records.entries import Draft, Entry, ImportedEntry, Kind, SessionDraft, SessionKind
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft
from storage.records.questions import Choice, QuestionDraft, QuestionState
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.postgres import PostgresServer
from tests.support.stores import append, new_session, path_of, said, texts

ROUNDS = 15
_CHAT = SessionDraft(SessionKind.CHAT)


@pytest.fixture
async def beside(postgres_url: str) -> AsyncIterator[SqlStore]:
    """Another process's store, as far as the database can tell."""
    store = await SqlStore.open(postgres_url)
    yield store
    await store.close()


async def both(one: SqlStore, other: SqlStore, work: Callable[[Transaction], Any]) -> list[Any]:
    return list(await asyncio.gather(one.run(work), other.run(work)))


@pytest.mark.parametrize(
    "statement",
    ["UPDATE entries SET body = '{}'", "DELETE FROM entries", "TRUNCATE entries CASCADE"],
)
async def test_the_database_itself_refuses_to_change_an_entry(
    postgres: SqlStore, postgres_url: str, statement: str
) -> None:
    session = await new_session(postgres)
    await append(postgres, session.id, said("for ever"), said("and ever"))
    with (
        psycopg.connect(postgres_url) as other,
        pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="append-only"),
    ):
        other.execute(statement.encode())
    assert texts(await path_of(postgres, session.id)) == ["for ever", "and ever"]


async def test_of_two_processes_one_decides_a_question(
    postgres: SqlStore, beside: SqlStore
) -> None:
    session = await new_session(postgres)
    draft = QuestionDraft("escalation", "?", (Choice("a", "A"),), session.id, "telegram:1", {})
    for _ in range(ROUNDS):
        question = await postgres.run(lambda t: t.questions.create(draft))

        def press(t: Transaction, question: int = question.id) -> bool:
            return t.questions.close(question, QuestionState.DECIDED, choice="a")

        assert sorted(await both(postgres, beside, press)) == [False, True]


async def test_what_two_processes_take_in_at_once_is_taken_in_once(
    postgres: SqlStore, beside: SqlStore
) -> None:
    for number in range(ROUNDS):
        arrival = Arrival(f"key {number}", InboxKind.MESSAGE, "telegram:1", {}, cursor=str(number))
        rows = await both(postgres, beside, lambda t, a=arrival: t.inbox.receive(a))  # type: ignore[misc]
        assert [row is None for row in rows].count(True) == 1
    assert len(await postgres.read(lambda t: t.inbox.unfinished())) == ROUNDS
    assert await beside.read(lambda t: t.directory.cursors("telegram")) == {
        "telegram:1": str(ROUNDS - 1)
    }


async def test_what_has_one_place_is_written_there_by_both(
    postgres: SqlStore, beside: SqlStore
) -> None:
    session = await new_session(postgres)
    (entry,) = await append(postgres, session.id, said("hi"))
    for number in range(ROUNDS):

        def work(t: Transaction, number: int = number) -> bool:
            t.directory.bind(f"telegram:{number}", session.id)
            t.directory.join(session.id, f"discord:{number}")
            t.directory.set_fact(f"fact {number}", number)
            t.outbox.link_message("telegram:1", str(number), entry.id)
            return t.directory.greet(f"telegram:{number}", "Ann")

        assert sorted(await both(postgres, beside, work)) == [False, True]
    assert len(await postgres.read(lambda t: t.directory.members(session.id))) == 2 * ROUNDS


async def test_who_meets_a_chat_first_makes_its_session_and_the_other_finds_it(
    postgres: SqlStore, beside: SqlStore
) -> None:
    """Reads and then writes, as if it were alone."""
    for number in range(ROUNDS):

        def work(t: Transaction, address: str = f"telegram:{number}") -> int:
            if (found := t.directory.conversation(address)) is not None:
                return found
            session = t.tree.create(_CHAT).id
            t.directory.bind(address, session)
            return session

        one, other = await both(postgres, beside, work)
        assert one == other


async def test_a_count_that_is_read_and_written_back_counts_everybody(
    postgres: SqlStore, beside: SqlStore
) -> None:
    def count(t: Transaction) -> None:
        t.directory.set_fact("count", (t.directory.fact("count") or 0) + 1)

    await asyncio.gather(*(store.run(count) for _ in range(ROUNDS) for store in (postgres, beside)))
    assert await postgres.read(lambda t: t.directory.fact("count")) == 2 * ROUNDS


async def test_entries_that_come_at_once_get_a_number_each_and_one_goes_on(
    postgres: SqlStore, beside: SqlStore
) -> None:
    session = (await new_session(postgres)).id
    (root,) = await append(postgres, session, said("root"))

    def aside(t: Transaction) -> Entry:
        return t.tree.append(session, said("aside"), after=root.id, aside=True)

    await asyncio.gather(*(store.run(aside) for _ in range(ROUNDS) for store in (postgres, beside)))
    entries = await postgres.read(lambda t: t.tree.entries(session))
    assert [entry.number for entry in entries] == list(range(1, 2 * ROUNDS + 2))
    strands = await postgres.read(lambda t: t.tree.strands(session))
    assert len(strands) == 2 * ROUNDS  # the root's first child is of its strand


async def test_of_two_appends_at_a_leaf_one_is_told(postgres: SqlStore, beside: SqlStore) -> None:
    session = (await new_session(postgres)).id

    def work(t: Transaction, after: int | None) -> Entry:
        return t.tree.append(session, said("mine"), after=after)

    leaf: int | None = None
    for _ in range(ROUNDS):
        results = await asyncio.gather(
            postgres.run(lambda t, after=leaf: work(t, after)),  # type: ignore[misc]
            beside.run(lambda t, after=leaf: work(t, after)),  # type: ignore[misc]
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in results) == ["Entry", "LeafMoved"]
        leaf = next(result.id for result in results if isinstance(result, Entry))


async def test_work_that_locks_in_another_order_is_done_again(
    postgres: SqlStore, beside: SqlStore
) -> None:
    one, other = (await new_session(postgres)).id, (await new_session(postgres)).id

    def rename(t: Transaction, *sessions: int) -> None:
        for session in sessions:
            t.tree.rename(session, str(session))

    await asyncio.gather(
        *(postgres.run(lambda t: rename(t, one, other)) for _ in range(ROUNDS)),
        *(beside.run(lambda t: rename(t, other, one)) for _ in range(ROUNDS)),
    )


async def test_a_job_that_raises_in_a_group_leaves_the_others_in(postgres: SqlStore) -> None:
    session = await new_session(postgres)
    begun, go_on = Event(), Event()

    def wait(t: Transaction) -> None:
        begun.set()
        assert go_on.wait(timeout=30)

    waiting = asyncio.create_task(postgres.run(wait))
    await asyncio.to_thread(begun.wait)
    jobs = asyncio.gather(
        append(postgres, session.id, said("1")),
        postgres.run(lambda t: 1 / 0),
        append(postgres, session.id, said("2")),
        postgres.run(lambda t: t.outbox.enqueue(OutboxDraft("a:1", "post", {}, entry=99))),
        postgres.run(_swallow),
        append(postgres, session.id, said("3")),
        return_exceptions=True,
    )
    await asyncio.sleep(0)
    go_on.set()
    await waiting
    kinds = [list, ZeroDivisionError, list, NotFound, StoreError, list]
    assert [type(result) for result in await jobs] == kinds
    assert texts(await path_of(postgres, session.id)) == ["1", "2", "3"]


def _swallow(t: Transaction) -> None:
    """Goes on after an error of the database. PostgreSQL would undo all of it in the commit, and
    say nothing."""
    try:
        t.outbox.enqueue(OutboxDraft("a:1", "post", {}, entry=99))
    except DBAPIError:
        return


async def test_an_entry_that_is_committed_late_is_found_all_the_same(
    postgres: SqlStore, beside: SqlStore
) -> None:
    """Ids are given out before the commit, so an older id may be seen after a newer one."""
    early, late = await new_session(postgres), await new_session(postgres)
    begun, go_on = Event(), Event()

    def slow(t: Transaction) -> Entry:
        entry = t.tree.append(late.id, said("a late ferry"), after=None)
        begun.set()
        assert go_on.wait(timeout=30)
        return entry

    writing = asyncio.create_task(beside.run(slow))
    await asyncio.to_thread(begun.wait)
    (seen,) = await append(postgres, early.id, said("an early ferry"))
    assert await postgres.run(lambda t: t.search.follow(10)) == 1
    go_on.set()
    assert (await writing).id < seen.id
    assert await postgres.run(lambda t: t.search.follow(10)) == 1
    found = await postgres.read(lambda t: t.search.find("ferry", [early.id, late.id]))
    assert texts(found) == ["an early ferry", "a late ferry"]


async def test_two_that_follow_take_in_each_entry_once(
    postgres: SqlStore, beside: SqlStore
) -> None:
    session = await new_session(postgres)
    await append(postgres, session.id, *(said(f"ferry {n}") for n in range(60)))

    async def follow(store: SqlStore) -> int:
        count = 0
        while looked_at := await store.run(lambda t: t.search.follow(7)):
            count += looked_at
        return count

    assert sum(await asyncio.gather(follow(postgres), follow(beside))) == 60
    found = await postgres.read(lambda t: t.search.find("ferry", [session.id], limit=100))
    assert len(found) == 60


async def test_a_read_does_not_wait_for_a_writer_and_sees_one_state(
    postgres: SqlStore, beside: SqlStore
) -> None:
    session = (await new_session(postgres)).id
    first_look, written = Event(), Event()

    def look_twice(t: Transaction) -> list[tuple[Entry, ...]]:
        before = t.tree.path(t.tree.session(session).leaf)
        first_look.set()
        assert written.wait(timeout=30)
        return [before, t.tree.path(t.tree.session(session).leaf)]

    reading = asyncio.create_task(postgres.read(look_twice))
    await asyncio.to_thread(first_look.wait)
    await append(beside, session, said("1"))
    written.set()
    assert await reading == [(), ()]
    assert texts(await path_of(postgres, session)) == ["1"]


async def test_cut_connections_are_opened_again_and_nobody_notices(
    postgres: SqlStore, postgres_server: PostgresServer, postgres_url: str
) -> None:
    session = await new_session(postgres)
    for number in range(3):
        await append(postgres, session.id, said(str(number)))
        assert len(await path_of(postgres, session.id)) == number + 1
        await asyncio.to_thread(postgres_server.cut, postgres_url)
    assert texts(await path_of(postgres, session.id)) == ["0", "1", "2"]


async def test_work_whose_connection_is_cut_is_done_again(
    postgres: SqlStore, postgres_server: PostgresServer, postgres_url: str
) -> None:
    session = (await new_session(postgres)).id
    begun, go_on = Event(), Event()

    def work(t: Transaction) -> Entry:
        entry = t.tree.append(session, said("once"), after=None)
        begun.set()
        assert go_on.wait(timeout=30)
        return t.tree.entry(entry.id)

    writing = asyncio.create_task(postgres.run(work))
    await asyncio.to_thread(begun.wait)
    await asyncio.to_thread(postgres_server.cut, postgres_url)
    go_on.set()
    entry = await writing
    assert await path_of(postgres, session) == (entry,)


async def test_a_session_that_is_taken_in_while_the_connection_is_cut_is_there_once(
    postgres: SqlStore, postgres_server: PostgresServer, postgres_url: str
) -> None:
    session = await new_session(postgres)
    cuts = [postgres_url]

    class Lines(list[ImportedEntry]):
        """Cuts the connection the first time somebody is in the middle of them."""

        def __iter__(self) -> Iterator[ImportedEntry]:
            for number, planted in enumerate(super().__iter__()):
                if number == 500 and cuts:
                    postgres_server.cut(cuts.pop())
                yield planted

    lines = Lines(ImportedEntry(said("x" * 1_000), n - 1 if n else None) for n in range(1_000))
    await postgres.run(lambda t: t.tree.plant(session.id, lines, 999))
    assert cuts == []
    assert len(await path_of(postgres, session.id)) == 1_000


async def test_a_commit_that_is_cut_is_not_done_again(
    postgres: SqlStore, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """Nobody knows whether it was committed."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$"
        )
        connection.execute(
            "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON people DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION slow()"
        )
        writing = asyncio.create_task(postgres.run(lambda t: t.directory.greet("a:1", "Ann")))
        committing = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        while connection.execute(committing).fetchone() != (1,):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(postgres_server.cut, postgres_url)
        with pytest.raises(StoreUnavailable, match="connection"):
            await writing
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP FUNCTION slow() CASCADE")
    assert await postgres.run(lambda t: t.directory.greet("a:1", "Ann"))


async def test_all_connections_that_are_cut_at_once_fail_no_read(
    postgres: SqlStore, postgres_url: str, postgres_server: PostgresServer
) -> None:
    together = Barrier(4)

    def with_others(tx: Transaction) -> None:
        tx.inbox.unfinished(1)
        together.wait()

    await asyncio.gather(*(postgres.read(with_others) for _ in range(4)))
    await asyncio.to_thread(postgres_server.cut, postgres_url)
    assert await postgres.read(lambda tx: tx.inbox.unfinished(1)) == []


async def test_a_server_that_is_away_is_said_to_be_and_used_when_it_is_back(
    postgres: SqlStore, postgres_server: PostgresServer
) -> None:
    session = await new_session(postgres)
    await append(postgres, session.id, said("before"))
    await asyncio.to_thread(postgres_server.stop)
    try:
        results = await asyncio.gather(
            *(append(postgres, session.id, said(str(number))) for number in range(5)),
            path_of(postgres, session.id),
            return_exceptions=True,
        )
    finally:
        postgres_server.start()
    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert "see that the server runs" in str(results[0])
    await append(postgres, session.id, said("after"))
    assert texts(await path_of(postgres, session.id)) == ["before", "after"]


async def test_bad_values_are_refused_and_the_server_is_not_blamed(postgres: SqlStore) -> None:
    session = await new_session(postgres)
    with pytest.raises(StoreError) as caught:
        await append(postgres, session.id, Draft(Kind.MESSAGE, {}, tokens=2**70))
    assert not isinstance(caught.value, StoreUnavailable | LeafMoved)
    planted = [ImportedEntry(Draft(Kind.MESSAGE, {}, tokens=2**70), None)]
    with pytest.raises(StoreError) as caught:
        await postgres.run(lambda t: t.tree.plant(session.id, planted, 0))
    assert not isinstance(caught.value, StoreUnavailable)
    assert texts(await append(postgres, session.id, said("next"))) == ["next"]
