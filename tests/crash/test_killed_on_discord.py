"""Discord repeats nothing by itself: what was said meanwhile is read from the history."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.database import Database
from tests.crash.patience import until
from tests.crash.rules import rules
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_world import Channel, Json
from tests.support.gateway_process import GatewayProcess, write_config, write_rules

pytestmark = pytest.mark.crash

WORDS = "Look in the attic"
ANSWER = "answer to [discord:"
"""How one begins where several people talk."""


@dataclass(frozen=True, slots=True)
class Scene:
    discord: DiscordServer
    gateway: GatewayProcess
    database: Database

    async def said(self, *beginnings: str, channel: Channel | None = None) -> list[str]:
        """What the bot said in a channel (to Ann in private, where none is given), once all of it
        is out. Each message begins as given, and there are no others."""
        place = channel or self.discord.dm_of("ann")
        await until(lambda: len(self.discord.said(place)) >= len(beginnings))
        await self.database.settled()
        texts = self.discord.said(place)
        assert len(texts) == len(beginnings)
        for text, beginning in zip(texts, beginnings, strict=True):
            assert text.startswith(beginning)
        return texts

    async def asked(self) -> Json:
        """The question that "delegate gone" leads to, with nothing left to do."""
        self.discord.dm("ann", "delegate gone")
        place = self.discord.dm_of("ann")
        await until(lambda: self.discord.buttons(place.messages[-1]))
        await self.database.settled()
        return place.messages[-1]


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Scene]:
    async with DiscordServer() as discord:
        config = write_config(
            tmp_path,
            discord={"token": "token", **discord.urls, "paced": False},
            models={"parent": {"model": write_rules(tmp_path, rules())}},
            access={"owners": ["discord:*"]},
        )
        async with GatewayProcess(config, forked=True) as gateway:
            yield Scene(discord, gateway, Database(tmp_path / "bough.db"))
        assert discord.violations == []


async def test_what_was_said_while_the_bot_was_down_is_answered(running: Scene) -> None:
    discord, mention = running.discord, running.discord.mention
    discord.dm("ann", "one")
    discord.say(discord.general, "ben", f"{mention} two")
    await running.said("answer to one")
    await running.said("answer to ", channel=discord.general)
    await running.gateway.kill()
    discord.dm("ann", "three")
    discord.say(discord.general, "ben", "not for the bot")
    discord.say(discord.general, "ben", f"{mention} four")
    await running.gateway.start()
    await running.said("answer to one", "answer to three")
    texts = await running.said("answer to ", "answer to ", channel=discord.general)
    assert texts[1].endswith("four")


async def test_a_message_that_was_not_committed_is_read_from_the_history(running: Scene) -> None:
    running.discord.dm("ann", "one")
    await running.said("answer to one")
    running.database.stall("INSERT ON inbox")
    running.discord.dm("ann", "two")
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert running.database.open_rows() == []
    await running.gateway.start()
    await running.said("answer to one", "answer to two")


async def test_no_part_of_a_long_answer_is_sent_twice(running: Scene) -> None:
    running.database.stall("UPDATE ON outbox", "NEW.state = 'sent'")
    running.discord.dm("ann", "tell tales")
    await until(lambda: running.discord.said(running.discord.dm_of("ann")))
    await running.gateway.kill()
    running.database.mend()
    await running.gateway.start()
    place = running.discord.dm_of("ann")
    await until(lambda: "tales 3" in "".join(running.discord.said(place)))
    await running.database.settled()
    parts = running.discord.said(place)
    posts = [
        r for r in running.discord.requests if r.method == "POST" and "content" in (r.payload or ())
    ]
    assert len(posts) == len(parts) + 1
    assert "".join(parts).count("word") == 3 * 700


async def test_a_button_works_after_a_restart(running: Scene) -> None:
    question = await running.asked()
    running.gateway.terminate()
    assert await running.gateway.wait() == 0
    await running.gateway.start()
    running.discord.press(question, "Stop", "ann")
    await running.said("**Decision needed**", "gone is rejected by human")
    assert "ann: Stop" in question["content"]
    assert running.discord.buttons(question) == {}
    assert len(running.database.decisions()) == 1


async def test_between_press_and_resume_the_decision_stands(running: Scene) -> None:
    question = await running.asked()
    running.database.stall("UPDATE OF epoch ON sessions")
    running.discord.press(question, "Stop", "ann")
    await until(lambda: running.database.questions() == ["decided"])
    await running.gateway.kill()
    running.database.mend()
    await running.gateway.start()
    await running.said("**Decision needed**", "gone is rejected by human")
    assert running.discord.buttons(question) == {}
    assert len(running.database.decisions()) == 1


async def test_between_the_words_of_a_form_and_the_worker_they_stand(running: Scene) -> None:
    question = await running.asked()
    press = running.discord.press(question, "Answer in words", "ann")
    await until(lambda: press.form is not None)
    await running.database.settled()
    running.database.stall("UPDATE OF epoch ON sessions")
    running.discord.submit(press, WORDS)
    await until(lambda: running.database.questions() == ["decided"])
    await running.gateway.kill()
    running.database.mend()
    await running.gateway.start()
    await running.said("**Decision needed**", "gone is completed by worker")
    assert f"ann answered: {WORDS}" in question["content"]
    assert running.discord.buttons(question) == {}
    assert len(running.database.decisions()) == 1
    assert running.database.replies("worker") == 2


async def test_a_worker_is_told_of_an_extension_once_whenever_the_kill_comes(
    running: Scene,
) -> None:
    running.database.stall(
        "INSERT ON entries", "json_extract(NEW.body, '$.content') LIKE 'The branch table was%'"
    )
    running.discord.dm("ann", "delegate new")
    await until(lambda: "extended" in running.database.events())
    await running.gateway.kill()
    running.database.mend()
    await running.gateway.start()
    await running.said("new is completed by worker")
    assert [running.database.replies(tier) for tier in ("worker", "overseer")] == [2, 1]


async def test_a_first_mention_in_a_channel_and_a_thread_while_it_is_dead_is_answered_once(
    running: Scene,
) -> None:
    discord = running.discord
    discord.say(discord.general, "bob", f"{discord.mention} before")
    await running.said(ANSWER, channel=discord.general)
    await running.gateway.kill()
    new, thread = discord.world.channel("new"), discord.thread("details")
    discord.say(new, "bob", f"{discord.mention} in the channel")
    discord.say(thread, "bob", f"{discord.mention} in the thread")
    for _ in range(2):
        await running.gateway.start()
        for place, words in ((new, "in the channel"), (thread, "in the thread")):
            (text,) = await running.said(ANSWER, channel=place)
            assert text.endswith(f"bob: {words}")
        await running.gateway.kill()
    assert len(discord.said(discord.general)) == 1
