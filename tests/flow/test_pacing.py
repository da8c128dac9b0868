"""Many conversations at once, on servers that refuse what is over the published limits: hardly
anything is refused, nothing is lost, and everything arrives in order."""

import asyncio
import re
from pathlib import Path
from typing import Any

from tests.flow.discord_gateway import DiscordGateway, discord_gateway
from tests.flow.telegram_gateway import PATIENCE, Gate, telegram_gateway
from tests.stand_ins.discord_rest import Throttle
from tests.stand_ins.discord_world import Channel
from tests.stand_ins.rates import DiscordLimits, TelegramLimits
from tests.stand_ins.telegram_world import words

CHATS = range(5001, 5051)
PARTS = range(1, 9)
LONG = "\n\n".join(f"Part {number}. " + "word " * 150 for number in PARTS)
"""Two messages of Telegram's."""
TALK: list[dict[str, Any]] = [
    {"when": {"last": "long"}, "reply": {"text": LONG, "delay": 0.5}},
    {"reply": {"text": "you said: {last}", "delay": 0.5}},
]
OPEN: dict[str, Any] = {
    "access": {"allow": ["telegram:*", "discord:*"]},
    "session": {"busy": "queue"},
}
AGES = 600.0
"""Seconds: longer than any test takes."""
GROWS: list[dict[str, Any]] = [{"reply": {"text": "word " * 40 + "the end.", "pace": 0.08}}]
IN_A_CHANNEL: list[dict[str, Any]] = [{"reply": {"text": "you said: {last}"}}]


def hardly_refused(limits: TelegramLimits, accepted: int) -> bool:
    """How much more than is published may be said is found out by trying, which a short run shows
    more of than the one of a hundred that `python -m tests.benchmarks pacing` has as its bar."""
    return len(limits.refused) <= accepted / 20


def parts(texts: list[str]) -> list[int]:
    return [int(number) for text in texts for number in re.findall(r"Part (\d+)\.", text)]


async def test_fifty_chats_at_once_on_telegram_meet_hardly_a_429(tmp_path: Path) -> None:
    gate = Gate("long")
    async with telegram_gateway(tmp_path, TALK, started=False, wrap=gate, **OPEN) as g:
        del g.config["telegram"]["paced"]
        g.telegram.limits = limits = TelegramLimits(burst=3)
        await g.start()
        for chat in CHATS:
            g.telegram.person(chat, f"Person {chat}")
            g.say("long", chat=chat)
        # Typing is shown only where there is room: before anything else is to be said.
        await g.telegram.wait_for(lambda: g.telegram.calls("sendChatAction"), PATIENCE)
        for chat in CHATS:
            for said in ("one", "/usage"):
                g.say(said, chat=chat)
        gate.open.set()
        for chat in CHATS:
            await g.hears("you said: one", chat=chat)
        await g.settled()
        assert hardly_refused(limits, len(g.telegram.calls("sendMessage", "editMessageText")))
        for chat in CHATS:
            texts = [text for text in g.texts(chat) if "Part" in text or "you said" in text]
            assert parts(texts) == list(PARTS)
            assert "you said: one" in texts[-1]


async def test_fifty_answers_that_grow_at_once_on_telegram_meet_hardly_a_429(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, GROWS, started=False, **OPEN) as g:
        del g.config["telegram"]["paced"]
        g.telegram.limits = limits = TelegramLimits(burst=3)
        await g.start()
        people, groups = CHATS[:40], range(-510, -500)
        for group in groups:
            g.say("@bough_bot go", chat=group, user=abs(group))
        # What grows is shown where there is room: of forty drafts a second groups may get none.
        await g.telegram.wait_for(lambda: g.telegram.calls("sendMessage"), PATIENCE)
        for person in people:
            g.say("go", chat=person)
        places = (*people, *groups)
        for place in places:
            await g.hears("the end.", chat=place)
        await g.settled()
        assert hardly_refused(limits, len(g.telegram.calls("sendMessage", "editMessageText")))
        assert all(len(g.texts(place)) == 1 for place in places)
        assert g.telegram.calls("sendMessageDraft") and g.telegram.calls("editMessageText")


async def test_without_a_pace_the_same_server_refuses(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, TALK, started=False, **OPEN) as g:
        g.telegram.limits = limits = TelegramLimits(burst=3)
        await g.start()
        g.telegram.person(CHATS[0], "Ann")
        for said in ("long", "long", "long", "one"):
            g.say(said, chat=CHATS[0])
        await g.hears("you said: one", chat=CHATS[0])
        assert limits.refused != []
        assert parts(g.texts(CHATS[0])) == [*PARTS] * 3


async def test_people_who_ask_a_group_at_once_meet_no_429(tmp_path: Path) -> None:
    group = -500
    async with telegram_gateway(tmp_path, TALK, started=False, **OPEN) as g:
        del g.config["telegram"]["paced"]
        g.telegram.limits = limits = TelegramLimits(burst=3)
        await g.start()
        for number in range(5):
            g.say(f"@bough_bot {number}", chat=group, user=CHATS[number])
        await g.hears("you said", chat=group, count=5)
        assert limits.refused == []


async def test_a_chat_that_telegram_holds_up_holds_up_no_other(tmp_path: Path) -> None:
    slow, others = CHATS[0], CHATS[1:8]
    async with telegram_gateway(tmp_path, TALK, started=False, **OPEN) as g:
        del g.config["telegram"]["paced"]
        g.telegram.limits = limits = TelegramLimits(burst=3)
        await g.start()
        limits.hold(slow, AGES)
        for chat in (slow, *others):
            g.telegram.person(chat, f"Person {chat}")
            g.say("hello", chat=chat)
        for chat in others:
            await g.hears("you said: hello", chat=chat)
        assert g.texts(slow) == []


async def test_a_chat_that_telegram_held_up_gets_everything_in_order(tmp_path: Path) -> None:
    slow = CHATS[0]
    async with telegram_gateway(tmp_path, TALK, started=False, **OPEN) as g:
        del g.config["telegram"]["paced"]
        g.telegram.limits = limits = TelegramLimits(burst=3)
        await g.start()
        g.telegram.person(slow, "Ann")
        limits.hold(slow, 2.0)
        for said in ("first", "second"):
            g.say(said, chat=slow)
        await g.hears("you said: second", chat=slow)
        assert [words(each).split("\n")[0] for each in g.telegram.messages(slow)] == [
            "you said: first",
            "you said: second",
        ]
        # It was told to wait, and did not ask again and again.
        assert 1 <= len([one for one in limits.refused if one[0] == slow]) <= 4


async def test_many_channels_at_once_on_discord_meet_no_429(tmp_path: Path) -> None:
    users = [f"person{number}" for number in range(50)]
    async with discord_gateway(tmp_path, IN_A_CHANNEL, started=False, **OPEN) as g:
        del g.config["discord"]["paced"]
        g.discord.limits = limits = DiscordLimits()
        await g.start()
        for user in users:
            for said in range(3):
                g.tells(f"number {said}", user)
        places = [g.discord.dm_of(user) for user in users]
        for place in places:
            await g.reads("you said: number 2", place)
        assert limits.refused == []
        for place in places:
            numbers = [int(number) for text in g.said(place) for number in re.findall(r"\d", text)]
            assert numbers == [0, 1, 2]


async def test_answers_that_grow_in_many_channels_on_discord_meet_no_429(tmp_path: Path) -> None:
    users = [f"person{number}" for number in range(50)]
    async with discord_gateway(tmp_path, GROWS, started=False, **OPEN) as g:
        del g.config["discord"]["paced"]
        g.discord.limits = limits = DiscordLimits()
        await g.start()
        for user in users:
            g.tells("go", user)
        places = [g.discord.dm_of(user) for user in users]
        for place in places:
            await g.reads("the end.", place)
        await g.settled()
        assert limits.refused == []
        assert all(len(g.said(place)) == 1 for place in places)


async def test_a_channel_that_discord_holds_up_holds_up_no_other(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, IN_A_CHANNEL, started=False, **OPEN) as g:
        del g.config["discord"]["paced"]
        await g.start()
        slow = await held_up(g, AGES)
        for user in ("quick", "quicker"):
            g.tells("hello", user)
        for user in ("quick", "quicker"):
            await g.reads("you said: hello", g.discord.dm_of(user))
        assert g.said(slow) == []


async def test_a_channel_that_discord_held_up_gets_its_message_once(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, IN_A_CHANNEL, started=False, **OPEN) as g:
        del g.config["discord"]["paced"]
        await g.start()
        slow = await held_up(g, 1.0)
        await g.reads("you said: hello", slow)
        await asyncio.wait_for(g.settled(), 60)
        assert len(g.said(slow)) == 1


async def held_up(g: DiscordGateway, seconds: float) -> Channel:
    """A channel in which an answer was refused for so long."""
    slow = g.discord.dm_of("slow")
    path = f"/channels/{slow.id}/messages"
    g.discord.inject("POST", f"{path}$", Throttle(seconds), times=1)
    g.tells("hello", "slow")
    await g.discord.wait_for(lambda: any(path in request.path for request in g.discord.requests))
    return slow
