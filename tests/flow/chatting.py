"""What the tests of sessions in chats share."""

import asyncio
from typing import Any

from adapters.base import Outgoing, Post
from adapters.recording import RecordingAdapter, Shown
from agent.models.base import Reply, Request
from storage.store import Store
from tests.flow.conftest import Gateway, SpyModel

ECHO = [{"when": {"tier": "parent"}, "reply": {"text": "so be it"}}]
GROUP = "-100"


class SlowModel(SpyModel):
    """Waits with the answer to what holds a word until it may go on."""

    def __init__(self, rules: list[dict[str, Any]], word: str = "slow") -> None:
        super().__init__(rules)
        self._word = word
        self.began = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        if self._word in str(request.messages[-1]["content"]):
            self.began.set()
            await self.may_go_on.wait()
        return await super().complete(request)


class Flaky(RecordingAdapter):
    """Raises what it is given, once each, before it delivers posts."""

    def __init__(self, *faults: Exception) -> None:
        super().__init__(name="telegram")
        self.faults = list(faults)
        self.before_delivery = self._fail
        self.tried: list[Post] = []

    def _fail(self, outgoing: Outgoing) -> None:
        if not isinstance(outgoing, Post):
            return
        self.tried.append(outgoing)
        if self.faults:
            raise self.faults.pop(0)


async def talk(g: Gateway, text: str, *, chat: str = "1", user: str = "1") -> None:
    """Say something and have the answer."""
    await g.chat.say(text, chat=chat, user=user, private=not chat.startswith("-"))
    await g.settled()


async def command(g: Gateway, text: str, *, chat: str = "1", user: str = "1") -> Shown:
    """Give a command; the newest message of the chat once it is answered."""
    await g.chat.say(text, chat=chat, user=user, private=not chat.startswith("-"))
    await g.settled()
    return newest(g, chat)


async def press(g: Gateway, shown: Shown, label: str, *, user: str = "1") -> Shown:
    await g.chat.press(shown, label, user=user)
    await g.settled()
    return shown


def newest(g: Gateway, chat: str = "1") -> Shown:
    return [s for s in g.chat.shown.values() if s.conversation.chat == chat][-1]


def labels(shown: Shown) -> list[str]:
    return [button.label for button in shown.buttons]


async def bound(store: Store, chat: str = "1") -> int | None:
    return await store.read(lambda tx: tx.directory.conversation(f"telegram:{chat}"))
