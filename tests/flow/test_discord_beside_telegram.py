"""One gateway, one database, two platforms: a question of one decided on the other."""

import asyncio
from pathlib import Path
from typing import Any

from storage.records.entries import Json
from tests.flow.discord_gateway import (
    ANN,
    GONE,
    OLGA,
    DiscordGateway,
    delegates,
    discord_gateway,
)
from tests.flow.telegram_gateway import ANSWER, OWNER, report, says
from tests.stand_ins.discord_rest import Fail

ECHO = [says("parent", "you said: {last}")]
TELEGRAM = f"telegram:{OWNER}"


def levels(*to: str) -> Json:
    return {"levels": [{"to": list(to)}]}


def no_buttons(g: DiscordGateway, *, discord: Json, telegram: Json) -> bool:
    return g.discord.buttons(discord) == {} and g.telegram.labels(telegram) == []


async def test_each_platform_has_its_own_conversations(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, telegram=True) as g:
        g.tells("on discord")
        g.say("on telegram")
        await g.reads("you said: on discord")
        await g.hears("you said: on telegram")
        assert [len(request.messages) for request in g.asked("parent")] == [2, 2]


async def test_a_question_of_discord_is_decided_in_telegram(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, telegram=True, escalation=levels(TELEGRAM)) as g:
        g.mentions("go", ANN)
        question = await g.reads("May it be dead?", g.discord.general)
        copy = await g.hears("May it be dead?")
        g.press(copy, "Odd")
        shown = await g.reads("result: ", g.discord.general)
        assert "completed" in shown["content"]
        await g.settled()
        assert no_buttons(g, discord=question, telegram=copy)
        assert "Olga: Odd" in question["content"]
        assert "Olga: Odd" in copy["text"]
        assert g.texts() == [copy["text"]]


async def test_a_question_of_telegram_is_decided_in_discord(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, telegram=True, started=False) as g:
        desk = g.discord.world.channel("decisions")
        user = g.identity(OLGA).partition(":")[2]
        g.config["escalation"] = levels(f"discord:{desk.id}", f"discord:user:{user}")
        await g.start()
        g.say("go")
        question = await g.hears("May it be dead?")
        private = await g.reads("May it be dead?")
        copy = await g.reads("May it be dead?", desk)
        g.discord.press(private, "Stop", OLGA)
        assert "rejected" in (await g.hears("result: "))["text"]
        await g.settled()
        assert no_buttons(g, discord=private, telegram=question)
        assert g.discord.buttons(copy) == {}
        assert "olga: Stop" in question["text"]
        assert len(g.said()) == len(g.said(desk)) == 1


async def test_of_presses_on_both_platforms_at_once_one_decides(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, telegram=True, escalation=levels(TELEGRAM)) as g:
        for count in range(1, 6):
            g.tells("go")
            question = await g.reads("May it be dead?", count=count)
            copy = await g.hears("May it be dead?", count=count)
            g.discord.press(question, "Stop", OLGA)
            g.press(copy, "Ok")
            await g.reads("result: ", count=count)
            told = await g.told(count)
            await g.settled()
            assert no_buttons(g, discord=question, telegram=copy)
            in_discord = "olga: Stop" in question["content"]
            assert (told == "olga: Stop") is in_discord
            assert ("olga: Stop" in copy["text"]) is in_discord
        decisions = await g.read(lambda tx: tx.directory.audits("decision"))
        assert len(decisions) == 5
        assert len(g.asked("parent")) == 10


async def test_a_token_of_one_platform_is_worth_nothing_on_the_other(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, telegram=True, escalation=levels(TELEGRAM)) as g:
        g.tells("go")
        question = await g.reads("May it be dead?")
        copy = await g.hears("May it be dead?")
        token = g.discord.buttons(question)["Stop"]
        g.telegram.forge(copy, token.removeprefix("bough:"), OWNER)
        assert "not valid any more" in await g.told()
        stolen = copy["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
        g.discord.press_forged(question, f"bough:{stolen}", OLGA)
        assert "not valid any more" in await g.whispered()
        assert len(await g.read(lambda tx: tx.questions.open())) == 1


async def test_a_question_survives_a_restart_on_both_platforms(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, telegram=True, escalation=levels(TELEGRAM)) as g:
        g.tells("go")
        question = await g.reads("May it be dead?")
        copy = await g.hears("May it be dead?")
        await g.settled()
        await g.stop()
        await g.start()
        g.press(copy, "Stop")
        await g.reads("result: ")
        await g.settled()
        assert no_buttons(g, discord=question, telegram=copy)
        assert (len(g.said()), len(g.texts())) == (2, 1)


async def test_while_discord_is_away_telegram_is_served_and_discord_catches_up(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, GONE, telegram=True, started=False) as g:
        desk = g.discord.world.channel("decisions")
        g.config["escalation"] = levels(f"discord:{desk.id}")
        g.discord.inject("GET", "/users/@me", Fail(503), times=999)
        starting = asyncio.create_task(g.start())
        g.say("go")
        question = await g.hears("May it be dead?")
        assert not starting.done()
        assert g.said(desk) == []
        g.discord.rest.injections.clear()
        await starting
        copy = await g.reads("May it be dead?", desk)
        g.discord.press(copy, "Stop", OLGA)
        await g.hears("result: ")
        await g.settled()
        assert no_buttons(g, discord=copy, telegram=question)


async def test_questions_on_one_platform_lists_those_of_the_other(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, telegram=True) as g:
        g.say("go")
        question = await g.hears("May it be dead?")
        listed: Any = await g.answer(g.slash("questions"))
        assert listed["content"].startswith("1 question is open")
        copy = await g.reads("May it be dead?")
        g.discord.press(copy, "Stop", OLGA)
        await g.hears("result: ")
        await g.settled()
        assert no_buttons(g, discord=copy, telegram=question)


async def test_the_same_answer_is_shown_as_each_platform_shows_it(tmp_path: Path) -> None:
    answer = "# Title\n\n**bold** and `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    async with discord_gateway(tmp_path, [says("parent", answer)], telegram=True) as g:
        g.tells("show")
        g.say("show")
        in_discord = (await g.reads("Title"))["content"]
        in_telegram = await g.hears("Title")
        assert "**bold**" in in_discord
        assert "```" in in_discord
        assert "**" not in in_telegram["text"]
        assert {"bold", "code"} <= {entity["type"] for entity in in_telegram["entities"]}


async def test_a_delegation_reports_to_where_it_was_asked_for(tmp_path: Path) -> None:
    rules = [delegates([{"condition": "x", "branch": "report"}, {"default": "escalate"}])]
    rules += [report(1, "match", "seen"), ANSWER]
    async with discord_gateway(tmp_path, rules, telegram=True) as g:
        g.mentions("go")
        g.say("go")
        await g.reads("completed", g.discord.general)
        await g.hears("completed")
        await g.settled()
        assert (len(g.said(g.discord.general)), len(g.texts()), g.said()) == (1, 1, [])
