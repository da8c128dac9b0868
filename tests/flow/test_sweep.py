"""What was taken in and not worked off is taken up again: before what is new, and once."""

import asyncio
from dataclasses import asdict
from functools import partial

from adapters.events import Conversation, File, Message, User
from adapters.recording import RecordingAdapter
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
)
from storage.store import Store, Transaction
from tests.flow.chatting import ECHO, SlowModel
from tests.flow.conftest import PATIENCE, gateway

FILE = File("document", "session.jsonl", 0)
CONTENT = b'[{"role": "user", "content": "from a file"}]'


class LateAdapter(RecordingAdapter):
    """Needs a while to start."""

    async def start(self) -> str:
        await asyncio.sleep(0.2)
        return await super().start()


class SlowFiles(RecordingAdapter):
    """Waits with every file until it may be given."""

    def __init__(self) -> None:
        super().__init__(name="telegram")
        self.asked = asyncio.Event()
        self.may_be_given = asyncio.Event()

    async def fetch(self, ref: str, limit: int) -> bytes:
        self.asked.set()
        await self.may_be_given.wait()
        return await super().fetch(ref, limit)


async def take_in(store: Store, number: int, text: str, *files: File) -> None:
    """As a process does it that dies right after that."""
    message = Message(
        key=f"telegram:1:m{number}",
        conversation=Conversation("telegram", "1"),
        user=User("telegram", "1", "User 1"),
        text=text,
        message_id=f"m{number}",
        private=True,
        files=files,
    )
    arrival = Arrival(message.key, InboxKind.MESSAGE, message.conversation.address, asdict(message))
    await store.run(partial(_receive, arrival=arrival))


def _receive(tx: Transaction, arrival: Arrival) -> None:
    tx.inbox.receive(arrival)


async def test_a_command_waits_for_its_platform_and_comes_before_what_is_new(
    store: Store,
) -> None:
    chat = LateAdapter(name="telegram", contents={FILE.ref: CONTENT})
    await take_in(store, 1, "/import", FILE)
    async with gateway(ECHO, store=store, chat=chat) as g:
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []
        assert (await g.hears("Taken in")).conversation.chat == "1"


async def test_a_command_that_was_done_while_the_sweep_was_busy_is_not_begun_again(
    store: Store,
) -> None:
    chat, model = SlowFiles(), SlowModel(ECHO)
    async with gateway(store=store, chat=chat, model=model) as g, asyncio.timeout(PATIENCE):
        await take_in(store, 1, "/import", FILE)
        await take_in(store, 2, "/new")
        busy = asyncio.create_task(g.app.router.sweep())
        await chat.asked.wait()
        await g.app.router.sweep()
        await g.chat.say("slow")
        await model.began.wait()
        chat.may_be_given.set()
        await busy
        model.may_go_on.set()
        await g.settled()
        assert len(chat.texts()) == 3
        assert "so be it" in chat.texts()
