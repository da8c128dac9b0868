"""What chat commands are made of, and what they work with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from adapters.base import Adapter, CommandSpec
from adapters.events import Message
from agent.delegation.supervision import Activity
from agent.models.registry import Models
from gateway.config import Config
from gateway.outbound.buttons import MenuItem, distinct, send_menu
from gateway.outbound.composer import Composer
from gateway.questions.service import Questions
from gateway.status.agents_panel import Live
from gateway.turns.control import SessionControl
from storage.records.entries import Json, SessionDraft, SessionKind
from storage.records.inbox_outbox import InboxRow, OutboxDraft, StoredFile
from storage.store import Store, Transaction

NOTHING_YET = "Nothing was said here yet."
NOT_YOURS = "Somebody else's turn is running here: wait for its end, or ask them to /stop it."


@dataclass(frozen=True, slots=True)
class Pressed:
    """The button that a command was given by."""

    outbox: int
    """The outbox row of the message that the button hangs on."""
    message_id: str


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command as somebody gave it, by typing or by a button."""

    message: Message
    row: InboxRow
    argument: str
    session: int | None
    """The conversation's session; None where nothing was said yet."""
    leaf: int | None = None
    """Of a command that moves it: where it is, with no turn running."""
    pressed: Pressed | None = None
    subject: Json = field(default_factory=dict)
    """What the button says beyond the command's words."""
    held: AsyncExitStack = field(default_factory=AsyncExitStack)
    """What stays as it is until the command's work is done."""

    @property
    def address(self) -> str:
        return self.message.conversation.address

    @property
    def who(self) -> str:
        """Identity of who gave it."""
        return self.message.user.identity


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What commands work with."""

    store: Store
    config: Config
    models: Models
    turns: SessionControl
    questions: Questions
    composer: Composer
    adapters: Mapping[str, Adapter]
    """Those that have started, by platform."""
    panel: Live
    """Keeps the message of /agents up to date."""

    @property
    def active(self) -> Mapping[int, Activity]:
        """The children that run now."""
        return self.panel.active

    def say(
        self,
        tx: Transaction,
        asked: CommandCall,
        text: str,
        items: Sequence[MenuItem] = (),
        *,
        by: str = "",
        file: StoredFile | None = None,
        over_answer: bool = False,
        rest: MenuItem | None = None,
    ) -> None:
        """Answer a command in Markdown, in the transaction that carries it out: as a message, or,
        where a button was pressed, in place of the message it hangs on. `by`: who alone may press
        the items. With a file, always as a message of its own; so too where the button hangs on an
        answer of the agent, which must not be lost from sight, but for `over_answer`. `rest`: the
        button that stands for what does not fit into the message it hangs on."""
        text, items = distinct(self.composer, asked.address, text, items)
        pressed = asked.pressed
        kept = pressed is not None and not over_answer and self._keep_answer(tx, pressed)
        if pressed is None or file is not None or kept:
            message = asked.message
            parcels = self.composer.post(
                asked.address,
                text,
                reply_to="" if message.private or pressed else message.message_id,
                handle=message.handle,
                file=tx.outbox.keep(file) if file is not None else None,
            )
        else:
            parcels = self.composer.change(
                asked.address, text, row=pressed.outbox, message_id=pressed.message_id
            )
            if rest is not None and len(parcels) > 1:
                parcels, items = parcels[:1], [*items, rest]
        send_menu(tx, parcels, items, private=asked.message.private, by=by)

    def _keep_answer(self, tx: Transaction, pressed: Pressed) -> bool:
        """Whether a button hangs on an answer of the agent; its buttons go, they are used up."""
        row = tx.outbox.get(pressed.outbox)
        if row.entry is None:
            return False
        if tx.outbox.linked_entry(row.address, pressed.message_id) == row.entry:
            body = {"body": row.payload["body"], "message_id": pressed.message_id, "buttons": []}
            tx.outbox.enqueue(OutboxDraft(row.address, "edit", body, edits=row.id))
        return True

    def session(self, tx: Transaction, asked: CommandCall) -> int:
        """The conversation's session, made where there is none."""
        bound = tx.directory.conversation(asked.address)
        if bound is None:
            bound = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            tx.directory.bind(asked.address, bound)
        return bound


Work = Callable[[Transaction], None]
"""Does the command and answers it, within a transaction. May run twice; has no other effect."""

CarryOut = Callable[[Work], Awaitable[None]]
"""Takes work into the transaction that finishes the inbox row it is about."""


@dataclass(frozen=True, slots=True)
class Command:
    spec: CommandSpec
    run: Callable[[CommandContext, CommandCall], Awaitable[Work]]
    moves: bool = False
    """Moves the leaf of the session, which ends the turn that runs there: a button for it stays
    while that is somebody else's."""
    hidden: bool = False
    """Only buttons give it: not in menus and in /help."""


def answer(
    desk: CommandContext, asked: CommandCall, text: str, items: Sequence[MenuItem] = ()
) -> Work:
    """Work that only answers."""
    return lambda tx: desk.say(tx, asked, text, items)
