"""One session in which people go about, by typing and by button, with talk in between, while
process after process is killed at some moment. A naive model says where they must be."""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.crash.rules import rules
from tests.crash.scene import ANN, Scene, scene
from tests.crash.trees import Trees
from tests.stand_ins.telegram_checks import Json
from tests.stand_ins.telegram_world import buttons
from tests.support.gateway_process import write_rules

pytestmark = pytest.mark.crash

STEPS = 36
KILLS = 14
LATEST = 0.15
"""Seconds after a step until the process dies, at most: about as long as a step takes."""


@dataclass
class Walked:
    """What a session must look like. Entries are called by their numbers."""

    parents: list[int | None] = field(default_factory=list)
    """Of entry 1, 2, …"""
    texts: list[str] = field(default_factory=list)
    leaf: int | None = None
    moves: list[tuple[str, int | None, int | None]] = field(default_factory=list)
    """(why, from, to)"""
    messages: int = 0
    """How many messages the bot must have sent."""

    def path(self) -> list[int]:
        found, at = [], self.leaf
        while at is not None:
            found.append(at)
            at = self.parents[at - 1]
        return found[::-1]

    def asked(self) -> list[int]:
        """What people said, on the path."""
        return [at for at in self.path() if self.is_asked(at)]

    def is_asked(self, number: int) -> bool:
        return not self.texts[number - 1].startswith("answer to ")

    def append(self, text: str) -> None:
        self.parents.append(self.leaf)
        self.texts.append(text)
        self.leaf = len(self.texts)

    def move(self, to: int | None, why: str) -> None:
        if to != self.leaf:
            self.moves.append((why, self.leaf, to))
            self.leaf = to

    def below(self, number: int) -> int:
        """The newest end at or below an entry."""
        grown = {number}
        for at, parent in enumerate(self.parents, start=1):
            if parent in grown:
                grown.add(at)
        return max(at for at in grown if at not in self.parents)

    def talk(self, text: str) -> None:
        self.append(text)
        self.append(f"answer to {text}")
        self.messages += 1

    def command(self, command: str, back: int | None = None) -> bool:
        """Whether it is answered by the model."""
        name, _, argument = command.partition(" ")
        number = int(argument.removeprefix("#") or 0)
        match name:
            case "branch" if number:
                self.move(self.parents[number - 1] if self.is_asked(number) else number, name)
            case "goto":
                self.move(number, name)
            case "undo" if asked := self.asked():
                self.move(self.parents[asked[-min(number or 1, len(asked))] - 1], name)
            case "redo":
                self.redo()
            case "back":
                self.move(back, "goto")
            case "sibling":
                self.move(self.below(number), name)
            case "retry" if asked := self.asked():
                self.move(asked[-1], name)
                self.append(f"answer to {self.texts[asked[-1] - 1]}")
                return True
        return False

    def redo(self) -> None:
        undone: list[tuple[int | None, int | None]] = []
        for why, source, target in self.moves:
            if why == "undo":
                undone.append((source, target))
            elif why == "redo":
                undone.pop()
            else:
                undone.clear()
        if undone and undone[-1][1] == self.leaf:
            self.move(undone[-1][0], "redo")


@dataclass
class Storm:
    running: Scene
    trees: Trees
    chance: random.Random
    walked: Walked = field(default_factory=Walked)
    twice: int = 0
    """Messages that were sent when a process died and that it did not come to record: only those
    may be there twice."""

    async def step(self, number: int) -> None:
        """Perhaps press a button, give some commands, say something."""
        if self.chance.random() < 0.5 and (button := self._button()) is not None:
            message, token = button
            if self._press(message, token):
                return
        for _ in range(self.chance.randrange(3)):
            self._type(self._command())
        last = self.chance.random()
        if last < 0.6 or number < 3:
            self.running.telegram.say(ANN, ANN, f"word {number}")
            self.walked.talk(f"word {number}")
        elif last < 0.75:
            self._type("retry")

    def _command(self) -> str:
        entry = self.chance.randint(1, max(len(self.walked.texts), 1))
        commands = ["undo", "undo", f"undo {self.chance.randint(1, 3)}", "redo", "branch"]
        if self.walked.texts:
            commands += [f"branch #{entry}", f"goto #{entry}"]
        return self.chance.choice(commands)

    def _type(self, command: str) -> None:
        self.running.telegram.say(ANN, ANN, f"/{command}")
        self.walked.command(command)
        self.walked.messages += 1

    def _button(self) -> tuple[Json, str] | None:
        """One that is still valid, of any message."""
        found = [
            (message, button["callback_data"])
            for message in self.running.telegram.messages(ANN)
            for button in buttons(message)
            if self.trees.command(button["callback_data"]) is not None
        ]
        return self.chance.choice(found) if found else None

    def _press(self, message: Json, token: str) -> bool:
        """Whether it is answered by the model."""
        meant = self.trees.command(token)
        assert meant is not None
        command, entry = meant
        back = self.trees.of().nodes[entry].number if entry is not None else None
        self.running.telegram.press(message, token, ANN)
        asks = self.walked.command(command, back)
        self.walked.messages += asks
        return asks

    async def kill(self) -> None:
        await asyncio.sleep(self.chance.uniform(0, LATEST))
        await self.running.gateway.kill()
        await self.running.telegram.has_read_all()
        sent = len(self.running.telegram.messages(ANN)) - self.trees.recorded()
        assert sent - self.twice in (0, 1)
        self.twice = sent
        await self.running.gateway.start()

    def check(self) -> None:
        tree, walked = self.trees.of(), self.walked
        number = {node.id: node.number for node in tree.own} | {None: None}
        assert [node.says for node in tree.own] == walked.texts
        assert [number[node.parent] for node in tree.own] == walked.parents
        assert number[tree.leaf] == walked.leaf
        moves = [(why, number[source], number[target]) for why, source, target in tree.moves]
        assert moves == walked.moves
        assert len(self.running.telegram.messages(ANN)) == walked.messages + self.twice
        self.check_links()

    def check_links(self) -> None:
        """Every answer that is shown is linked to the entry it shows, but for what was sent twice;
        nothing else is."""
        unlinked = 0
        for message in self.running.telegram.messages(ANN):
            entry = self.trees.shown(message)
            if entry is not None:
                assert message["text"] == entry.says
            elif message["text"].startswith("answer to "):
                unlinked += 1
        assert unlinked <= self.twice


def fatal(chance: random.Random) -> Iterator[bool]:
    """At which steps it is killed."""
    kills = set(chance.sample(range(STEPS), KILLS))
    return (step in kills for step in range(STEPS))


@pytest.mark.parametrize("seed", [2611])
async def test_a_session_is_where_its_people_took_it(tmp_path: Path, seed: int) -> None:
    models = {"parent": {"model": write_rules(tmp_path, rules(delay=0.02))}}
    session = {"busy": "queue", "branch_summaries": "off"}
    async with scene(tmp_path, models, session=session) as running:
        storm = Storm(running, Trees(tmp_path), random.Random(seed))
        for number, dies in enumerate(fatal(storm.chance)):
            await storm.step(number)
            if dies:
                await storm.kill()
            await running.quiet()
            if storm.walked.texts:
                storm.check()
