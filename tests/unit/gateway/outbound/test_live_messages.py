"""Live messages whose turn is over."""

from collections.abc import AsyncIterator

import pytest

from gateway.outbound.composer import Composer
from gateway.outbound.live_messages import BEGUN, CURSOR, close_left, post_live
from storage.records.chats.live_messages import LiveKind
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.stores import fresh_store

ADA, BOB = "telegram:1", "telegram:2"


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    async with fresh_store() as store:
        yield store


async def test_one_of_somebody_who_was_forgotten_does_not_keep_the_others_from_their_end(
    store: SqlStore,
) -> None:
    def die(tx: Transaction) -> list[int]:
        """Two turns were killed, which answered in private."""
        posts = []
        for who in (ADA, BOB):
            tx.directory.set_private(who, who)
            row = tx.inbox.receive(Arrival(who, InboxKind.MESSAGE, who, {"text": "hi"}))
            assert row is not None
            post = post_live(tx, LiveKind.ANSWER, row.id, who, {"text": f"it is{CURSOR}"})
            tx.outbox.sent(post.id, "m")
            tx.inbox.finish([row.id])
            posts.append(post.id)
        return posts

    _, bobs = await store.run(die)
    forgetting = await store.run(lambda tx: tx.forgettings.begin(ADA, "cli"))
    while await store.run(
        lambda tx: tx.forgettings.advance(tx.forgettings.get(forgetting.id), 100)
    ):
        pass
    await store.run(lambda tx: close_left(tx, Composer({})))
    left, sent = await store.read(lambda tx: (tx.live_messages.left(), tx.outbox.pending()))
    assert left == []
    assert [(row.edits, row.payload["body"]) for row in sent] == [(bobs, {"text": f"it is{BEGUN}"})]
