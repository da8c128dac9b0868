"""Answers of more messages than anybody wants: the beginning, and the whole as a file."""

import asyncio
from pathlib import Path
from typing import Any

from adapters.base import Outgoing, Post, Unavailable
from adapters.recording import RecordingAdapter, Shown
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import PATIENCE, gateway
from tests.flow.discord_gateway import discord_gateway
from tests.flow.on_discord import files, talk
from tests.flow.on_telegram import handled, refused
from tests.flow.telegram_gateway import OWNER, says, telegram_gateway

LONG = "\n\n".join(
    f"Paragraph {n} of a very long answer. " + "words and words " * 30 for n in range(400)
)
RULES: list[dict[str, Any]] = [
    {"when": {"last": "^long"}, "reply": {"text": LONG}},
    {"reply": {"text": "re: {last}"}},
]


def whole(shown: Shown) -> str:
    assert shown.upload is not None
    return shown.upload.data.decode()


async def test_a_long_answer_is_its_beginning_and_a_file_with_the_whole(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await g.chat.say("long")
        last = await g.hears("the whole text is in this file")
        await g.settled()
        first, _ = g.chat.shown.values()
        assert first.text == LONG[: g.chat.limit]
        assert whole(last) == LONG
        assert last.upload is not None and last.upload.name == "answer.md"


async def test_an_answer_of_just_as_many_messages_is_no_file(store: Store) -> None:
    config = {"session": {"max_answer_messages": 3}}
    chat = RecordingAdapter(name="telegram", limit=100)
    rules = [
        {"when": {"last": "^three"}, "reply": {"text": "a" * 300}},
        {"when": {"last": "^four"}, "reply": {"text": "b" * 301}},
    ]
    async with gateway(rules, store=store, config=config, chat=chat) as g:
        await g.chat.say("three")
        await g.hears("a" * 100, count=3)
        await g.chat.say("four")
        await g.hears("more than 3 messages")
        assert [one.upload is None for one in chat.shown.values()][:4] == [True] * 4


async def test_the_file_of_a_long_answer_carries_its_buttons(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await g.chat.say("hello")
        await g.hears("re: hello")
        await g.chat.say("/undo")
        await g.settled()
        await g.chat.say("long")
        last = await g.hears("the whole text is in this file")
        assert [button.label for button in last.buttons] == ["◀", "2/2", "▶"]


async def test_after_a_crash_between_both_are_there_once(database: str) -> None:
    chat = RecordingAdapter(name="telegram")
    held = asyncio.Event()

    def hold(outgoing: Outgoing) -> None:
        if isinstance(outgoing, Post) and outgoing.upload is not None:
            held.set()
            raise Unavailable("away")

    chat.before_delivery = hold
    async with gateway(RULES, store=await SqlStore.open(database), chat=chat) as g:
        await g.chat.say("long")
        async with asyncio.timeout(PATIENCE):
            await held.wait()
    assert len(chat.shown) == 1
    chat.before_delivery = None
    async with gateway(RULES, store=await SqlStore.open(database), chat=chat) as g:
        last = await g.hears("the whole text is in this file")
        await g.settled()
        assert len(chat.shown) == 2
        assert whole(last) == LONG


async def test_a_long_command_output_is_a_file_too(store: Store) -> None:
    chat = RecordingAdapter(name="telegram", limit=40)
    config = {"session": {"max_answer_messages": 2}}
    async with gateway(RULES, store=store, config=config, chat=chat) as g:
        await g.chat.say("/help")
        await g.settled()
        (kept,) = [one for one in chat.shown.values() if one.upload is not None]
        assert "/undo" in whole(kept)


async def test_telegram_takes_the_file_of_a_long_answer(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [says("parent", LONG)]) as g:
        g.say("long")
        await g.hears("the whole text is in this file")
        await handled(g)
        *_, last = g.telegram.messages(OWNER)
        kept = g.telegram.file(last)
        assert kept is not None
        assert kept.content.decode() == LONG
        parts = [call.params["text"] for call in g.telegram.calls("sendMessage")]
        assert 1 <= len(parts) <= 20 and len(set(parts)) == len(parts)  # those that were full
        assert [one for one in refused(g) if "not modified" not in one] == []


async def test_discord_takes_the_file_of_a_long_answer(tmp_path: Path) -> None:
    whole = {"stream": False}  # else what is shown meanwhile stays, too
    async with discord_gateway(tmp_path, [says("parent", LONG)], session=whole) as g:
        last = await talk(g, "long")
        assert "the whole text is in this file" in last["content"]
        assert len(g.said()) == 2
        assert files(g, last)["answer.md"].decode() == LONG
