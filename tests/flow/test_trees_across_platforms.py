"""One session in Telegram and on Discord at the same time."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from storage.records.entries import Json
from tests.flow import on_discord, on_telegram
from tests.flow.discord_gateway import ANN, OLGA, DiscordGateway, discord_gateway
from tests.flow.telegram_gateway import OWNER, says

ECHO = [says("parent", "re: {last}")]
SLOW = {"when": {"tier": "parent", "last": "slow"}, "reply": {"text": "late", "delay": 1}}
ANN_THERE = 1002
"""Ann in Telegram."""


async def attached(g: DiscordGateway) -> None:
    """Olga takes her conversation of Telegram to Discord."""
    code = code_in((await on_telegram.ask(g, "/attach"))["text"])
    arrived = await on_discord.slash(g, "attach", code)
    assert arrived["content"].startswith("You are in “")
    assert "Another chat is in it too" in arrived["content"]


@asynccontextmanager
async def shared(folder: Path, rules: list[Json]) -> AsyncIterator[DiscordGateway]:
    """With two exchanges, #1 to #4."""
    async with discord_gateway(folder, rules, telegram=True) as g:
        await on_telegram.talk(g, "one", "two")
        await attached(g)
        yield g


async def test_what_was_said_on_one_platform_is_gone_on_with_on_the_other(tmp_path: Path) -> None:
    async with shared(tmp_path, ECHO) as g:
        shown = await on_discord.talk(g, "three")
        assert shown["content"] == "re: three"
        assert len(g.texts()) == 3
        assert len(g.asked("parent")[-1].messages) == 6
        assert (await on_telegram.ask(g, "four"))["text"] == "re: four"
        assert len(g.said()) == 2
        assert await on_discord.path(g) == await on_telegram.path(g)


async def test_a_move_on_one_platform_holds_on_the_other(tmp_path: Path) -> None:
    async with shared(tmp_path, ECHO) as g:
        await on_telegram.ask(g, "/undo")
        await on_discord.talk(g, "zwei")
        assert await on_telegram.path(g) == ["one", "re: one", "zwei", "re: zwei"]
        shown = await on_discord.slash(g, "tree")
        assert shown["attachments"]
        assert "● " in on_discord.newest(g)["content"]


async def test_both_talk_at_once_and_each_is_answered_in_its_own_chat(tmp_path: Path) -> None:
    async with shared(tmp_path, [SLOW, *ECHO]) as g:
        g.say("slow")
        g.tells("on discord")
        await g.hears("late")
        await g.reads("re: on discord")
        await g.settled()
        assert [text for text in g.said() if "late" in text] == []
        path = await on_telegram.path(g)
        assert len(path) == 8
        assert path[4::2] in (["slow", "on discord"], ["on discord", "slow"])


async def test_of_two_who_move_at_once_on_two_platforms_one_wins_and_the_other_is_told(
    tmp_path: Path,
) -> None:
    async with shared(tmp_path, ECHO) as g:
        first = await on_telegram.ask(g, "/branch")
        second = await on_discord.slash(g, "branch")
        g.press(first, "#2 🤖 re: one")
        g.discord.press(second, "#3 👤 two", OLGA)
        await g.discord.wait_for(lambda: "Go back" not in second["content"] + first["text"])
        await on_telegram.handled(g)
        moves = await leaf_moves(g)
        assert [m["from"] for m in moves[1:]] == [m["to"] for m in moves[:-1]]


async def test_a_label_given_on_one_platform_leads_back_on_the_other(tmp_path: Path) -> None:
    async with shared(tmp_path, ECHO) as g:
        await on_discord.slash(g, "label", "the start #2")
        shown = await on_telegram.ask(g, "/goto the start")
        assert shown["text"].startswith("You are after #2 🤖 re: one")
        await on_telegram.press(g, shown, "↩ Back")
        found = await on_discord.slash(g, "search", "two")
        assert "#4" in found["content"]


async def test_a_reply_and_an_edit_are_known_on_the_platform_they_come_from(tmp_path: Path) -> None:
    async with shared(tmp_path, ECHO) as g:
        message = g.tells("three")
        await g.reads("re: three")
        await g.settled()
        g.discord.edit(message, "drei")
        await g.reads("re: drei")
        await g.settled()
        assert (await on_telegram.path(g))[4:] == ["drei", "re: drei"]
        older = g.telegram.messages(OWNER)[0]
        shown = await on_telegram.ask(g, "about one", reply_to=older)
        assert g.telegram.labels(shown) == ["Branch from there"]


async def test_somebody_elses_turn_is_not_ended_from_another_platform(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [SLOW, *ECHO], telegram=True, started=False) as g:
        g.config["access"]["allow"] += [f"telegram:{ANN_THERE}"]
        await g.start()
        place = g.discord.dm_of(ANN)
        await on_discord.talk(g, "one", user=ANN, place=place)
        code = code_in((await on_discord.slash(g, "attach", user=ANN, place=place))["content"])
        await on_telegram.ask(g, f"/attach {code}", chat=ANN_THERE)
        g.say("slow", chat=ANN_THERE)
        await g.discord.wait_for(lambda: "slow" in str(g.asked("parent")[-1].messages[-1]))
        shown = await g.answer(g.discord.slash(place, ANN, "undo"))
        assert shown["content"].startswith("Somebody else's turn is running here")
        await g.hears("late", chat=ANN_THERE)


def code_in(text: str) -> str:
    found = re.search(r"/attach ([\w-]+)", text)
    assert found is not None
    return found[1]


async def leaf_moves(g: DiscordGateway) -> list[Json]:
    session = await g.read(lambda tx: tx.directory.conversation(f"telegram:{OWNER}"))
    assert session is not None
    moves = await g.read(lambda tx: tx.tree.leaf_moves(session))
    return [{"from": move.source, "to": move.target} for move in moves]
