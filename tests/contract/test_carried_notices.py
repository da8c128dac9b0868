"""Notices that one process makes and another one sends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from adapters.base import (
    Acknowledge,
    Draft,
    Edit,
    Outgoing,
    Post,
    Refused,
    Throttled,
    Typing,
    Unavailable,
)
from adapters.events import Conversation
from adapters.recording import RecordingAdapter
from gateway.outbound.connections import Connections
from gateway.processes.leased_duties import LASTS, LeasedDuties
from gateway.processes.shares import DELIVERY
from gateway.processes.switchboard import Switchboard
from gateway.status.carrying import Carrier
from gateway.status.notices import Notices
from storage.sql.store import SqlStore
from tests.support.processes import listening

HERE = Conversation("telegram", "7")
DRAFT = Draft(HERE, 1, {"text": "so far"})


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Process:
    adapter: RecordingAdapter
    clock: Clock
    duties: LeasedDuties
    notices: Notices


@asynccontextmanager
async def process(url: str, *, delivers: bool) -> AsyncIterator[Process]:
    store = await SqlStore.open(url)
    clock, switchboard = Clock(), Switchboard(store)
    duties = LeasedDuties(store, switchboard, clock)
    if delivers:
        duties.want(DELIVERY, lambda _: True)
    await duties.begin()
    adapter, connections = RecordingAdapter(name="telegram"), Connections()
    connections.opened(adapter)
    carrier = Carrier(store, switchboard, duties)
    notices = Notices(connections, duties=duties, carrier=carrier)
    try:
        async with listening(store):
            yield Process(adapter, clock, duties, notices)
            await notices.close()
    finally:
        await store.close()


@pytest.fixture
async def worker(postgres_url: str) -> AsyncIterator[Process]:
    async with process(postgres_url, delivers=False) as one:
        yield one


@pytest.fixture
async def sender(postgres_url: str) -> AsyncIterator[Process]:
    async with process(postgres_url, delivers=True) as one:
        yield one


def raising(error: Exception) -> object:
    def before(outgoing: Outgoing) -> None:
        raise error

    return before


async def test_a_notice_is_sent_by_the_process_that_sends_to_that_chat(
    sender: Process, worker: Process
) -> None:
    message = await sender.adapter.deliver(Post(HERE, {"text": "so"}))
    assert message is not None
    edit = Edit(HERE, message, {"text": "so far"}, fleeting=True)
    assert await worker.notices.send("telegram", DRAFT) is None
    assert await worker.notices.send("telegram", edit) is None
    await worker.notices.send("telegram", Typing(HERE))
    async with asyncio.timeout(60):
        while len(sender.adapter.outgoing) < 4:
            await asyncio.sleep(0.01)
    assert sender.adapter.outgoing[1:] == [DRAFT, edit, Typing(HERE)]
    assert worker.adapter.outgoing == []


async def test_a_press_is_acknowledged_by_the_process_that_got_it(
    sender: Process, worker: Process
) -> None:
    await worker.notices.send("telegram", Acknowledge("a handle"))
    assert worker.adapter.outgoing == [Acknowledge("a handle")]
    assert sender.adapter.outgoing == []


async def test_who_made_a_notice_hears_why_it_was_not_sent(
    sender: Process, worker: Process
) -> None:
    sender.adapter.before_delivery = raising(Refused("no drafts here"))  # type: ignore[assignment]
    with pytest.raises(Refused, match="no drafts here"):
        await worker.notices.send("telegram", DRAFT)
    sender.adapter.before_delivery = raising(Throttled(3.0))  # type: ignore[assignment]
    with pytest.raises(Throttled) as throttled:
        await worker.notices.send("telegram", DRAFT)
    assert throttled.value.retry_after == 3.0


async def test_where_nobody_sends_a_notice_is_not_sent(worker: Process) -> None:
    with pytest.raises(Unavailable):
        await worker.notices.send("telegram", DRAFT)


async def test_a_process_that_stood_still_sends_no_notice(sender: Process, worker: Process) -> None:
    worker.clock.now += LASTS
    with pytest.raises(Unavailable, match="late"):
        await worker.notices.send("telegram", DRAFT)
    sender.clock.now += LASTS
    with pytest.raises(Unavailable):
        await sender.notices.send("telegram", DRAFT)
    assert sender.adapter.outgoing == worker.adapter.outgoing == []
