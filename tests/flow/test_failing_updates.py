"""Updates, rows, turns and questions that fail each time: they are given up, and stop nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from adapters.base import Outgoing, Unreachable
from adapters.events import Conversation, Message, User
from adapters.recording import RecordingAdapter
from gateway.outbound import delivery
from gateway.running import upkeep
from storage.errors import NotFound, StoreError, StoreUnavailable
from storage.records.entries import Json, SessionDraft, SessionKind
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
    InboxRow,
    InboxState,
    OutboxDraft,
    OutboxRow,
)
from storage.records.questions import Choice, QuestionDraft
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.flow.chatting import ECHO, bound
from tests.flow.conftest import PATIENCE, gateway
from tests.flow.on_telegram import handled
from tests.flow.telegram_gateway import OWNER, STRANGER, says, telegram_gateway

T = TypeVar("T")
PLAIN = [says("parent", "you said: {last}")]
ODD = "1\ud800"


class Choosy(SqlStore):
    """Does not take in what has "poison" in it, as often as it is told."""

    error: Exception = StoreError("the database refused it")
    times = 10**9

    async def run(self, work: Callable[[Transaction], T]) -> T:
        try:
            return await super().run(partial(self._work, work))
        except Exception as error:
            self.times -= error is self.error
            raise

    def _work(self, work: Callable[[Transaction], T], tx: Transaction) -> T:
        receive = tx.inbox.receive

        def choose(arrival: Arrival) -> InboxRow | None:
            if self.times > 0 and "poison" in str(arrival.payload.get("text")):
                raise self.error
            return receive(arrival)

        tx.inbox.receive = choose  # type: ignore[method-assign]
        return work(tx)


async def of_choosy(path: str) -> Choosy:
    store = await Choosy.open(path)
    assert isinstance(store, Choosy)
    return store


async def test_surrogates_in_ids_hold_up_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, PLAIN) as g:
        g.say("hello")
        shown = await g.hears("you said: hello")
        for user in (OWNER, STRANGER):
            press = {"id": ODD, "message": shown, "chat_instance": "1", "data": ODD}
            press["from"] = {"id": user, "is_bot": False, "first_name": ODD}
            g.telegram.world.publish("callback_query", press)
        odd_chat = {"id": ODD, "type": "private", "first_name": ODD}
        for chat in (odd_chat, g.telegram.world.shown(g.telegram.world.chat(OWNER))):
            said: Json = {"message_id": ODD, "date": 1, "chat": chat, "text": f"to {ODD}"}
            said["from"] = {"id": OWNER, "is_bot": False, "first_name": ODD}
            said["document"] = {"file_id": ODD, "file_unique_id": ODD, "file_name": ODD}
            g.telegram.world.publish("message", said)
        g.say("still there?")
        await g.hears("still there?")
        await handled(g)
        assert g.telegram.world.pending == []
        g.telegram.violations.clear()  # Telegram would not say such things


@pytest.mark.parametrize("error", [StoreError("refused"), ValueError("odd"), NotFound("gone")])
async def test_a_message_that_always_fails_is_put_aside_and_its_sender_told(
    database: str, error: Exception
) -> None:
    store = await of_choosy(database)
    store.error = error
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("poison")
        await g.chat.say("hello")
        await g.hears("so be it")
        [(_, _, details, _)] = await store.read(lambda tx: tx.directory.audits("failed update"))
        assert details["key"] == "'telegram:1:1'"
        assert len(g.chat.texts()) == 1


async def test_a_message_that_fails_once_is_taken_in(database: str) -> None:
    store = await of_choosy(database)
    store.times = 1
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("poison")
        await g.hears("so be it")


async def test_a_message_that_waits_for_the_store_is_never_given_up(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.turns.failures.STORE_PAUSE", 0.01)
    store = await of_choosy(database)
    store.error, store.times = StoreUnavailable("the disk is full"), 20
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("poison")
        await g.hears("so be it")
        assert await store.read(lambda tx: tx.directory.audits("failed update")) == []


async def test_a_message_that_fails_after_three_tries_is_in_the_inbox_as_failed(
    database: str,
) -> None:
    store = await of_choosy(database)
    store.times = 3
    async with gateway(ECHO, store=store) as g:
        message = await g.chat.say("poison")
        told = await g.hears("could not be taken in")
        assert "Its log says what" in told.text
        row = await store.read(lambda tx: tx.inbox.get(1))
        assert (row.key, row.state) == (message.key, InboxState.FAILED)
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def row_of(store: SqlStore, arrival: Arrival) -> int:
    def work(tx: Transaction) -> int:
        row = tx.inbox.receive(arrival)
        assert row is not None
        return row.id

    return await store.run(work)


@pytest.mark.parametrize(
    ("address", "payload"),
    [("telegram:1", {"odd": True}), ("nowhere", {}), ("", {}), ("telegram:", {})],
)
async def test_a_row_that_cannot_be_read_is_given_up_and_the_others_are_taken_up(
    store: SqlStore, address: str, payload: Json
) -> None:
    bad = await row_of(store, Arrival("bad", InboxKind.MESSAGE, address, payload))
    chat = RecordingAdapter(name="telegram")
    here, ann = Conversation("telegram", "1"), User("telegram", "1", "Ann")
    message = Message("good", here, ann, "/help", "7", private=True)
    await row_of(store, Arrival("good", InboxKind.MESSAGE, "telegram:1", asdict(message)))
    async with gateway(ECHO, store=store, chat=chat) as g:
        await g.hears("/undo")
        assert (await store.read(lambda tx: tx.inbox.get(bad))).state is InboxState.FAILED


async def test_a_turn_that_always_fails_is_given_up_and_what_came_after_is_answered(
    store: SqlStore,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("hello")
        await g.settled()
        session = await bound(store)
        bad = await row_of(
            store, Arrival("bad", InboxKind.MESSAGE, "telegram:1", {"odd": True}, session)
        )
        await g.chat.say("and now?")
        await g.hears("again and again")
        await g.hears("so be it", count=2)
        kept = await store.read(lambda tx: tx.inbox.get(bad))
        assert (kept.state, kept.payload) == (InboxState.FAILED, {"odd": True})


async def test_a_result_of_nothing_is_given_up(store: SqlStore) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("hello")
        await g.settled()
        session = await bound(store)
        for kind in (InboxKind.RESUME, InboxKind.RESULT, InboxKind.BACKGROUND):
            payload = {"question": 77, "delegation": 77}
            await row_of(store, Arrival(kind, kind, "telegram:1", payload, session))
        await g.chat.say("and now?")
        await g.hears("so be it", count=2)
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def test_a_parcel_that_cannot_be_sent_ends_no_delivery(store: SqlStore) -> None:
    def spoil(tx: Transaction) -> None:
        body = {"body": {"text": "x"}, "buttons": [], "nonce": "", "reply_to": "", "handle": ""}
        for address in ("telegram:", "telegram", "telegram:1"):
            tx.outbox.enqueue(OutboxDraft(address, "post", {"odd": 1}))
        tx.outbox.enqueue(OutboxDraft("telegram:1", "post", {**body, "file": 99}))

    await store.run(spoil)
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("hello")
        await g.hears("so be it")
        await g.settled()
        assert await store.read(lambda tx: tx.outbox.pending()) == []


async def test_a_platforms_odd_words_end_no_delivery(store: SqlStore) -> None:
    def refuse(outgoing: Outgoing) -> None:
        if getattr(outgoing, "conversation").chat == "2":  # noqa: B009
            raise Unreachable("blocked \ud800")

    chat = RecordingAdapter(name="telegram", before_delivery=refuse)
    async with gateway(ECHO, store=store, chat=chat) as g:
        await g.chat.say("hello", chat="2", user="2")
        await g.chat.say("hello")
        await g.hears("so be it")
        await g.settled()
        assert await store.read(lambda tx: tx.outbox.pending()) == []


async def test_a_question_that_cannot_be_looked_after_does_not_stop_the_others(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "TICK_EVERY", 0.01)

    def ask(tx: Transaction, kind: str) -> int:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        choices = (Choice("stop", "Stop"),)
        draft = QuestionDraft(
            kind, "May I?", choices, session, "telegram:1", {"delegation": 1}, expires=1.0
        )
        return tx.questions.create(draft).id

    broken = await store.run(partial(ask, kind="broken"))
    expired = await store.run(partial(ask, kind="other"))
    async with gateway(ECHO, store=store) as g:
        after = type(g.app.router.context.questions)._after

        def fail(self: object, tx: Transaction, question: int) -> None:
            if question == broken:
                raise NotFound("no such post")
            after(g.app.router.context.questions, tx, question)

        monkeypatch.setattr(type(g.app.router.context.questions), "_after", fail)
        async with asyncio.timeout(PATIENCE):
            while expired in [q.id for q in await store.read(lambda tx: tx.questions.open())]:
                await asyncio.sleep(0.01)
        await g.chat.say("hello")
        await g.hears("so be it")


class Forgetful(SqlStore):
    """Cannot read the outbox or note what was sent, as often as it is told."""

    error: Exception = StoreUnavailable("away")
    reads = 0
    notes = 0

    async def read(self, work: Callable[[Transaction], T]) -> T:
        return await super().read(partial(self._reading, work))

    def _reading(self, work: Callable[[Transaction], T], tx: Transaction) -> T:
        pending, get = tx.outbox.pending, tx.outbox.get

        def fail() -> None:
            if self.reads:
                self.reads -= 1
                raise self.error

        def pending_or_not(each: int = 1) -> list[OutboxRow]:
            fail()
            return pending(each)

        def get_or_not(row: int) -> OutboxRow:
            fail()
            return get(row)

        tx.outbox.pending = pending_or_not  # type: ignore[method-assign]
        tx.outbox.get = get_or_not  # type: ignore[method-assign]
        return work(tx)

    async def run(self, work: Callable[[Transaction], T]) -> T:
        def noting(tx: Transaction) -> T:
            def sent(row: int, message_id: str | None) -> None:
                raise self.error

            if self.notes:
                tx.outbox.sent = sent  # type: ignore[method-assign]
            return work(tx)

        return await super().run(noting)


@pytest.mark.parametrize("error", [StoreUnavailable("away"), NotFound("odd"), ValueError("odd")])
async def test_an_outbox_that_cannot_be_read_for_a_while_is_read_again(
    database: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.01)
    store = await Forgetful.open(database)
    assert isinstance(store, Forgetful)
    store.error, store.reads = error, 2
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("hello")
        await g.hears("so be it")
        assert store.reads == 0


async def test_a_message_whose_sending_the_store_will_not_note_is_sent_once(
    database: str,
) -> None:
    store = await Forgetful.open(database)
    assert isinstance(store, Forgetful)
    store.error, store.notes = NotFound("odd"), 1
    async with gateway(ECHO, store=store) as g:
        for count in (1, 2, 3):
            await g.chat.say("hello")
            await g.hears("so be it", count=count)
        await g.settled()
        assert len(g.chat.texts()) == 3
