"""What of an answer is shown while it is written, and by whom."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from adapters.recording import RecordingAdapter
from agent.runtime.journal import Journal
from gateway.outbound.composer import Composer
from gateway.outbound.connections import Connections
from gateway.status.notices import Notices
from gateway.streaming.live_answer import LiveAnswer, OnRecord, Place, Streaming
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.store import SqlStore
from tests.support.stores import fresh_store, new_session

GROUP = "telegram:-100"


async def made(store: SqlStore, telegram: RecordingAdapter) -> tuple[LiveAnswer, Journal]:
    """One that grows as a message, and its turn's journal."""
    connections, composer = Connections(), Composer({"telegram": telegram})
    connections.opened(telegram)
    streaming = Streaming(store, Notices(connections), composer, lambda address: True)
    journal = await Journal.claim(store, (await new_session(store)).id)
    arrival = Arrival("1", InboxKind.MESSAGE, GROUP, {}, journal.session)
    row = await store.run(lambda tx: tx.inbox.receive(arrival))
    assert row is not None
    place = Place(GROUP, journal, row.id, lambda: [row.id], "", private=False, said=tuple)
    answer = streaming.answer(place, OnRecord())
    assert answer is not None
    return answer, journal


async def claimed_anew(journal: Journal) -> None:
    await journal.store.run(lambda tx: tx.tree.claim(journal.session))


async def posts(store: SqlStore) -> list[str]:
    return [
        row.payload["body"]["text"] for row in await store.read(lambda tx: tx.outbox.pending(9))
    ]


async def posted(store: SqlStore) -> int:
    """The row of the first message, once it is there."""
    async with asyncio.timeout(60):
        while not (rows := await store.read(lambda tx: tx.outbox.pending(9))):
            await asyncio.sleep(0.01)
        return rows[0].id


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


async def test_an_answer_that_grows_is_posted_and_then_changed() -> None:
    telegram = RecordingAdapter(name="telegram")
    async with fresh_store() as store:
        answer, _ = await made(store, telegram)
        answer.heard("the first words")
        await until(lambda: answer.begun)
        row = await posted(store)
        await store.run(lambda tx: tx.outbox.sent(row, "77"))
        answer.heard(" and more")
        await until(lambda: bool(telegram.outgoing))
        await answer.settle()


async def test_who_has_lost_the_session_posts_nothing_of_its_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with fresh_store() as store:
        answer, journal = await made(store, RecordingAdapter(name="telegram"))
        await claimed_anew(journal)
        answer.heard("the first words")
        await until(lambda: "a newer turn goes on" in caplog.text)
        await answer.settle()
        assert await posts(store) == []


async def test_who_has_lost_the_session_changes_no_message_any_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    telegram = RecordingAdapter(name="telegram")
    async with fresh_store() as store:
        answer, journal = await made(store, telegram)
        answer.heard("the first words")
        row = await posted(store)
        await claimed_anew(journal)
        await store.run(lambda tx: tx.outbox.sent(row, "77"))
        answer.heard(" and more")
        await until(lambda: "a newer turn goes on" in caplog.text)
        await answer.settle()
        assert telegram.outgoing == []
