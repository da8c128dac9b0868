"""What could stand in a command's option, of what people may see where they type it. Reads only."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from adapters.base import LONGEST_CHOICE, MOST_CHOICES, Choice
from adapters.events import Completion
from agent.models.registry import Models
from agent.tools.schedule.zones import names_like
from gateway.access.visibility import members
from gateway.chats.settings import VALUES
from gateway.commands.chat.settings import DEFAULT, IN_GROUPS
from gateway.views.entries import last_of, one_line, words
from gateway.views.models import offered
from gateway.views.sessions import name_of
from gateway.views.tree_text import Filter
from storage.records.tools.schedules import ScheduleState
from storage.store import Transaction
from storage.tree.paths import TALK

LOOKED_AT = 100
"""Labels, messages and sessions: the newest, of labels the newest that fit too."""
FEWEST_ARMS, MOST_ARMS = 2, 5

Choices = Iterator[Choice]
Complete = Callable[[Transaction, Completion, Models], Choices]


def choices(tx: Transaction, asked: Completion, models: Models) -> Sequence[Choice]:
    """Those that fit to what is typed: that begin with it, then that contain it."""
    complete = COMPLETED.get(asked.command)
    if complete is None:
        return ()
    typed = _typed(asked)
    fitting = [each for each in complete(tx, asked, models) if _fits(each, typed)]
    fitting.sort(key=lambda each: not _begins(each, typed))
    return fitting[:MOST_CHOICES]


def _typed(asked: Completion) -> str:
    return asked.typed.strip().casefold().removeprefix("#")


def _begins(choice: Choice, typed: str) -> bool:
    texts = (choice.label, choice.value)
    return any(text.casefold().removeprefix("#").startswith(typed) for text in texts)


def _fits(choice: Choice, typed: str) -> bool:
    """What would have to be cut cannot be chosen: it would be something else then."""
    if not 0 < len(choice.value) <= LONGEST_CHOICE:
        return False
    return typed in choice.label.casefold() or typed in choice.value.casefold()


def _choice(label: str, value: str) -> Choice:
    return Choice(one_line(label, LONGEST_CHOICE), value)


def _labels(tx: Transaction, asked: Completion, _: Models) -> Choices:
    session = tx.directory.conversation(asked.conversation.address)
    if session is None:
        return
    labels, typed = tx.tree.labels(session)[::-1], _typed(asked)
    named = [label for label in labels if typed in label.name.casefold()]
    # Of the others, a number may be what is typed.
    shown = dict.fromkeys((*named[:LOOKED_AT], *labels[:LOOKED_AT]))
    for label in shown:
        number = tx.tree.entry(label.target).number
        yield _choice(f"{one_line(label.name, LONGEST_CHOICE - 20)} · #{number}", f"#{number}")


def _messages(tx: Transaction, asked: Completion, models: Models) -> Choices:
    """What has a name, then the last messages of the path."""
    yield from _labels(tx, asked, models)
    session = tx.directory.conversation(asked.conversation.address)
    if session is None:
        return
    for entry in reversed(last_of(tx, tx.tree.session(session).leaf, TALK, MOST_CHOICES)):
        yield _choice(f"#{entry.number} {words(entry)}", f"#{entry.number}")


def _models(_: Transaction, __: Completion, models: Models) -> Choices:
    yield from (_choice(spec.name, spec.name) for spec in offered(models))


def _arms(_: Transaction, asked: Completion, models: Models) -> Choices:
    """How many answers, and then the models, one after the other."""
    typed = asked.typed.split()
    if not typed or not typed[0].isdecimal():
        yield from (_choice(f"{n} answers", str(n)) for n in range(FEWEST_ARMS, MOST_ARMS + 1))
        return
    names = {spec.name for spec in offered(models)}
    whole = typed if typed[-1] in names or len(typed) == 1 else typed[:-1]
    yield _choice(" ".join(typed), " ".join(typed))
    yield from (
        _choice(line, line) for line in (" ".join([*whole, name]) for name in sorted(names))
    )


def _sessions(tx: Transaction, asked: Completion, _: Models) -> Choices:
    seen = members(asked.conversation, asked.user.identity, private=asked.private)
    for session in tx.directory.recent(seen, limit=LOOKED_AT):
        name = name_of(tx.directory.overview(session), LONGEST_CHOICE - 20)
        yield _choice(f"{name} · #{session}", f"#{session}")


def _schedules(tx: Transaction, asked: Completion, _: Models) -> Choices:
    for schedule in tx.schedules.of_conversation(asked.conversation.address):
        verb = "resume" if schedule.state is ScheduleState.PAUSED else "pause"
        for does in (verb, "delete"):
            line = f"{does} {schedule.id}"
            yield _choice(f"{line} · {schedule.text}", line)
    yield _choice("zone", "zone")
    yield from _zones("zone", asked)


def _zones(before: str, asked: Completion) -> Choices:
    """Lines that choose a time zone, once something of its name is typed."""
    typed = _typed(asked).removeprefix(before).strip().replace(" ", "_")
    if _typed(asked).startswith(before) and typed:
        for name in names_like(typed, MOST_CHOICES):
            yield _choice(f"{before} {name}", f"{before} {name}")


def _settings(_: Transaction, asked: Completion, __: Models) -> Choices:
    for key, values in VALUES.items():
        if asked.private and key == IN_GROUPS:
            continue
        for value in (*values, DEFAULT):
            yield _choice(f"{key} {value}", f"{key} {value}")
    yield from _zones("zone", asked)


def _filters(_: Transaction, __: Completion, ___: Models) -> Choices:
    yield from (_choice(name, name) for name in Filter)


def _memory(_: Transaction, __: Completion, ___: Models) -> Choices:
    yield _choice("forget", "forget")


COMPLETED: Mapping[str, Complete] = {
    "goto": _labels,
    "branch": _messages,
    "model": _models,
    "retry": _models,
    "fan": _arms,
    "sessions": _sessions,
    "schedule": _schedules,
    "tree": _filters,
    "memory": _memory,
    "settings": _settings,
}
"""By the command's name; a test holds it against `CommandSpec.completes`."""
