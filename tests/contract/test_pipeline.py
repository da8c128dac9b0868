"""Statements that go to PostgreSQL over a pipeline, where nobody waits for some of them."""

import psycopg
import pytest

from storage.errors import NotFound
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.stores import new_session

NOBODYS = 999_999
"""A session that is not there."""


def _arrival(key: str) -> Arrival:
    return Arrival(key, InboxKind.MESSAGE, "telegram:1", {})


async def test_what_is_written_without_waiting_is_seen_by_what_follows(postgres: SqlStore) -> None:
    session = await new_session(postgres)

    def work(tx: Transaction) -> tuple[list[str], int | None]:
        tx.directory.bind("telegram:1", session.id)
        return tx.directory.members(session.id), tx.directory.conversation("telegram:1")

    assert await postgres.run(work) == (["telegram:1"], session.id)


async def test_what_is_written_last_and_fails_leaves_nothing_of_its_transaction(
    postgres: SqlStore,
) -> None:
    def work(tx: Transaction) -> None:
        tx.inbox.receive(_arrival("key"))
        tx.directory.join(NOBODYS, "telegram:1")

    with pytest.raises(NotFound):
        await postgres.run(work)
    assert await postgres.read(lambda tx: tx.inbox.unfinished()) == []
    assert await postgres.run(lambda tx: tx.inbox.receive(_arrival("key"))) is not None


async def test_what_fails_without_waiting_fails_what_follows(postgres: SqlStore) -> None:
    def work(tx: Transaction) -> None:
        tx.directory.join(NOBODYS, "telegram:1")
        tx.inbox.unfinished(1)
        pytest.fail("it went on after an error")

    with pytest.raises(NotFound):
        await postgres.run(work)


async def test_work_that_fails_leaves_nothing_of_what_was_to_be_written(postgres: SqlStore) -> None:
    session = await new_session(postgres)

    def work(tx: Transaction) -> None:
        tx.directory.join(session.id, "telegram:1")
        raise LookupError

    with pytest.raises(LookupError):
        await postgres.run(work)
    assert await postgres.run(lambda tx: tx.directory.members(session.id)) == []


async def test_a_server_that_forgot_what_was_prepared_is_told_again(
    postgres: SqlStore, postgres_url: str
) -> None:
    await postgres.run(lambda tx: tx.inbox.receive(_arrival("first")))

    def forget(tx: Transaction) -> None:
        tx.connection.exec_driver_sql("DEALLOCATE ALL")  # type: ignore[attr-defined]

    await postgres.run(forget)
    await postgres.run(lambda tx: tx.inbox.receive(_arrival("second")))
    with psycopg.connect(postgres_url) as other:
        assert other.execute("SELECT key FROM inbox ORDER BY id").fetchall() == [
            ("first",),
            ("second",),
        ]
