"""Messages that change while a turn runs."""

import pytest

from storage.errors import StoreError
from storage.records.chats.live_messages import LiveKind, LiveMessage
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft
from storage.store import Store, Transaction


def put(tx: Transaction, key: str, kind: LiveKind = LiveKind.ANSWER) -> LiveMessage:
    row = tx.inbox.receive(Arrival(key, InboxKind.MESSAGE, "telegram:1", {}))
    assert row is not None
    message = LiveMessage(tx.outbox.enqueue(OutboxDraft("telegram:1", "post", {})).id, row.id, kind)
    tx.live_messages.put(message)
    return message


async def test_those_of_a_turn_are_found_until_they_end(store: Store) -> None:
    one = await store.run(lambda tx: put(tx, "one"))
    two = await store.run(lambda tx: put(tx, "two", LiveKind.STATUS))
    assert await store.read(lambda tx: tx.live_messages.of([one.inbox])) == [one]
    assert await store.read(lambda tx: tx.live_messages.of([two.inbox, one.inbox])) == [one, two]
    await store.run(lambda tx: tx.live_messages.end([one.outbox]))
    assert await store.read(lambda tx: tx.live_messages.of([one.inbox, two.inbox])) == [two]
    assert await store.read(lambda tx: tx.live_messages.of([])) == []


async def test_those_are_left_whose_turn_is_over(store: Store) -> None:
    one = await store.run(lambda tx: put(tx, "one"))
    await store.run(lambda tx: put(tx, "two"))
    assert await store.read(lambda tx: tx.live_messages.left()) == []
    await store.run(lambda tx: tx.inbox.finish([one.inbox]))
    assert await store.read(lambda tx: tx.live_messages.left()) == [one]


async def test_a_message_is_put_once(store: Store) -> None:
    one = await store.run(lambda tx: put(tx, "one"))
    with pytest.raises(StoreError):
        await store.run(lambda tx: tx.live_messages.put(one))
