"""Messages that grow or change while a turn runs."""

from dataclasses import dataclass
from enum import StrEnum


class LiveKind(StrEnum):
    ANSWER = "answer"
    """The answer, as far as it is written."""
    STATUS = "status"
    """What the turn is doing."""


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """On record from before it is sent until it shows what stays."""

    outbox: int
    """The row that posts it."""
    inbox: int
    """The row whose turn it belongs to."""
    kind: LiveKind
