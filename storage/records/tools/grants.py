"""What a person allowed for a conversation: one exact call, which then runs without asking."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class GrantDraft:
    session: int
    """The chat's session; what its children call is allowed with it."""
    address: str
    """The conversation. In another one, of the same session too, the call asks again."""
    tool: str
    hash: str
    """Over tool, arguments and directory: the exact call."""
    shown: str
    """The call as people are told of it in a list: bounded, on one line."""
    granted_by: str
    """Identity of who allowed it."""
    granted_name: str


@dataclass(frozen=True, slots=True)
class Grant:
    id: int
    """What people type to revoke it."""
    session: int
    address: str
    tool: str
    hash: str
    shown: str
    granted_by: str
    granted_name: str
    time: float
    """Unix seconds."""


class Grants(Protocol):
    def add(self, draft: GrantDraft) -> Grant:
        """The grant; where this very call is allowed there already, the one that there is."""
        ...

    def find(self, session: int, address: str, tool: str, hash: str) -> Grant | None: ...

    def list(self, session: int, address: str) -> "list[Grant]":
        """Oldest first."""
        ...

    def revoke(self, grant: int, session: int, address: str) -> Grant | None:
        """Take one back, and give it; None where there is none of this number there."""
        ...
