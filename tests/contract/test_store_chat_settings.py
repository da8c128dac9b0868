"""What was chosen for a conversation is one row for each thing that may be chosen."""

import asyncio

from storage.news import Committed
from storage.records.chats.chat_settings import ChatChoice, ChatChoiceChange
from storage.store import Store, Transaction
from tests.support.stores import Clock

HERE, TOPIC, ANN, BEN = "telegram:-1", "telegram:-1/7", "telegram:7", "telegram:8"


async def test_a_choice_says_what_who_and_when(store: Store, clock: Clock) -> None:
    clock.now = 5.0
    assert await store.run(lambda tx: tx.chat_settings.choose(HERE, "busy", "queue", ANN))
    rows = await store.read(lambda tx: tx.chat_settings.of(HERE))
    assert rows == [ChatChoice(HERE, "busy", "queue", ANN, 5.0)]
    assert await store.read(lambda tx: tx.chat_settings.of(TOPIC)) == []


async def test_the_last_choice_holds_and_the_same_again_changes_nothing(
    store: Store, clock: Clock
) -> None:
    clock.now = 5.0
    assert await store.run(lambda tx: tx.chat_settings.choose(HERE, "busy", "queue", ANN))
    clock.now = 6.0
    assert not await store.run(lambda tx: tx.chat_settings.choose(HERE, "busy", "queue", BEN))
    assert (await store.read(lambda tx: tx.chat_settings.of(HERE)))[0].by == ANN
    assert await store.run(lambda tx: tx.chat_settings.choose(HERE, "busy", "steer", BEN))
    rows = await store.read(lambda tx: tx.chat_settings.of(HERE))
    assert rows == [ChatChoice(HERE, "busy", "steer", BEN, 6.0)]


async def test_all_of_them_stand_by_place_and_key_and_are_taken_back_one_by_one(
    store: Store,
) -> None:
    def choose(tx: Transaction) -> None:
        for address, key, value in (
            (TOPIC, "stream", "off"),
            (HERE, "stream", "on"),
            (HERE, "busy", "queue"),
        ):
            tx.chat_settings.choose(address, key, value, ANN)

    await store.run(choose)

    async def there() -> list[tuple[str, str]]:
        rows = await store.read(lambda tx: tx.chat_settings.all())
        return [(row.address, row.key) for row in rows]

    assert await there() == [(HERE, "busy"), (HERE, "stream"), (TOPIC, "stream")]
    assert await store.run(lambda tx: tx.chat_settings.take_back(HERE, "stream"))
    assert not await store.run(lambda tx: tx.chat_settings.take_back(HERE, "stream"))
    assert await there() == [(HERE, "busy"), (TOPIC, "stream")]


async def test_a_commit_tells_what_was_chosen_and_one_that_failed_tells_nothing(
    store: Store,
) -> None:
    heard: list[Committed] = []
    store.watch(heard.append)

    def fails(tx: Transaction) -> None:
        tx.chat_settings.choose(HERE, "busy", "queue", ANN)
        raise KeyError

    def works(tx: Transaction) -> None:
        tx.chat_settings.choose(HERE, "busy", "steer", ANN)
        tx.chat_settings.take_back(HERE, "busy")

    try:
        await store.run(fails)
    except KeyError:
        await asyncio.sleep(0)
    await store.run(works)
    await asyncio.sleep(0)
    changes = (ChatChoiceChange(HERE, "busy", "steer"), ChatChoiceChange(HERE, "busy", None))
    assert heard == [Committed(frozenset(), outbox=False, choices=changes)]
    assert await store.read(lambda tx: tx.chat_settings.all()) == []
