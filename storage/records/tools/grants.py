"""What a person allowed for a conversation: one exact call, which then runs without asking."""

from dataclasses import dataclass, field
from typing import Protocol

ANY = {"*": "any"}
"""In place of digests, where a grant is from before files were compared: whatever they hold."""


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
    until: float | None = None
    """Unix seconds; None: it does not end by itself."""
    runs: str = ""
    """How such a call runs, in the bot's own words."""
    files: dict[str, str] = field(default_factory=dict)
    """Digests of what the call was approved with, by path."""


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
    until: float | None
    """Unix seconds; None: it does not end by itself."""
    runs: str
    """How such a call runs, in the bot's own words."""
    files: dict[str, str]
    """Digests of what the call was approved with, by path; or ANY."""
    used: int
    """How often a call ran because of it, without being asked for."""


class Grants(Protocol):
    def add(self, draft: GrantDraft) -> Grant:
        """The grant; it takes the place of one for this very call there."""
        ...

    def find(self, session: int, address: str, tool: str, hash: str) -> Grant | None: ...

    def use(self, grant: int) -> None:
        """Count that a call ran because of it."""
        ...

    def list(self, session: int, address: str) -> "list[Grant]":
        """Oldest first."""
        ...

    def revoke(self, grant: int, session: int, address: str) -> Grant | None:
        """Take one back, and give it; None where there is none of this number there."""
        ...
