"""What Telegram and Discord show of delegations and of branches that are left."""

from pathlib import Path

from storage.records.entries import Json
from tests.flow.discord_gateway import discord_gateway
from tests.flow.on_discord import press as press_there
from tests.flow.on_discord import slash, talk
from tests.flow.on_telegram import give, press
from tests.flow.telegram_gateway import ANSWER, call, says, telegram_gateway

LINES = [f"{number}. café & <b> *line*" for number in range(90)]
TASK = {"goal": "find files", "acceptance_criteria": "It names three."}
VERDICT = {"verdict": "FAIL", "reasoning": "only two"}
JUDGED: list[Json] = [
    call("parent", "delegate_task", TASK, last="(^|: )go$"),
    # The judge's model is the worker's.
    call("worker", "give_verdict", VERDICT, system="INCONCLUSIVE"),
    says("worker", "\n".join(LINES)),
    ANSWER,
]
WAITING: list[Json] = [
    {
        "when": {"tier": "parent", "last": "(^|: )go$"},
        "reply": {
            "tool_calls": [
                {"name": "delegate_task", "arguments": {"goal": goal}} for goal in ("one", "two")
            ]
        },
    },
    {"when": {"tier": "worker"}, "reply": {"text": "never", "delay": 60}},
    ANSWER,
]
ONE_AT_A_TIME: Json = {"max_concurrent_children": 1}
ECHO = [
    {"when": {"system": "^You condense a branch"}, "reply": {"text": "in short"}},
    says("parent", "re: {last}"),
]
OFFER = "Bring a summary along"


async def test_telegram_shows_a_fail_and_whole_turns_in_pages(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, JUDGED) as g:
        g.say("go")
        await g.hears("result: ")
        await g.settled()
        (shown,) = await give(g, "/agents")
        assert shown["text"].startswith("❌ #1 find files\nended · judge: FAIL")
        (page,) = await give(g, "/agents 1")
        seen = page["text"]
        while "Next ▶" in g.telegram.labels(page):
            await press(g, page, "Next")
            seen += page["text"]
        assert all(line in seen for line in LINES)


async def test_discord_shows_a_fail_and_whole_turns_in_pages(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, JUDGED) as g:
        g.tells("go")
        await g.reads("result: ")
        shown = await slash(g, "agents")
        assert shown["content"].startswith("❌ #1 find files\nended · judge: FAIL")
        page = await slash(g, "agents", "1")
        seen = page["content"]
        while "Next ▶" in g.discord.buttons(page):
            await press_there(g, page, "Next")
            seen += page["content"]
        assert all(line in seen for line in LINES)


async def test_in_telegram_one_that_waits_for_a_place_is_stopped(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, WAITING, delegation=ONE_AT_A_TIME) as g:
        g.say("go")
        await g.telegram.wait_for(lambda: g.asked("worker"))
        g.say("/agents")
        shown = await g.hears("\nqueued")
        assert g.telegram.labels(shown) == ["Pause agent 1", "Stop agent 1", "Stop agent 2"]
        g.press(shown, "Stop agent 2")
        shown = await g.hears("⏹ #2 two\ninterrupted")
        g.press(shown, "Stop agent 1")
        await g.hears("result: ")


async def test_on_discord_one_that_waits_for_a_place_is_stopped(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, WAITING, delegation=ONE_AT_A_TIME) as g:
        g.tells("go")
        await g.discord.wait_for(lambda: g.asked("worker"))
        shown = await g.answer(g.slash("agents"))
        assert list(g.discord.buttons(shown)) == ["Pause agent 1", "Stop agent 1", "Stop agent 2"]
        g.discord.press(shown, "Stop agent 2", "olga")
        shown = await g.reads("⏹ #2 two\ninterrupted")
        g.discord.press(shown, "Stop agent 1", "olga")
        await g.reads("result: ")


async def test_telegram_offers_a_summary_after_an_arrow(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await give(g, "one")
        (answer,) = await give(g, "/retry")
        await give(g, "two")
        await press(g, answer, "◀")
        assert g.telegram.labels(answer) == ["◀", "1/2", "▶", OFFER]
        await press(g, answer, OFFER)
        await g.hears("stands at #6")
        assert answer["text"] == "re: one"


async def test_discord_offers_a_summary_after_an_arrow_and_undo(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "one")
        answer = await slash(g, "retry")
        answer = await g.reads("re: one", count=2)
        await talk(g, "two")
        await press_there(g, answer, "◀")
        assert list(g.discord.buttons(answer)) == ["◀", "1/2", "▶", OFFER]
        await press_there(g, answer, OFFER)
        await g.reads("stands at #6")
        undone = await slash(g, "undo")
        assert OFFER in g.discord.buttons(undone)
