"""Notes: what the agent was told to keep, for one person or for one conversation, over all of
their sessions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class NoteScope(StrEnum):
    PERSON = "person"
    """Goes with a person, and is read in their private conversations only."""
    CHAT = "chat"
    """Stays in a conversation, and is read by everybody there."""


@dataclass(frozen=True, slots=True)
class NoteOwner:
    """Whose notes: on Telegram a person and their private chat have the same name, so the scope is
    part of it."""

    scope: NoteScope
    owner: str
    """Identity of the person, or address of the conversation."""


@dataclass(frozen=True, slots=True)
class NoteDraft:
    scope: NoteScope
    owner: str
    text: str
    by: str
    """Identity of who spoke when it was noted; "" where nobody did."""
    address: str
    """The conversation in which it was noted."""


@dataclass(frozen=True, slots=True)
class Note:
    id: int
    """Never given to another note, not even after this one is deleted."""
    scope: NoteScope
    owner: str
    text: str
    by: str
    address: str
    time: float
    """When its text was noted, in Unix seconds."""

    @property
    def of(self) -> NoteOwner:
        return NoteOwner(self.scope, self.owner)


class Notes(Protocol):
    """Notes are bounded by who writes them (agent.tools.memory): an owner's are few enough to be
    read all at once."""

    def add(self, draft: NoteDraft) -> Note: ...

    def get(self, note: int) -> Note | None:
        """None where it was deleted."""
        ...

    def of(self, owners: Collection[NoteOwner]) -> list[Note]:
        """All notes of these, newest text first. Costs what it returns, however many others are
        kept."""
        ...

    def replace(self, note: int, draft: NoteDraft) -> bool:
        """Its text, with who said it where and now; False where it is not there, or is not of the
        draft's owner."""
        ...

    def delete(self, notes: Collection[int], owners: Sequence[NoteOwner]) -> list[int]:
        """Those of the notes that were there and belong to one of these; nothing is left of
        them."""
        ...
