"""What a round came to, counted from outside: from what people saw, what servers were asked, and
what stands in the database at the end."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise

from tests.crash.rounds.databases import Database
from tests.crash.rounds.people import Person
from tests.crash.rounds.script import late
from tests.stand_ins.model import Received

_DECISIONS = "SELECT details FROM audit WHERE what = 'decision' ORDER BY id"


@dataclass
class Tally:
    """Of one round, or of many. What is named in ZERO must not be there at all."""

    said: int = 0
    answered: int = 0
    lost: int = 0
    in_flight: int = 0
    """Messages that Telegram has twice because nobody could know that it had them."""
    doubled: int = 0
    """The others that are there twice."""
    calls: int = 0
    calls_again: int = 0
    ran: int = 0
    """Commands and calls of servers that change something."""
    unknown: int = 0
    """Those of which the model was told that nobody knows what became of them."""
    ran_twice: int = 0
    decided: int = 0
    decided_twice: int = 0
    disordered: int = 0
    torn: int = 0
    secrets: int = 0
    surprises: int = 0
    """Processes that ended by themselves, or did not start."""
    tracebacks: int = 0
    """In logs. They are faults of the program, but nobody loses anything by them."""
    kills: int = 0
    faults: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Tally") -> "Tally":
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        return self

    def numbers(self) -> dict[str, float]:
        return {each.name: getattr(self, each.name) for each in fields(self)[:-1]}


ZERO = (
    "lost",
    "doubled",
    "ran_twice",
    "decided_twice",
    "disordered",
    "torn",
    "secrets",
    "surprises",
)


def count_talk(tally: Tally, people: Iterable[Person], in_flight: Counter[str]) -> None:
    """What was said and answered. `in_flight`: marks that may be there once more for each."""
    for person in people:
        shown = person.shown()
        counts = Counter(mark for mark, _ in shown if mark)
        missing = person.missing()
        tally.said += person.said
        tally.lost += len(missing)
        tally.answered += len(set(person.expected) - missing)
        tally.problems += [f"lost: {mark}" for mark in sorted(missing)]
        tally.unknown += sum("unknown" in one.text for _, one in shown)
        for mark, count in counts.items():
            _count_doubles(tally, person.place.platform, mark, count, in_flight)
        _count_order(tally, person, [mark for mark, _ in shown])


def _count_doubles(
    tally: Tally, platform: str, mark: str, count: int, in_flight: Counter[str]
) -> None:
    allowed = min(count - 1, in_flight[mark]) if platform == "telegram" else 0
    tally.in_flight += allowed
    if more := count - 1 - allowed:
        tally.doubled += more
        tally.problems.append(f"doubled on {platform}: {mark}, {count} times")


def _count_order(tally: Tally, person: Person, shown: Sequence[str]) -> None:
    first = {mark: place for place, mark in reversed(list(enumerate(shown))) if mark}
    came = [mark for mark in person.expected if mark in first and not late(mark)]
    for before, after in pairwise(came):
        if first[before] > first[after]:
            tally.disordered += 1
            tally.problems.append(f"out of order: {after} came before {before}")


def count_calls(tally: Tally, requests: Sequence[Received]) -> None:
    """Equal requests are one that was made again."""
    asked = Counter(json.dumps([one.model, one.messages]) for one in requests)
    tally.calls += len(requests)
    tally.calls_again += sum(count - 1 for count in asked.values())


def count_tools(tally: Tally, lines: Iterable[str]) -> None:
    """A line for each time that one ran."""
    for line, count in Counter(lines).items():
        tally.ran += 1
        if count > 1:
            tally.ran_twice += count - 1
            tally.problems.append(f"ran {count} times: {line}")


async def count_decisions(tally: Tally, database: Database) -> None:
    found = Counter(
        json.loads(details).get("question") for (details,) in await database.rows(_DECISIONS)
    )
    tally.decided += len(found)
    for question, count in found.items():
        if count > 1:
            tally.decided_twice += count - 1
            tally.problems.append(f"question {question} was decided {count} times")


def count_secrets(tally: Tally, secrets: Sequence[str], told: Iterable[str]) -> None:
    for text in told:
        for secret in secrets:
            if secret in text:
                tally.secrets += 1
                tally.problems.append(f"a secret is told: {text[:300]}")
