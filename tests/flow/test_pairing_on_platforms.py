"""Strangers are let in on Telegram and on Discord, as their people see it."""

from pathlib import Path

from tests.flow.discord_gateway import MALLORY, OLGA, discord_gateway
from tests.flow.on_telegram import handled
from tests.flow.pairing import CODE
from tests.flow.telegram_gateway import ANN, OWNER, STRANGER, says, telegram_gateway
from tests.stand_ins.telegram_world import words

PLAIN = [says("parent", "you said: {last}")]
TOLD = "your code is"


async def test_on_telegram_the_owner_lets_a_stranger_in_with_a_button(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, PLAIN) as g:
        g.telegram.person(STRANGER, "Mallory")
        g.say("/start", chat=STRANGER)
        await g.hears(TOLD, chat=STRANGER)
        asked = await g.hears("Mallory (telegram:6666) asks to be let in")
        g.press(asked, "Let in")
        await g.hears("is let in: a member, for good")
        await g.hears("You are let in", chat=STRANGER)
        g.say("hello", chat=STRANGER)
        await g.hears("you said: hello", chat=STRANGER)


async def test_on_telegram_a_forwarded_code_and_command_do_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, PLAIN) as g:
        g.say("/start", chat=STRANGER)
        told = words(await g.hears(TOLD, chat=STRANGER))
        code = told.partition("your code is ")[2][:9]
        origin = {"type": "hidden_user", "sender_user_name": "Mallory", "date": 1_700_000_000}
        g.say(f"/pair {code} owner", forward_origin=origin)
        await g.hears("you said: > [forwarded from Mallory]")
        await handled(g)
        assert await g.read(lambda tx: tx.rights.all()) == []


async def test_on_telegram_a_member_who_asks_for_the_list_gets_none(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, PLAIN) as g:
        g.say("/people", chat=ANN)
        await g.hears("Only the bot's owners", chat=ANN)
        g.say("/people", chat=OWNER)
        await g.hears("Who may talk to me")


async def test_on_discord_the_owner_lets_a_stranger_in_with_a_button(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, PLAIN) as g:
        private = g.discord.dm_of(MALLORY)
        g.tells("hello?", MALLORY)
        told = await g.reads("I do not know you", private)
        assert CODE.search(told["content"])
        asked = await g.reads("asks to be let in", g.discord.dm_of(OLGA))
        g.discord.press(asked, "Let in", OLGA)
        await g.reads("You are let in", private)
        g.tells("hello", MALLORY)
        await g.reads("hello", private, count=1)
        right = await g.read(lambda tx: tx.rights.get(g.identity(MALLORY)))
        assert right is not None
        assert right.by == g.identity(OLGA)


async def test_on_discord_a_stranger_gets_no_code_in_a_channel(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, PLAIN) as g:
        told = await g.answer(g.slash("help", MALLORY, g.discord.general))
        assert "I do not know you" in told["content"]
        assert CODE.search(told["content"]) is None
        assert await g.read(lambda tx: tx.pairing.all()) == []
