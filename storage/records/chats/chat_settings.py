"""What the people of a conversation chose for it: one value for each thing that may be chosen."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ChatChoice:
    address: str
    key: str
    value: str
    by: str
    """Identity of who chose it."""
    time: float
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class ChatChoiceChange:
    """What a commit did to one of them."""

    address: str
    key: str
    value: str | None
    """None: taken back."""


class ChatChoices(Protocol):
    def of(self, address: str) -> list[ChatChoice]:
        """What was chosen at this very address, by key."""
        ...

    def all(self) -> list[ChatChoice]: ...

    def choose(self, address: str, key: str, value: str, by: str) -> bool:
        """False where that was chosen already: then nothing changes."""
        ...

    def take_back(self, address: str, key: str) -> bool:
        """False where nothing was chosen."""
        ...
