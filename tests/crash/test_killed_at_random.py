"""One conversation that ten processes had a part in, each killed at some moment."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.rules import BUTTONS, PARTS, rules
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules

pytestmark = pytest.mark.crash

KILLS = 10
LATEST = 0.25
"""Seconds after a message or press until the process dies, at most: about as long as a turn."""


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    answers: tuple[str, ...]
    """How the bot's messages begin that it leads to."""
    replies: dict[str, int]
    """Model calls it needs, by tier."""
    asks: bool = False


def conversation() -> Iterator[Said]:
    one, two = {"parent": 1}, {"parent": 2}
    for n in range(3):
        parts = tuple(f"tale{n} {part}" for part in range(1, PARTS + 1))
        yield Said(f"word {n}", (f"answer to word {n}",), one)
        yield Said(f"delegate fine {n}", (f"fine {n} is completed by worker",), two | {"worker": 1})
        yield Said(f"tell tale{n}", parts, one)
        odd = two | {"worker": 1, "overseer": 1}
        yield Said(f"delegate odd {n}", (f"odd {n} is completed by overseer",), odd)
        decided = (f"Decision needed · gone {n}", f"gone {n} is rejected by human")
        yield Said(f"delegate gone {n}", decided, two | {"worker": 1}, asks=True)


@dataclass
class Witness:
    """Kills the gateway now and then, and knows afterwards what Telegram had got from it that the
    gateway did not come to record: only that may be sent again."""

    running: Scene
    chance: random.Random
    steps: int
    kills: int = KILLS
    in_flight: list[str] = field(default_factory=list)

    async def step(self) -> None:
        """Maybe kill it and start it again. In all there are `kills` in `steps`."""
        fatal = self.chance.random() < self.kills / self.steps
        self.steps -= 1
        if not fatal:
            return
        self.kills -= 1
        await asyncio.sleep(self.chance.uniform(0, LATEST))
        await self.running.gateway.kill()
        await self.running.telegram.has_read_all()
        unrecorded = set(map(beginning, self.running.database.unsent("post")))
        arrived = self.arrived() - Counter(self.in_flight)
        in_flight = [text for text in unrecorded if arrived[text]]
        assert len(in_flight) <= 1
        self.in_flight += in_flight
        await self.running.gateway.start()

    async def has_seen(self, text: str) -> None:
        await until(lambda: self.arrived()[text])

    def arrived(self) -> Counter[str]:
        return Counter(map(beginning, self.running.telegram.texts()))


def beginning(text: str) -> str:
    return text.partition("\n")[0].partition(":")[0]


@pytest.mark.parametrize("seed", [2611])
async def test_every_message_of_a_long_conversation_is_answered_once(
    tmp_path: Path, seed: int
) -> None:
    messages = list(conversation())
    steps = len(messages) + sum(message.asks for message in messages)
    models = {"parent": {"model": write_rules(tmp_path, rules(delay=0.02))}}
    async with scene(tmp_path, models, session={"busy": "queue"}) as running:
        witness = Witness(running, random.Random(seed), steps)
        for message in messages:
            running.telegram.say(ANN, ANN, message.text)
            await witness.step()
            if message.asks:
                await witness.has_seen(message.answers[0])
                running.telegram.press(await running.telegram.question(), "Stop", ANN)
                await witness.step()
            if witness.chance.random() < 0.5:
                await witness.has_seen(message.answers[-1])
        await running.telegram.hears(messages[-1].answers[-1])
        await running.database.settled()
        expected = Counter(text for message in messages for text in message.answers)
        assert witness.kills == 0
        assert witness.arrived() == expected + Counter(witness.in_flight)
        needed = sum((Counter(message.replies) for message in messages), Counter[str]())
        assert {tier: running.database.replies(tier) for tier in needed} == needed
        assert len(running.database.decisions()) == 3
        asked_twice = sum(text.startswith("Decision") for text in witness.in_flight)
        assert len(running.telegram.buttons_left()) <= len(BUTTONS) * asked_twice
