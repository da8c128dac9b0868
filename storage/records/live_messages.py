"""Messages that grow or change while a turn runs."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


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


class LiveMessages(Protocol):
    def put(self, message: LiveMessage) -> None: ...

    def of(self, rows: Collection[int]) -> list[LiveMessage]:
        """Those of the turn that answers these inbox rows, as they were put."""
        ...

    def left(self) -> list[LiveMessage]:
        """Those whose turn is over."""
        ...

    def end(self, messages: Collection[int]) -> None:
        """Forget these, by their outbox rows: they show what stays."""
        ...
