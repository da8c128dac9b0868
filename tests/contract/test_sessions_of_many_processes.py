"""A session whose turn runs in another process, and somebody who keeps turns from running there."""

import asyncio

import pytest

from gateway.processes.switchboard import Switchboard
from gateway.turns import shared_scheduler
from gateway.turns.scheduler import InProcessScheduler
from gateway.turns.shared_scheduler import SharedScheduler
from storage.errors import EpochLost
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.store import SqlStore
from tests.support.stores import new_session


async def test_a_turn_that_does_not_end_when_it_is_cut_is_shut_out(
    here: SqlStore, there: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_scheduler, "PATIENCE", 0.1)
    assert here.jobs is not None and there.jobs is not None
    session, begun = (await new_session(here)).id, asyncio.Event()

    async def stand_still(session: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    working = asyncio.create_task(there.jobs.work(stand_still, {}))
    try:
        arrival = Arrival("one", InboxKind.MESSAGE, "a:1", {}, session)
        await here.run(lambda tx: tx.inbox.receive(arrival))
        async with asyncio.timeout(60):
            await begun.wait()
        epoch = (await there.run(lambda tx: tx.tree.claim(session))).epoch
        scheduler = SharedScheduler(InProcessScheduler(), here, here.jobs, Switchboard(here))
        async with scheduler.hold(session):
            with pytest.raises(EpochLost):
                await there.run(lambda tx: tx.tree.hold(session, epoch))
    finally:
        working.cancel()
        await asyncio.wait([working])
