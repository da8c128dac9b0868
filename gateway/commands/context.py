"""What a command is: who gave it, what it is planned with, and what its plan may come to.

A plan reads, on one transaction, and says what is to be done. `performer` does that, in the
transaction which ends the command's inbox row. So permission, the session's lane, races and what
is left to the lane are its business alone.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from adapters.base import Adapter, CommandSpec
from adapters.events import Message
from agent.delegation.children.supervision import Activity
from agent.models.base import ModelSpec
from agent.models.registry import Models
from agent.runtime.steps.agent import Agent
from agent.tools.mcp.server import State
from gateway.access.roles import Access
from gateway.chats.settings import ChatSettings
from gateway.configuration.config import Config
from gateway.outbound.buttons import MenuItem
from gateway.outbound.composer import Composer
from gateway.questions.service import Questions
from gateway.status.agents_panel import Live
from gateway.turns.control import SessionControl
from gateway.views.models import too_dear
from storage.records.entries import Json
from storage.records.inbox_outbox import InboxKind, InboxRow, StoredFile
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class Offered:
    """What there is to choose from: models, and what the agent is given."""

    models: Models
    agent: Callable[[int, str, str | None], Agent]
    """The parent agent of a session in a conversation (its address), with its own model or one by
    its name."""
    servers: Callable[[], Sequence[State]]
    """How each MCP server is."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What commands work with."""

    store: Store
    settings: ChatSettings
    turns: SessionControl
    questions: Questions
    composer: Composer
    adapters: Mapping[str, Adapter]
    """Those that have started, by platform."""
    panel: Live
    """Keeps the message of /agents up to date."""
    offered: Offered

    @property
    def config(self) -> Config:
        return self.settings.config

    @property
    def active(self) -> Mapping[int, Activity]:
        """The children that run now."""
        return self.panel.active


@dataclass(frozen=True, slots=True)
class Pressed:
    """The button that a command was given by."""

    outbox: int
    """The outbox row of the message that the button hangs on."""
    message_id: str
    within: int | None = None
    """The session that it is about: in another it does nothing. None: it works anywhere."""
    action: "Action | None" = None
    """None: it stands for a command that could be typed."""
    handle: str = ""
    """The press's, where only that leads to the message."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command as somebody gave it, by typing or by a button."""

    context: CommandContext
    message: Message
    row: InboxRow
    argument: str
    session: int | None
    """The conversation's session; None where nothing was said yet."""
    pressed: Pressed | None = None

    @property
    def address(self) -> str:
        return self.message.conversation.address

    @property
    def who(self) -> str:
        """Identity of who gave it."""
        return self.message.user.identity

    @property
    def usual_model(self) -> ModelSpec:
        """What answers here where nothing was chosen."""
        return self.context.offered.agent(self.session or 0, self.address, None).spec


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered, and nothing else."""

    text: str
    """Markdown."""
    items: Sequence[MenuItem] = ()
    by: str = ""
    """Identity of who alone may press the items; "" for everybody who may give commands."""
    file: StoredFile | None = None
    over_answer: bool = False
    """Where the button that was pressed hangs on an answer of the agent, it takes the answer's
    place. Else it becomes a message of its own then: an answer must not be lost from sight."""
    rest: MenuItem | None = None
    """The button that stands for what does not fit into the message whose place it takes."""
    shows: int | None = None
    """The entry that the message shows from now on, where it takes a message's place."""
    then: "Reply | None" = None
    """Another message after it."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something else is written than where the conversation is, and what it comes to is told."""

    work: Callable[[Transaction], Reply | None]
    """May run twice; has no other effect. None: it has told already."""
    leaving: bool = False
    """The conversation goes on with another session: what is being answered in it ends first."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that takes its time, for the session's lane: an inbox row of a kind of its own."""

    kind: InboxKind
    payload: Json
    reply: Reply | None = None
    entry: int | None = None
    """What people said that it answers."""


@dataclass(frozen=True, slots=True)
class Move:
    """The leaf of a session goes elsewhere, or stays for a job that must find it there, and the
    conversation goes to that session. It ends the turn that runs there, so the plan is made once
    more after that, in the transaction that moves."""

    session: int
    to: int | None
    why: str
    reply: Reply | None = None
    job: Job | None = None
    """What the session's lane does then."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Something comes first that takes its time, outside of any transaction."""

    step: Callable[[], Awaitable[Reply | Act]]


Outcome = Reply | Act | Job | Move | Slow

Plan = Callable[[Transaction, CommandCall], Outcome]
"""What a command comes to. It writes nothing: an `Act` does."""

Work = Callable[[Transaction], None]
"""Does a command and answers it. May run twice; has no other effect."""

CarryOut = Callable[[Work], Awaitable[None]]
"""Takes work into the transaction that finishes the inbox row it is about."""


@dataclass(frozen=True, slots=True)
class Command:
    """What people type; buttons give it too."""

    spec: CommandSpec
    plan: Plan
    moves: bool = False
    """Comes to a `Move`: a button for it stays while somebody else's turn runs."""
    listed: bool = True
    """In menus and in /help."""
    lacking: Callable[[Transaction, CommandCall], str] | None = None
    """Why a place has nothing that it could be about, with what to do; "" where it has. It is not
    in /help there, and says so when it is typed alone."""


@dataclass(frozen=True, slots=True)
class Action:
    """What a button does that nobody can type: its payload, and the plan of what it comes to."""

    name: ClassVar[str]
    """As it is stored with the button."""
    moves: ClassVar[bool] = False

    def refused(self, access: Access, who: str, *, private: bool) -> str:
        """What somebody is told who may press its message's buttons, but not this one; "" where
        they may."""
        return ""

    @abstractmethod
    def plan(self, tx: Transaction, call: CommandCall) -> Outcome: ...


def in_session(plan: Callable[[Transaction, CommandCall, int], Outcome]) -> Plan:
    """A plan about the conversation's session, where it has one."""

    def planned(tx: Transaction, call: CommandCall) -> Outcome:
        return Reply(NOTHING_YET) if call.session is None else plan(tx, call, call.session)

    return planned


def refused_as_dear(call: CommandCall, specs: Sequence[ModelSpec]) -> str:
    """What somebody is told who may not have the conversation answered by one of these models,
    because it costs more than the conversation's own; "" where they may."""
    if call.context.questions.access.may_choose_dear(call.who):
        return ""
    return too_dear(call.context.offered.models, call.usual_model, specs)


NOTHING_YET = "Nothing was said here yet."
