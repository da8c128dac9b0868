"""A command from the wish to its end: what is wanted, what runs, how it ended, what people see."""

import asyncio
from dataclasses import asdict, dataclass, field
from itertools import islice

from agent.tools.base import Call, Setting
from agent.tools.files.workspace import FileType, Workspace, shown
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.process import Ended, Running
from agent.tools.terminal.shell import Left
from storage.records.inbox_outbox import Arrival, Event, InboxKind
from storage.records.speakers import speaker_of
from storage.records.tools.commands import Command, CommandDraft, Shell
from storage.store import Transaction

MOST_LOOKED_AT = 10_000
"""Files and folders of a workspace that are looked at for what a command changed."""
TICK = 0.01
"""Seconds by which a file system's clock may be behind."""
_BACK = 200
"""Entries in which is looked for who speaks."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A command that an agent wants to have run."""

    call: Call
    setting: Setting
    tool: str
    line: str
    """What people are shown and rules are matched against."""
    seconds: float
    background: bool = False
    script: str = ""
    """What the shell runs, where that is not the line itself."""
    arguments: tuple[str, ...] = ()
    keeps_shell: bool = False
    """Whether the agent's next command begins where this one ended."""
    shown: int = 0
    """Bytes of output that the agent is shown; more goes to a file."""


@dataclass
class Going:
    """A command that runs or has just ended."""

    wanted: Wanted
    output: Output
    running: Running | None = None
    command: Command | None = None
    """Once its row is there."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    """Somebody wants it to end."""
    why: str = ""
    """Why it is to end, where somebody said so. Nobody else need be told then."""
    beside: bool = False
    """Whether another command ran in the same workspace meanwhile."""


@dataclass(frozen=True, slots=True)
class Over:
    """How a command ended, and what there is to say of it."""

    command: Command
    ended: Ended
    output: Output
    left: Left
    changed: tuple[str, ...] = ()
    """See Done."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A command that runs, for people."""

    line: str
    """Untrusted, as are all texts here."""
    since: float
    """Unix seconds."""
    background: bool
    last_line: str


def is_private(tx: Transaction, entry: int) -> bool:
    """Whether nobody else listens: in a group, people's messages say who speaks."""
    said = (e.body for e in tx.tree.path_end(entry, _BACK) if e.body.get("role") == "user")
    return all(speaker_of(body) is None for body in said)


def tell(tx: Transaction, command: Command, text: str) -> None:
    event = Event(f"command {command.id} ended", text, command.person, command.private)
    tx.inbox.receive(
        Arrival(
            f"command:{command.id}", InboxKind.EVENT, command.address, asdict(event), command.home
        )
    )


def newer(workspace: Workspace, since: float) -> list[str]:
    """Files changed since then (Unix seconds), of so many as are looked at. Blocks."""
    earliest = int(1e9 * (since - TICK))
    items = islice(workspace.walk(), MOST_LOOKED_AT)
    return [
        shown(one.path)
        for one in items
        if one.type is FileType.FILE and one.state.mtime_ns >= earliest
    ]


def draft(tx: Transaction, wanted: Wanted, before: Shell) -> CommandDraft:
    return CommandDraft(
        session=wanted.call.session,
        home=wanted.setting.home,
        address=wanted.call.address,
        person=wanted.call.person,
        private=is_private(tx, wanted.call.entry),
        child=wanted.setting.child,
        tool=wanted.tool,
        line=wanted.line,
        directory=before.directory,
        background=wanted.background,
    )


def child_ended(tx: Transaction, session: int) -> bool:
    """Whether the delegation is over that a child's session belongs to."""
    journal = tx.tree.session(session).parent_session
    above = tx.tree.session(journal).parent_session if journal is not None else None
    if above is None:
        return False
    return all(row.journal != journal for row in tx.delegations.unfinished(above))
