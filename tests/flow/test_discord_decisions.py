"""Questions to people, pressed by whoever may and may not, on Discord."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from storage.records.entries import Json
from tests.flow.discord_gateway import (
    ANN,
    GONE,
    MALLORY,
    OLGA,
    TABLE,
    DiscordGateway,
    discord_gateway,
)
from tests.flow.telegram_gateway import ANSWER, call, report, results_in, says
from tests.stand_ins.discord_rest import Fail

DECIDED = "✅ olga: Stop"
ANYBODY = {"owners": ["discord:*"]}


async def asks(g: DiscordGateway) -> Json:
    g.tells("go")
    return await g.reads("May it be dead?")


async def result_of(g: DiscordGateway) -> Json:
    """The delegation's result, once the parent has answered to it."""
    await g.discord.wait_for(lambda: len(g.asked("parent")) > 1)
    return results_in(g.asked("parent")[-1].messages[-1]["content"])


async def audits(g: DiscordGateway) -> list[str]:
    return [what for what, *_ in await g.read(lambda tx: tx.directory.audits())]


async def test_a_press_decides_and_every_trace_of_the_buttons_goes(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        question = await asks(g)
        labels = list(g.discord.buttons(question))
        assert labels == ["Ok", "Odd", "Answer in words", "Try again", "Stop", "Other outcomes…"]
        press = g.discord.press(question, "Odd", OLGA)
        result = await result_of(g)
        assert (result["branch"], result["resolved_by"]) == ("odd", "human")
        await g.settled()
        assert press.answered == 6
        assert g.discord.buttons(question) == {}
        assert "olga: Odd" in question["content"]
        assert "May it be dead?" in question["content"]
        assert g.discord.whispers == []
        assert len(g.asked("worker")) == 1


async def test_a_question_that_the_overseer_wrote_into_a_text_has_its_options_as_buttons(
    tmp_path: Path,
) -> None:
    table = [{"condition": "There", "branch": "report"}, {"default": "ESCALATE"}]
    asking = {"question": "Which one is it?", "options": ["The red one", "The blue one"]}
    rules = [
        call("parent", "delegate_task", {"goal": "look", "branch_table": table}, last="go"),
        report("default", "default", "two of them"),
        says("overseer", f"A person must say.\n{json.dumps({'escalate_to_human': asking})}"),
        ANSWER,
    ]
    async with discord_gateway(tmp_path, rules) as g:
        g.tells("go")
        question = await g.reads("Which one is it?")
        g.discord.press(question, "The blue one", OLGA)
        result = await result_of(g)
        assert result["resolved_by"] == "human"
        assert "The blue one" in result["summary"]
        assert "default: 'ESCALATE' is read as escalate" in "\n".join(result["warnings"])
        assert len(g.asked("overseer")) == 1


async def test_a_press_from_a_stranger_changes_nothing_and_only_they_hear_it(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        g.mentions("go")
        question = await g.reads("May it be dead?", g.discord.general)
        for number, user in enumerate((MALLORY, ANN), 1):
            press = g.discord.press(question, "Stop", user)
            assert (await g.whispered(number)).startswith("You may not decide this")
            assert g.discord.whispers[-1].user.name == user
            assert press.answered == 6
        await g.settled()
        assert g.discord.buttons(question)
        assert await audits(g) == ["denied press", "denied press"]
        assert len(g.asked("parent")) == 1
        assert len(g.said(g.discord.general)) == 1


async def test_of_two_people_at_once_the_first_decides_and_the_other_is_told(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, GONE, access=ANYBODY) as g:
        g.mentions("go")
        question = await g.reads("May it be dead?", g.discord.general)
        g.discord.press(question, "Stop", ANN)
        g.discord.press(question, "Ok", OLGA)
        assert (await result_of(g))["summary"] == "ann stopped it."
        assert await g.whispered() == "ann: Stop"
        assert g.discord.whispers[0].user.name == OLGA
        await g.settled()
        assert await audits(g) == ["decision"]
        assert len(g.asked("parent")) == 2


async def test_of_a_crowd_that_presses_at_once_one_decides_and_each_other_is_told(
    tmp_path: Path,
) -> None:
    crowd = [f"person {number}" for number in range(20)]
    async with discord_gateway(tmp_path, GONE, access=ANYBODY) as g:
        g.mentions("go")
        question = await g.reads("May it be dead?", g.discord.general)
        for number, user in enumerate(crowd):
            g.discord.press(question, "Stop" if number % 2 else "Ok", user)
        await g.whispered(19)
        told = {whisper.user.name for whisper in g.discord.whispers}
        [(_, _, details, _)] = await g.read(lambda tx: tx.directory.audits("decision"))
        [winner] = set(crowd) - told
        assert {whisper.text.partition(": ")[0] for whisper in g.discord.whispers} == {winner}
        await g.reads("result: ", g.discord.general)
        await g.settled()
        assert f"{winner}: " in question["content"]
        assert details["choice"] in ("stop", "report:2:ok")


async def test_a_name_full_of_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    name = "**x** `y` @everyone <@1>\n# z [a](http://b)"
    async with discord_gateway(tmp_path, GONE, access=ANYBODY) as g:
        g.tells("go")
        question = await g.reads("May it be dead?")
        g.discord.press(question, "Stop", name)
        await g.reads("result: ")
        await g.settled()
        shown = question["content"].splitlines()[-1].replace("\\", "")
        for link in ("@everyone", "<@1>", "[a](http://b)"):
            assert f"`{link}`" in shown
            shown = shown.replace(f"`{link}`", link)
        assert shown == f"✅ {' '.join(name.split())}: Stop"


@pytest.mark.parametrize("custom_id", ["bough:", "bough:x", "bough:" + "x" * 94, "bough:😀\0"])
async def test_a_forged_custom_id_decides_nothing(tmp_path: Path, custom_id: str) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        question = await asks(g)
        g.discord.press_forged(question, custom_id, OLGA)
        assert "not valid any more" in await g.whispered()
        assert len(await g.read(lambda tx: tx.questions.open())) == 1
        assert await audits(g) == ["forged press"]


async def test_truncated_and_foreign_tokens_decide_nothing(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, access=ANYBODY) as g:
        question = await asks(g)
        token = g.discord.buttons(question)["Stop"]
        g.slash("help", ANN, g.discord.dm_of(ANN))
        elsewhere = await g.reads("/stop", g.discord.dm_of(ANN))
        g.discord.press_forged(question, token[:-1], OLGA)
        g.discord.press_forged(question, token + "A", OLGA)
        g.discord.press_forged(elsewhere, token, ANN)
        for number in (1, 2, 3):
            assert "not valid any more" in await g.whispered(number)
        assert len(await g.read(lambda tx: tx.questions.open())) == 1


async def test_a_press_on_a_question_that_is_over_says_what_became_of_it(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        question = await asks(g)
        token = g.discord.buttons(question)["Stop"]
        await g.answer(g.slash("stop"))
        await g.settled()
        assert g.discord.buttons(question) == {}
        g.discord.press_forged(question, token, OLGA)
        assert await g.whispered() == "Withdrawn."
        assert len(g.asked("parent")) == 1


async def test_a_question_that_nobody_decides_ends_as_configured(tmp_path: Path) -> None:
    policy = {"timeout": "0.3s", "on_timeout": "failed"}
    async with discord_gateway(tmp_path, GONE, escalation=policy) as g:
        question = await asks(g)
        posted = next(r.payload for r in g.sent() if r.payload.get("components"))
        token = g.discord.buttons(posted)["Stop"]
        result = await result_of(g)
        assert (result["status"], result["exit_reason"]) == ("failed", "expired")
        await g.settled()
        assert g.discord.buttons(question) == {}
        g.discord.press_forged(question, token, OLGA)
        assert await g.whispered() == "Nobody decided in time: failed."


async def test_a_level_in_a_channel_and_one_in_private_get_their_copies(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, started=False) as g:
        desk = g.discord.world.channel("decisions")
        ann = g.identity(ANN)
        g.config["escalation"] = {
            "levels": [
                {"to": f"discord:{desk.id}"},
                {"to": f"discord:user:{ann.partition(':')[2]}", "approvers": ann, "after": "0.2s"},
            ]
        }
        await g.start()
        g.mentions("go")
        private = g.discord.dm_of(ANN)
        copies = [
            await g.reads("May it be dead?", place) for place in (g.discord.general, desk, private)
        ]
        g.discord.press(copies[2], "Stop", ANN)
        assert (await result_of(g))["summary"] == "ann stopped it."
        await g.reads("result: ", g.discord.general)
        await g.settled()
        for copy in copies:
            assert g.discord.buttons(copy) == {}
            assert "ann: Stop" in copy["content"]
        assert len(g.said(private)) == len(g.said(desk)) == 1


async def test_a_level_that_cannot_be_reached_keeps_nobody_from_deciding(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, started=False) as g:
        closed = g.discord.world.channel("closed")
        closed.forbidden = True
        to = [f"discord:{closed.id}", "discord:123456", "discord:user:654321"]
        g.config["escalation"] = {"levels": [{"to": to}]}
        await g.start()
        question = await asks(g)
        await g.settled()
        assert await audits(g) == ["undelivered"] * 3
        g.discord.press(question, "Stop", OLGA)
        await g.reads("result: ")
        await g.settled()
        assert g.discord.buttons(question) == {}
        assert await g.read(lambda tx: tx.outbox.pending()) == []


async def test_an_open_question_outlives_the_bot_and_its_buttons_work(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        question = await asks(g)
        await g.settled()
        await g.stop()
        await g.start()
        g.discord.press(question, "Stop", OLGA)
        await g.reads("result: ")
        await g.settled()
        assert g.discord.buttons(question) == {}
        assert len(g.asked("worker")) == 1
        assert len(g.said()) == 2


async def test_talk_goes_on_in_the_thread_that_waits(tmp_path: Path) -> None:
    rules = [*GONE[:2], {"when": {"last": "hello"}, "reply": {"text": "still here"}}, ANSWER]
    async with discord_gateway(tmp_path, rules) as g:
        thread = g.discord.thread("page")
        g.mentions("go", place=thread)
        question = await g.reads("May it be dead?", thread)
        g.mentions("hello?", ANN, thread)
        await g.reads("still here", thread)
        g.discord.press(question, "Stop", OLGA)
        shown = await g.reads("rejected", thread)
        assert "result: " in shown["content"]


@pytest.mark.parametrize(
    ("goal", "length", "more"), [(9, 100, 0), (120, 600, 0)], ids=["short", "long"]
)
async def test_a_long_question_keeps_its_text_when_it_is_decided(
    tmp_path: Path, goal: int, length: int, more: int
) -> None:
    """As long as questions get, in characters that take two units of the limit each; the one in the
    middle leaves no room in its message for the decision."""
    rules = [
        call("parent", "delegate_task", {"goal": "g" * goal, "branch_table": TABLE}, last="go$"),
        report("default", "default", "😎" * length, observed_state="🙈" * length),
        call("overseer", "escalate_to_human", {"question": "😀" * length, "options": ["x" * 80]}),
        ANSWER,
    ]
    async with discord_gateway(tmp_path, rules) as g:
        g.tells("go")
        await g.discord.wait_for(lambda: any(map(g.discord.buttons, g.home.messages)))
        asked = g.said()
        question = g.home.messages[-1]
        g.discord.press(question, "Stop", OLGA)
        await g.reads("result: ")
        await g.settled()
        said = [text for text in g.said() if "result: " not in text]
        assert len(said) == len(asked) + more
        kept = re.sub(r"\n\n- \*\*.*?(?=\n\n)", "", "".join(asked), flags=re.DOTALL)
        both = ["".join(asked), kept]
        assert "".join(said) in [text + gap + DECIDED for text in both for gap in ("", "\n\n")]
        assert g.discord.buttons(question) == {}


async def test_a_closing_edit_that_fails_at_first_is_made_again(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        question = await asks(g)
        g.discord.inject("PATCH", "/messages/", Fail(503), times=2)
        g.discord.press(question, "Stop", OLGA)
        await g.reads("olga: Stop")
        await g.reads("result: ")


async def test_twenty_questions_at_once_each_get_their_own_decision(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, started=False) as g:
        places = [g.discord.world.channel(f"room-{number}") for number in range(20)]
        await g.start()
        for place in places:
            g.mentions("go", place=place)
        questions = await asyncio.gather(*(g.reads("May it be dead?", place) for place in places))
        for number, question in enumerate(questions):
            g.discord.press(question, "Stop" if number % 2 else "Ok", OLGA)
        for number, place in enumerate(places):
            shown: Any = await g.reads("result: ", place)
            assert ("rejected" if number % 2 else "completed") in shown["content"]
            assert len(g.said(place)) == 2
