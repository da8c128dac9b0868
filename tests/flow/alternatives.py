"""What the tests of alternatives share."""

import asyncio
from typing import Any

from adapters.base import Acknowledge
from adapters.recording import Shown
from storage.records.entries import Entry
from storage.store import Store
from tests.flow.conftest import PATIENCE, Gateway

Rules = list[dict[str, Any]]


def numbered(*texts: str, last: str = ".") -> Rules:
    """Each is answered once, in this order, to a last message that fits."""
    return [{"when": {"last": last}, "times": 1, "reply": {"text": text}} for text in texts]


ECHO: Rules = [{"reply": {"text": "you said: {last}"}}]


async def talk(g: Gateway, text: str, answer: str) -> Shown:
    """Say something, and wait for the answer and for everything else to end."""
    await g.chat.say(text)
    shown = await g.hears(answer)
    await g.settled()
    return shown


async def is_told(g: Gateway, text: str) -> None:
    """Wait until a presser alone is told something."""

    def told(_: list[Shown]) -> bool:
        return any(isinstance(out, Acknowledge) and out.text == text for out in g.chat.outgoing)

    async with asyncio.timeout(PATIENCE):
        await g.chat.wait_for(told)


def labels(shown: Shown) -> list[str]:
    return [button.label for button in shown.buttons]


def contents(g: Gateway) -> list[str]:
    """What the newest request to the model says, without the system message."""
    return [str(message["content"]) for message in g.model.requests[-1].messages[1:]]


async def path(store: Store, address: str = "telegram:1") -> list[str]:
    """The texts of the messages on the path of a conversation."""
    entries = await path_entries(store, address)
    return [str(e.body["content"]) for e in entries if e.kind.value == "message"]


async def path_entries(store: Store, address: str = "telegram:1") -> tuple[Entry, ...]:
    def read(tx: Any) -> tuple[Entry, ...]:
        session = tx.directory.conversation(address)
        found: tuple[Entry, ...] = tx.tree.path(tx.tree.session(session).leaf)
        return found

    return await store.read(read)
