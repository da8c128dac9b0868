"""Everything at once: people talk, delegate and press on both platforms while connections drop,
calls fail and the bot is restarted. In the end all of it was answered, once, in order."""

import asyncio
import random
import re
from pathlib import Path

from storage.records.entries import Json
from tests.flow.discord_gateway import TABLE, DiscordGateway, discord_gateway
from tests.flow.telegram_gateway import ANSWER, OWNER, call, report, says
from tests.stand_ins.discord_rest import Cut, Fail, Throttle
from tests.stand_ins.discord_world import Channel

RULES = [
    call(
        "parent", "delegate_task", {"goal": "Job {1}", "branch_table": TABLE}, last=r"go (\d+)\.$"
    ),
    report(2, "match", "404"),
    ANSWER | {"when": {"tier": "parent", "last": '"results"'}},
    says("parent", "you said: {last}"),
]
FAULTS = (Fail(503), Cut(done=False), Cut(done=True), Throttle(0.1))
SEED, STEPS = 2, 45


class Storm:
    def __init__(self, gateway: DiscordGateway, seed: int) -> None:
        self.gateway = gateway
        self.discord = gateway.discord
        self.random = random.Random(seed)
        self.people = ("ann", "ben", "cem")
        self.places = [
            self.discord.general,
            self.discord.thread("details"),
            *map(self.discord.dm_of, self.people),
        ]
        self.said: dict[int, list[str]] = {place.id: [] for place in self.places}
        self.jobs: dict[int, Channel] = {}
        self.count = 0

    def talk(self) -> None:
        self.count += 1
        place = self.random.choice(self.places)
        self.say(place, f"word {self.count}.")
        self.said[place.id].append(f"word {self.count}.")

    def delegate(self) -> None:
        self.count += 1
        place = self.random.choice(self.places)
        self.say(place, f"go {self.count}.")
        self.jobs[self.count] = place

    def say(self, place: Channel, text: str) -> None:
        if place.recipient is not None:
            self.gateway.tells(text, place.recipient.name)
        else:
            self.gateway.mentions(text, self.random.choice(self.people), place)

    def press(self) -> None:
        telegram, discord = self.open_in_telegram(), self.open_in_discord()
        if discord and (not telegram or self.random.random() < 0.5):
            self.discord.press(self.random.choice(discord), "Stop", self.random.choice(self.people))
        elif telegram:
            self.gateway.press(self.random.choice(telegram), "Odd")

    def spoil(self) -> None:
        method, path = self.random.choice([("POST", r"/\d+/messages$"), ("PATCH", "/messages/")])
        self.discord.inject(method, path, self.random.choice(FAULTS))

    async def drop(self) -> None:
        await self.discord.gateway.drop(resumable=True)

    async def restart(self) -> None:
        await self.gateway.stop()
        self.talk()
        await self.gateway.start()

    async def rage(self) -> None:
        for place in self.places:
            self.say(place, "hello.")
            await self.gateway.reads("hello.", place)
        quick = (self.talk, self.talk, self.talk, self.delegate, self.press, self.spoil)
        for step in range(STEPS):
            self.random.choice(quick)()
            if step % 15 == 7:
                await self.drop()
            if step % 15 == 14:
                await self.restart()
            await asyncio.sleep(self.random.random() * 0.03)
        self.discord.rest.injections.clear()

    async def calm(self) -> None:
        """Wait until everything is said and asked, then decide what is open."""
        for place in self.places:
            for text in self.said[place.id]:
                await self.gateway.reads(text, place)
        for number, place in self.jobs.items():
            await self.gateway.reads(f"· Job {number}\n", place)
        for question in self.open_in_discord():
            self.discord.press(question, "Stop", "ann")
        for number, place in self.jobs.items():
            await self.gateway.reads(f'"Job {number}"', place)
        await self.gateway.settled()

    def open_in_discord(self) -> list[Json]:
        shown = [message for place in self.places for message in place.messages]
        return [message for message in shown if self.discord.buttons(message)]

    def open_in_telegram(self) -> list[Json]:
        telegram = self.gateway.telegram
        return [message for message in telegram.messages(OWNER) if telegram.labels(message)]


async def test_all_is_answered_once_and_in_order_whatever_goes_wrong(tmp_path: Path) -> None:
    async with discord_gateway(
        tmp_path,
        RULES,
        telegram=True,
        session={"busy": "queue"},
        access={"owners": ["discord:*", f"telegram:{OWNER}"]},
        escalation={"levels": [{"to": f"telegram:{OWNER}"}]},
    ) as g:
        storm = Storm(g, SEED)
        await storm.rage()
        await storm.calm()
        for place in storm.places:
            answers = [text for text in g.said(place) if text.startswith("you said")]
            words = [re.findall(r"(?:word \d+|hello)\.$", text)[0] for text in answers]
            assert words == ["hello.", *storm.said[place.id]]
        for number, place in storm.jobs.items():
            said = g.said(place)
            assert sum(f'"Job {number}"' in text for text in said) == 1
            assert sum(f"· Job {number}\n" in text for text in said) == 1
        assert storm.open_in_telegram() == []
        decisions = await g.read(lambda tx: tx.directory.audits("decision"))
        assert len(decisions) == len(storm.jobs) > 0
        assert await g.read(lambda tx: tx.outbox.pending()) == []
