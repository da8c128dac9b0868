"""What must be known to answer an interaction, as text that outlives the process."""

import asyncio
from dataclasses import dataclass
from typing import Literal, Self

Kind = Literal["command", "press", "aside", "completion"]
""""aside" is a press on a message that only the presser sees."""

INTERACTION_CALLBACK = "/interactions/{id}/{token}/callback"
"""Where an interaction is answered."""


@dataclass(frozen=True, slots=True)
class Handle:
    """An interaction that can be answered. Written "command:ID:TOKEN", and so on.

    Its token dies after 15 minutes. Only Discord says when: a clock of ours may be wrong.
    """

    kind: Kind
    id: int
    token: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}:{self.token}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for anything that is not a handle, "" among it."""
        kind, _, rest = text.partition(":")
        number, _, token = rest.partition(":")
        if not (number.isdecimal() and token):
            return None
        match kind:
            case "command" | "press" | "aside" | "completion":
                return cls(kind, int(number), token)
            case _:
                return None


class Deferrals:
    """Which interactions are being acknowledged at this moment.

    Discord takes an answer only after the acknowledgement, and the answer may be there first: the
    turn starts when the update is committed, which is before the acknowledgement is sent.
    """

    def __init__(self) -> None:
        self._settled: dict[str, asyncio.Event] = {}

    def begin(self, handle: str) -> None:
        self._settled[handle] = asyncio.Event()

    def end(self, handle: str) -> None:
        """Acknowledged, or given up: who waits may go on and see."""
        if settled := self._settled.pop(handle, None):
            settled.set()

    async def settled(self, handle: str) -> None:
        """Return once nobody is acknowledging it; at once for a handle of an earlier process."""
        if settled := self._settled.get(handle):
            await settled.wait()
