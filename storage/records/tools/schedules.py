"""What is to be done later, or again and again, and in which time zone people live."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    """It has no time any more."""
    DELETED = "deleted"
    """By somebody; its text is gone."""


@dataclass(frozen=True, slots=True)
class ScheduleDraft:
    session: int
    """Where it was asked for."""
    address: str
    """The conversation in which it is to be done."""
    person: str
    """Identity of who asked for it."""
    text: str
    """What is to be done. Written by a model: untrusted."""
    rule: str
    """How it repeats; see agent.tools.schedule.rules."""
    zone: str
    """The time zone of the rule."""
    next: float
    """Unix seconds."""
    unasked: bool = False
    """A turn that began by itself made it: it is nobody's word."""


@dataclass(frozen=True, slots=True)
class Schedule:
    id: int
    session: int
    address: str
    person: str
    text: str
    rule: str
    zone: str
    next: float
    """When it is due; of no meaning once it is done or deleted."""
    state: ScheduleState
    created: float
    fired: float | None
    """When it was done last, by the clock at that time."""
    reason: str
    """Why it is paused, where no person wanted it; for people."""
    unasked: bool = False
    """See ScheduleDraft."""


class Schedules(Protocol):
    def create(self, draft: ScheduleDraft) -> Schedule: ...

    def get(self, schedule: int) -> Schedule:
        """NotFound where there is none."""
        ...

    def change(
        self,
        seen: Schedule,
        *,
        state: ScheduleState | None = None,
        next: float | None = None,
        fired: float | None = None,
        reason: str | None = None,
    ) -> bool:
        """Change what is given: compare-and-set. False where its state or its next time is not any
        more what was seen, and nothing changes. What is deleted loses its text."""
        ...

    def pause_all(self, person: str, reason: str) -> int:
        """Pause what a person has active; how many there were."""
        ...

    def pause_fired(self, address: str, reason: str) -> int:
        """Pause what is active in a conversation and was done before, so what repeats; how many
        there were."""
        ...

    def of_conversation(self, address: str) -> list[Schedule]:
        """Those active or paused, the next first."""
        ...

    def active(self, *, address: str | None = None, person: str | None = None) -> int:
        """How many are active: of a conversation, a person, or all."""
        ...

    def made_since(self, address: str, since: float) -> int:
        """How many were made in a conversation since a time, whatever became of them."""
        ...

    def due(self, now: float, limit: int) -> list[Schedule]:
        """Active ones whose time has come, the oldest first."""
        ...

    def next_due(self) -> float | None:
        """When the next active one is due; None where there is none."""
        ...

    def ahead(self, now: float) -> list[Schedule]:
        """Active ones that were done later than now: the clock was set back since."""
        ...

    def zone(self, person: str) -> str:
        """The name of a person's time zone; "" where they never said."""
        ...

    def set_zone(self, person: str, zone: str) -> None: ...
