"""What happens in a round, made of its seed alone: who says what where, and what goes wrong."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

TALK = ("say", "say", "tell", "stream", "delegate", "ask", "run", "approve", "post", "remind")
"""What people ask for, each as often as it stands here; see tests.crash.rounds.script."""
MOVES = ("stop", "goto")
"""What people do who can type commands."""
LEAST_STEPS, MOST_STEPS = 2, 4
"""Of a place."""

EVERYWHERE = ("kill", "kill", "kill", "freeze", "restart", "clock", "model", "outage", "throttle")
"""Each as often as it stands here."""
ON_SQLITE = ("disk",)
ON_POSTGRES = ("fast", "immediate", "cut", "reset", "partition")
LONG = ("stall",)
LONG_ON_POSTGRES = ("stall_server", "isolate")
"""Those that take so long that they are chosen only where they are asked for."""
FAULTS = tuple(dict.fromkeys((*EVERYWHERE, *ON_SQLITE, *ON_POSTGRES, *LONG, *LONG_ON_POSTGRES)))


@dataclass(frozen=True, slots=True)
class Spot:
    """A place where people talk, as a plan knows it."""

    name: str
    commands: bool
    """Whether commands can be typed there."""


SPOTS = (
    Spot("telegram:ann", True),
    Spot("telegram:ben", True),
    Spot("telegram:group", False),
    Spot("discord:ann", False),
    Spot("discord:general", False),
)


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    """Stands in what is said and in what is answered; no other step of the round has it."""
    kind: str
    wait: bool
    """Whether the person waits for the answer before they go on."""
    pause: float
    """Seconds before it."""
    twice: bool
    """Whether somebody else presses the same buttons at the same time."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    after: float
    """Seconds since the one before was over."""
    lasts: float
    """Seconds."""
    target: int
    """Which process, counted round and round."""
    seed: int


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    talk: dict[Spot, tuple[Step, ...]]
    faults: tuple[Fault, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for steps in self.talk.values() for step in steps)


def plan(seed: int, faults: Sequence[str], count: int = 3) -> Plan:
    """`faults`: kinds to choose from, none for a quiet round; `count`: how many of them."""
    chance = random.Random(seed)
    numbers = iter(chance.sample(range(100, 1000), 100))
    talk: dict[Spot, tuple[Step, ...]] = {}
    for spot in SPOTS:
        kinds = (*TALK, *MOVES) if spot.commands else TALK
        steps = (
            Step(
                next(numbers),
                chance.choice(kinds),
                chance.random() < 0.4,
                chance.uniform(0.0, 0.5),
                chance.random() < 0.3,
            )
            for _ in range(chance.randint(LEAST_STEPS, MOST_STEPS))
        )
        talk[spot] = tuple(steps)
    wrong = (
        Fault(
            chance.choice(faults),
            chance.uniform(0.0, 0.8),
            chance.choice((0.0, chance.uniform(0.05, 1.0))),
            chance.randrange(100),
            chance.randrange(2**32),
        )
        for _ in range(count if faults else 0)
    )
    return Plan(seed, talk, tuple(wrong))
