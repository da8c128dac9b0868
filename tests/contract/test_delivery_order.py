"""What leaves the outbox first, and what people hear of a platform that asks to wait."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

import gateway.outbound.delivery as delivery_module
from adapters.base import Outgoing, Post, Throttled
from adapters.pacing import Limit, Rates
from adapters.recording import RecordingAdapter
from gateway.outbound.composer import Composer
from gateway.outbound.delivery import AT_ONCE, Delivery
from gateway.outbound.pace import Pace
from storage.records.inbox_outbox import OutboxDraft
from storage.store import Store, Transaction

OWNER, ANN = "telegram:1", "telegram:2"
PATIENCE = 60.0
LONGER = 1.0
"""Seconds that a platform asks to wait, and that are told of here."""


class Chat(RecordingAdapter):
    """Says when everything is there."""

    async def until(self, enough: Callable[[list[str]], bool]) -> list[str]:
        async with asyncio.timeout(PATIENCE):
            while not enough(texts := [one.body["text"] for one in self.posted()]):
                await asyncio.sleep(0.01)
        return texts

    def posted(self) -> list[Post]:
        return [one for one in self.outgoing if isinstance(one, Post)]


@asynccontextmanager
async def delivering(store: Store, chat: Chat, pace: Pace | None = None) -> AsyncIterator[Delivery]:
    delivery = Delivery(store, {"telegram": chat}, pace)
    task = asyncio.create_task(delivery.run())
    try:
        yield delivery
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def composer(chat: Chat) -> Composer:
    return Composer({"telegram": chat})


@pytest.mark.parametrize("count", [10, AT_ONCE + 5])
async def test_an_answer_does_not_stand_behind_notices_of_its_chat(
    store: Store, count: int
) -> None:
    chat = Chat(name="telegram")
    one = Limit(1, 0.05)
    pace = Pace({"telegram": Rates((one,), (one,), Limit(100, 1.0), re.compile("-.*"))})

    def enqueue(tx: Transaction) -> None:
        for number in range(count):
            for parcel in composer(chat).notice(OWNER, f"notice {number}"):
                tx.outbox.enqueue(parcel)
        for number in range(3):
            for parcel in composer(chat).post(OWNER, f"answer {number}"):
                tx.outbox.enqueue(parcel)

    await store.run(enqueue)
    async with delivering(store, chat, pace):
        texts = await chat.until(lambda said: len(said) == count + 3)
    notices = [text for text in texts if "notice" in text]
    answers = [text for text in texts if "answer" in text]
    assert notices == [f"notice {number}" for number in range(count)]
    assert answers == [f"answer {number}" for number in range(3)]
    assert texts.index("answer 2") <= 5 + max(count - AT_ONCE, 0)


async def test_of_edits_that_wait_for_one_notice_only_the_last_is_sent(store: Store) -> None:
    chat = Chat(name="telegram")
    made = composer(chat)

    def enqueue(tx: Transaction) -> int:
        (parcel,) = made.notice(OWNER, "one asks")
        row = tx.outbox.enqueue(parcel).id
        for number in range(2, 11):
            (edit,) = made.change(OWNER, f"{number} ask", row=row)
            tx.outbox.enqueue(
                OutboxDraft(OWNER, "edit", edit.payload | {"notice": True}, edits=row)
            )
        (answer,) = made.change(OWNER, "let in", row=row)
        tx.outbox.enqueue(answer)
        return row

    await store.run(enqueue)
    async with delivering(store, chat), asyncio.timeout(PATIENCE):
        while not any(shown.text == "let in" for shown in chat.shown.values()):
            await asyncio.sleep(0.01)
        while await store.read(lambda tx: tx.outbox.pending()):
            await asyncio.sleep(0.01)
    assert len(chat.outgoing) == 2, "the post, and the last edit"


async def test_who_waited_long_for_an_answer_hears_why_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Outgoing] = []

    def busy(outgoing: Outgoing) -> None:
        asked.append(outgoing)
        if len(asked) == 1:
            raise Throttled(LONGER)

    monkeypatch.setattr(delivery_module, "LONG", LONGER)
    chat = Chat(name="telegram", before_delivery=busy)

    def enqueue(tx: Transaction) -> None:
        for text in ("first", "second"):
            for parcel in composer(chat).post(ANN, text):
                tx.outbox.enqueue(parcel)

    await store.run(enqueue)
    async with delivering(store, chat) as delivery:
        await chat.until(lambda said: len(said) == 2)
        delivery.notify()
        texts = await chat.until(lambda said: len(said) == 3)
    assert texts[:2] == ["first", "second"]
    assert texts[2] == "⏳ That came late: Telegram asked me to send nothing for 1 s."


async def test_who_waited_for_a_notice_hears_nothing(store: Store) -> None:
    held = [Throttled(0.01)]

    def busy(outgoing: Outgoing) -> None:
        if held:
            raise held.pop()

    chat = Chat(name="telegram", before_delivery=busy)

    def enqueue(tx: Transaction) -> None:
        for parcel in composer(chat).notice(ANN, "notice"):
            tx.outbox.enqueue(parcel)

    await store.run(enqueue)
    async with delivering(store, chat) as delivery:
        await chat.until(lambda said: said == ["notice"])
        async with asyncio.timeout(PATIENCE):
            while not delivery.idle():
                await asyncio.sleep(0.01)
    assert len(chat.posted()) == 1
