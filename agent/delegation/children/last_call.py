"""The last call of a worker that cannot go on: it may call no tool, and reports what it has.

That it was asked is a message in its session, and so is what it said: after a restart it is neither
asked nor heard twice.
"""

from collections.abc import Sequence
from enum import StrEnum

from agent.compaction.cut import context_tokens
from agent.delegation.children.supervision import Activity
from agent.models.base import ModelSpec
from storage.records.entries import Entry, Kind

NEAR_WINDOW = 0.9
"""Of the context window: what is taken for full, where compaction has not helped."""

_ASKED = "last_call"
_ADVICE = """\
No tool can be called any more. Report in text what you have: what you did, what you found, quoted \
as it was, and what is still open."""


class Short(StrEnum):
    """What a worker is short of. The values are a result's exit reasons."""

    STEPS = "max_iterations"
    WINDOW = "context_window"
    TIME = "timeout"
    REPEATS = "repeated_call"


class LastCallDue(Exception):
    """A worker is to make its last call."""

    def __init__(self, of: Short) -> None:
        super().__init__(of.value)
        self.of = of


def shortage(path: Sequence[Entry], spec: ModelSpec, activity: Activity) -> Short | None:
    """What a worker that is about to call its model is short of, steps aside."""
    if activity.nearly_out_of_time:
        return Short.TIME
    window = spec.context_window
    if window is not None and context_tokens(path) > NEAR_WINDOW * window:
        return Short.WINDOW
    return None


def request(of: Short) -> str:
    match of:
        case Short.STEPS:
            why = "You have used up your steps."
        case Short.WINDOW:
            why = "Your context window is full."
        case Short.TIME:
            why = "Your time is nearly over."
        case Short.REPEATS:
            why = "You made a call again that had failed in the same way each time."
    return f"{why} {_ADVICE}"


def mark(of: Short) -> dict[str, str]:
    """What the message that asks has besides, for `asked`."""
    return {_ASKED: of.value}


def asked(path: Sequence[Entry]) -> tuple[Short, Entry | None] | None:
    """What the worker was short of, and its last word where it has said it; None where it was not
    asked, or was sent back since."""
    said: Entry | None = None
    for entry in reversed(path):
        if entry.kind is not Kind.MESSAGE:
            continue
        if (of := entry.body.get(_ASKED)) is not None:
            return Short(of), said
        if entry.body.get("correction"):
            return None
        if entry.body["role"] == "assistant":
            said = entry
    return None
