"""One message says what a turn is doing, and is folded away at its end."""

import asyncio
import itertools
from typing import Any

import pytest

from adapters.base import Edit, Outgoing, Post, Throttled, Unavailable
from adapters.recording import RecordingAdapter
from agent.tools.base import Call, Done, Effects, Traits
from gateway.outbound.live_messages import post_live
from gateway.status import progress, signs_of_life
from storage.records.chats.live_messages import LiveKind
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.store import Store, Transaction
from tests.flow.conftest import PATIENCE, gateway

RULES: list[dict[str, Any]] = [
    {
        "when": {"turn": 0},
        "reply": {
            "tool_calls": [{"name": "dig", "arguments": {}}],
            "usage": {"input": 9, "output": 9},
        },
    },
    {"reply": {"text": "It is dug."}},
]


class Dig:
    """A tool that works until it is told to end."""

    name, description = "dig", "Digs."
    traits = Traits(Effects.READS)

    def __init__(self) -> None:
        self.parameters: Json = {"type": "object", "properties": {}}
        self.end = asyncio.Event()

    async def run(self, call: Call) -> Done:
        async with asyncio.timeout(PATIENCE):
            await self.end.wait()
        return Done("dug")


async def test_a_tool_that_runs_long_is_named_and_folded_away(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.05)
    tool = Dig()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        await g.chat.say("go")
        shown = await g.hears("🔧 dig · ")
        assert "working for " in shown.text
        tool.end.set()
        await g.hears("It is dug.")
        await g.settled()
        assert [one.text for one in g.chat.shown.values()] == [progress.OVER_ALONE, "It is dug."]
        assert len([one for one in g.chat.outgoing if isinstance(one, Post)]) == 2
        assert await store.read(lambda tx: tx.live_messages.of(range(50))) == []


async def test_an_edit_that_fails_is_made_up_for_by_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.05)
    left: list[Exception] = [Unavailable("gone for a moment"), Throttled(0.05)]
    edits = itertools.count()
    monkeypatch.setattr(signs_of_life, "age", lambda _: f"{next(edits)} steps")

    def before(outgoing: Outgoing) -> None:
        if isinstance(outgoing, Edit) and left:
            raise left.pop(0)

    tool = Dig()
    chat = RecordingAdapter(name="telegram", before_delivery=before)
    async with gateway(RULES, store=store, tools=[tool], chat=chat) as g:
        await g.chat.say("go")
        begun = await g.hears("🔧 dig")
        first = begun.text
        async with asyncio.timeout(PATIENCE):
            while g.chat.shown[begun.id].text == first:
                await asyncio.sleep(0.01)
        assert left == [] and "🔧 dig" in g.chat.shown[begun.id].text
        tool.end.set()
        await g.hears("It is dug.")


async def test_a_turn_that_is_soon_over_says_nothing_of_it(store: Store) -> None:
    tool = Dig()
    tool.end.set()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        await g.chat.say("go")
        await g.hears("It is dug.")
        await g.settled()
        assert len(g.chat.shown) == 1


async def test_what_a_killed_gateway_left_is_folded_away_at_the_next_start(store: Store) -> None:
    def killed(tx: Transaction) -> None:
        row = tx.inbox.receive(Arrival("k", InboxKind.MESSAGE, "telegram:1", {}))
        assert row is not None
        post_live(tx, LiveKind.STATUS, row.id, "telegram:1", {"text": "🔧 dig · 5 min"})
        tx.inbox.finish([row.id])

    await store.run(killed)
    async with gateway(RULES, store=store) as g:
        await g.hears("✔ Done.")
        assert [one.text for one in g.chat.shown.values()] == ["✔ Done."]
