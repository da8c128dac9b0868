"""Messages that had to wait for hours, while the bot was away or busy: the model is told when they
were said, and the answer says that it is late."""

import re
from collections.abc import Sequence

from gateway.turns.turn import Turn
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind, InboxRow

LATE = 3600.0
"""Seconds from which on an answer is late."""
NOTE = "[sent {span} ago, and read only now]"
MARK = "⏰ Late: you wrote this {span} ago, and I could not answer before."
_NOTE = re.compile(r"\[sent [0-9]+ [a-z]+ ago, and read only now\]\n*")
_DAY = 86_400.0


def late_by(row: InboxRow, now: float) -> float:
    """Seconds between a message and now; 0 where it is not late. What is asked again, because it
    was changed or by a button, is not said late."""
    if row.kind is not InboxKind.MESSAGE or row.payload.get("key") != row.key:
        return 0.0
    waited = now - float(row.payload.get("sent") or row.time)
    return waited if waited >= LATE else 0.0


def note(row: InboxRow, now: float) -> str:
    """What a model is told of it; "" where it is not late."""
    seconds = late_by(row, now)
    return NOTE.format(span=_span(seconds)) if seconds else ""


def without_note(text: str) -> str:
    return _NOTE.sub("", text, count=1)


def headed(turn: Turn, text: str) -> str:
    """What the agent says, headed by how late it is where it is the first that it says."""
    seconds = late_by(turn.rows[-1], turn.begun)
    if not seconds or not text.strip() or _has_spoken(turn.journal.path):
        return text
    return f"{MARK.format(span=_span(seconds))}\n\n{text}"


def _has_spoken(path: Sequence[Entry]) -> bool:
    """Whether the agent has said something since somebody last spoke to it."""
    for entry in reversed(path):
        role = entry.body.get("role")
        if role == "user":
            return False
        if role == "assistant" and str(entry.body.get("content") or "").strip():
            return True
    return False


def _span(seconds: float) -> str:
    size, unit = (_DAY, "day") if seconds >= 2 * _DAY else (3600.0, "hour")
    count = round(seconds / size)
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
