"""Commands that agents ran, and where each agent stands in its terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class CommandState(StrEnum):
    RUNNING = "running"
    ENDED = "ended"
    """By itself, or because it was ended: `why` says that."""
    LOST = "lost"
    """The process that ran it died first: nobody knows what came of it."""


@dataclass(frozen=True, slots=True)
class CommandDraft:
    session: int
    """The agent's own."""
    home: int
    """The chat's session, whose workspace it ran in."""
    address: str
    person: str
    """Identity of whose turn ran it; "" where nobody did."""
    private: bool
    """Whether nobody but this person and the bot reads the conversation."""
    child: bool
    """Whether it was a child that ran it."""
    tool: str
    line: str
    """The command or program, whole."""
    directory: str
    """Where it began, relative to the workspace."""
    background: bool


@dataclass(frozen=True, slots=True)
class Command:
    id: int
    session: int
    home: int
    address: str
    person: str
    private: bool
    child: bool
    tool: str
    line: str
    directory: str
    background: bool
    state: CommandState
    status: int | None
    """Exit status; None where there is none."""
    why: str
    """What ended it, in words of ours; "" where it ended by itself."""
    output: str
    """File of the workspace with what it said; "" where there is none."""
    started: float
    ended: float | None


@dataclass(frozen=True, slots=True)
class Shell:
    """What an agent's next command finds as its last one left it."""

    directory: str = ""
    """Relative to the workspace; "" for the workspace itself."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it exported beyond, or otherwise than, what every command is given."""


class Commands(Protocol):
    def start(self, draft: CommandDraft) -> Command: ...

    def get(self, command: int) -> Command | None: ...

    def end(
        self,
        command: int,
        state: CommandState,
        *,
        status: int | None = None,
        why: str = "",
        output: str = "",
    ) -> bool:
        """Compare-and-set from running; False where it was not, and nothing changes."""
        ...

    def running(self) -> list[Command]:
        """Those that run, or did when their process died; oldest first."""
        ...

    def of(self, homes: Sequence[int], limit: int = 20) -> list[Command]:
        """The latest of chats' sessions, newest first."""
        ...

    def shell(self, session: int, entry: int) -> Shell:
        """What a call of an assistant entry finds: what the calls of earlier entries left."""
        ...

    def keep_shell(self, session: int, entry: int, shell: Shell) -> None:
        """What a call of an entry leaves, to those of later ones."""
        ...
