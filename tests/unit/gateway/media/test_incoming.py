"""Files of messages that were ended while they were fetched."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.tools.files.workspace import Workspace
from gateway.media.incoming import Incoming, is_ready
from gateway.outbound.composer import Composer
from gateway.outbound.connections import Connections
from storage.blobs.choosing import blobs_of
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival, InboxKind, InboxRow
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.stores import fresh_store, new_session

VOICE = {"kind": "voice", "ref": "r", "name": "", "size": 3, "seconds": 1.0}


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    async with fresh_store() as store:
        yield store


def incoming(store: SqlStore, folder: Path) -> Incoming:
    """Where nobody writes voices down."""
    blobs = blobs_of(f"sqlite:///{folder}/bough.db", store)
    place = (Connections(), Composer({}), lambda _: frozenset[str](), lambda _: Workspace(folder))
    return Incoming(store, blobs, *place, None)


async def came(store: SqlStore) -> tuple[int, InboxRow]:
    session = (await new_session(store)).id
    payload: Json = {"message_id": "7", "private": True, "files": [VOICE]}

    def work(tx: Transaction) -> InboxRow | None:
        return tx.inbox.receive(Arrival("k", InboxKind.MESSAGE, "telegram:1", payload, session))

    row = await store.run(work)
    assert row is not None and not is_ready(row)
    return session, row


async def test_what_became_of_files_is_told_once(store: SqlStore, tmp_path: Path) -> None:
    session, row = await came(store)
    for _ in range(2):  # a process that stood still comes late
        await incoming(store, tmp_path).prepare(session, [row])
    now, told = await store.read(lambda tx: (tx.inbox.get(row.id), tx.outbox.pending()))
    assert is_ready(now)
    assert len(told) == 1


async def test_a_row_that_was_ended_meanwhile_stays_empty_and_nobody_is_told(
    store: SqlStore, tmp_path: Path
) -> None:
    session, row = await came(store)
    await store.run(lambda tx: tx.inbox.finish([row.id]))
    await incoming(store, tmp_path).prepare(session, [row])
    now, told = await store.read(lambda tx: (tx.inbox.get(row.id), tx.outbox.pending()))
    assert (now.payload, told) == ({}, [])
