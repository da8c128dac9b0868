"""A running gateway keeps its search index close behind."""

import asyncio

from storage.records.entries import Entry
from storage.store import Store, Transaction
from tests.flow.conftest import PATIENCE, gateway

RULES = [{"reply": {"text": "The ferry leaves at nine."}}]


async def test_what_was_said_and_answered_is_found_soon(store: Store) -> None:
    def find(tx: Transaction) -> list[Entry]:
        session = tx.directory.conversation("telegram:1")
        return tx.search.find("ferry", [session]) if session is not None else []

    async with gateway(RULES, store=store) as bough:
        await bough.chat.say("When is the ferry?")
        await bough.hears("The ferry leaves at nine.")
        async with asyncio.timeout(PATIENCE):
            while len(await store.read(find)) < 2:
                await asyncio.sleep(0.02)
        hits = await store.read(find)
    assert [hit.body["role"] for hit in hits] == ["assistant", "user"]
