"""People who carry a plan's talk out, each in a place: they ask, wait or go on, and press."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from tests.crash.rounds.places import Place, Shown
from tests.crash.rounds.plan import Step
from tests.crash.rounds.script import asks, decided, label_of, mark_of, marks, request

LOOK = 0.05
"""Seconds between two looks at a chat."""
AGAIN = 1.5
"""Seconds until somebody presses again, because nothing happened."""
UNHEARD = 20.0
"""Seconds until somebody talks for the first time once more."""
_STOPPED = ("Stopped.", "Nothing was running.")
_CHOICES = {"ask": ("Other", "Stop"), "approve": ("Once", "Once")}
"""By what was asked for: what is pressed, and what a second press says."""


@dataclass
class Person:
    place: Place
    said: int = 0
    """Messages and presses."""
    expected: list[str] = field(default_factory=list)
    """The marks of all that was asked for so far."""
    stops: int = 0
    excused: set[str] = field(default_factory=set)
    """Marks that need not come."""

    async def meet(self, number: int) -> None:
        """Talk for the first time, and again where nobody seems to be there: what is said on
        Discord while no process serves it yet, in a place that the bot never saw, is not told
        later."""
        for again in count():
            self._ask("say", number + 10 * again)
            with suppress(TimeoutError):
                async with asyncio.timeout(UNHEARD):
                    return await self._see(self.expected)
            if self.place.platform == "discord":
                self.excused |= self.missing()

    async def play(self, steps: Sequence[Step]) -> None:
        """Until everything is said, and every button pressed that was to be. It does not wait for
        the last answers."""
        async with asyncio.TaskGroup() as group:
            for step in steps:
                await asyncio.sleep(step.pause)
                match step.kind:
                    case "stop":
                        await self._stop(step)
                    case "goto":
                        await self._go_to(step)
                    case _:
                        if asks(step.kind):
                            # Two that are decided at once are told of in one answer.
                            await self._see([one for one in self.expected if decided(one)])
                        self._ask(step.kind, step.number)
                        if asks(step.kind):
                            group.create_task(self._decide(step))
                        if step.wait:
                            await self._see(marks(step.kind, step.number))

    def shown(self) -> list[tuple[str, Shown]]:
        """Mark and message, oldest first."""
        return [(mark_of(one.text), one) for one in self.place.shown()]

    def missing(self) -> set[str]:
        """The marks that are still to come. What was stopped need not come any more."""
        seen = {mark for mark, _ in self.shown()}
        missing = set(self.expected) - seen - self.excused
        unasked = {question for question in missing if self._was_given_up(question)}
        missing -= unasked
        stopped = sum(one.text in _STOPPED for one in self.place.shown())
        if self.stops and stopped >= self.stops:
            missing = {mark for mark in missing if not mark.startswith("slow")}
        return missing | ({"/stop"} if stopped < self.stops else set())

    def _was_given_up(self, question: str) -> bool:
        """A call that was interrupted before anybody was asked is not made again: the model is
        told that nobody knows what became of it."""
        number = question.removeprefix("question ")
        return any(one.text.endswith(f"approve {number} unknown") for one in self.place.shown())

    def _ask(self, kind: str, number: int) -> None:
        self._say(request(kind, number, self.place.platform))
        self.expected += marks(kind, number)

    def _say(self, text: str) -> None:
        self.said += 1
        self.place.say(text)

    async def _see(self, wanted: Sequence[str]) -> None:
        """Nobody waits for ever: what never comes is counted at the end of the round."""
        while set(wanted) & self.missing():
            await asyncio.sleep(LOOK)

    async def _stop(self, step: Step) -> None:
        """Nothing else runs that would be stopped with it."""
        await self._see(self.expected)
        self._ask("slow", step.number)
        await asyncio.sleep(0.4)
        self._say("/stop")
        self.stops += 1
        await self._see(["/stop", f"slow {step.number}"])

    async def _go_to(self, step: Step) -> None:
        """Name a place in the conversation, and go back there."""
        await self._see(self.expected)
        self._ask("say", step.number)
        await self._see(self.expected)
        name = label_of(step.number)
        for command, mark in (("label", "label"), ("goto", "goto")):
            self._say(f"/{command} {name}")
            self.expected.append(f"{mark} {step.number}")
            await self._see(self.expected)

    async def _decide(self, step: Step) -> None:
        """Press until it shows: what was pressed while the bot was away may be lost on Discord."""
        question, answer = marks(step.kind, step.number)
        first, second = _CHOICES[step.kind]
        while answer in self.missing():
            found = [one for mark, one in self.shown() if mark == question and one.labels]
            if not found:
                await asyncio.sleep(LOOK)
                continue
            for label in (first, second) if step.twice else (first,):
                self.said += 1
                self.place.press(found[-1], label)
            for _ in range(int(AGAIN / LOOK)):
                if answer not in self.missing():
                    break
                await asyncio.sleep(LOOK)
