"""Update → handler. An update is committed before its adapter hears that we have it.

A press is decided in the transaction that commits it; a command is handled before the next update
of its platform; a message is given to its session's lane.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import assert_never

from pydantic import TypeAdapter, ValidationError

from adapters.base import Acknowledge, Adapter, AdapterError
from adapters.events import Message, Press, Update
from agent.activity import Activity
from gateway.access import Access
from gateway.commands import Asked, Desk, parse_command, run_command
from gateway.control import KIND as CONTROL
from gateway.control import act
from gateway.parcels import Composer
from gateway.questions import Questions
from gateway.turns import Turns
from storage.boxes import Arrival, InboxRow, InboxState
from storage.entries import Json, SessionDraft, SessionKind
from storage.errors import StoreError
from storage.questions import Question
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)

STORE_PAUSE = 1.0
STRANGER = (
    "I do not know you. Ask this bot's owner to let you in; you are `{identity}` "
    "(`allow` under `[access]` in bough.toml)."
)


@dataclass
class Router:
    store: Store
    turns: Turns
    questions: Questions
    composer: Composer
    access: Access
    adapters: Mapping[str, Adapter]
    active: Mapping[int, Activity]
    """The children that run now."""
    _handling: set[int] = field(default_factory=set, init=False)
    """Commands being carried out, so that the sweep leaves them alone."""
    _acknowledging: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    async def receive(self, update: Update) -> None:
        """Returns once the update is committed (and, but for messages, dealt with). While the
        store is away it waits: no platform hears that we have what we do not have."""
        while True:
            try:
                return await self._receive(update)
            except StoreError:
                log.exception("an update cannot be committed; again in %g s", STORE_PAUSE)
                await asyncio.sleep(STORE_PAUSE)

    async def _receive(self, update: Update) -> None:
        match update:
            case Press():
                await self._press(update)
            case Message():
                await self._message(update)
            case _:
                assert_never(update)

    async def sweep(self) -> None:
        """Take up whatever is unfinished: after a start, and now and then."""
        for row in await self.store.read(lambda tx: tx.inbox.unfinished()):
            if row.session is not None:
                self.turns.lanes.wake(row.session)
            elif row.id not in self._handling:
                await self._again(row)

    async def _again(self, row: InboxRow) -> None:
        try:
            message = _MESSAGE.validate_python(row.payload)
        except ValidationError:
            log.exception("inbox row %s cannot be read; it is left as it is", row.id)
            return
        await self._command(message, row)

    async def close(self) -> None:
        """Let acknowledgements end."""
        if self._acknowledging:
            await asyncio.wait(self._acknowledging, timeout=2)

    async def _press(self, press: Press) -> None:
        def work(tx: Transaction) -> tuple[str, Question | None] | None:
            row = tx.inbox.receive(_arrival(press))
            if row is None:
                return None
            tx.inbox.finish([row.id])
            told = self.questions.press(tx, press)
            button = tx.questions.button(press.token)
            return told, tx.questions.get(button.question) if button is not None else None

        pressed = await self.store.run(work)
        if pressed is None:
            return
        told, question = pressed
        if question is not None and question.kind == CONTROL:
            if not told:
                act(question, self.active)
        elif question is not None:
            self.turns.lanes.wake(question.session)
        self._acknowledge(press, told)

    def _acknowledge(self, press: Press, text: str) -> None:
        task = asyncio.create_task(self._send_acknowledgement(press, text), name="acknowledge")
        self._acknowledging.add(task)
        task.add_done_callback(self._acknowledging.discard)

    async def _send_acknowledgement(self, press: Press, text: str) -> None:
        try:
            adapter = self.adapters[press.conversation.platform]
            await adapter.deliver(Acknowledge(press.handle, text))
        except AdapterError as error:
            log.info("a press in %s was not acknowledged: %s", press.conversation.address, error)

    async def _message(self, message: Message) -> None:
        command = parse_command(message.text) is not None
        allowed = self.access.may_command if command else self.access.may_talk
        if not allowed(message.user.identity):
            return await self._stranger(message)
        if command:
            row = await self.store.run(lambda tx: tx.inbox.receive(_arrival(message)))
            if row is not None:
                await self._command(message, row)
            return None
        session = await self.store.run(partial(_receive_talk, message=message))
        if session is not None:
            self.turns.arrived(session, message.user.identity, private=message.private)

    async def _command(self, message: Message, row: InboxRow) -> None:
        name, argument = parse_command(message.text) or ("", "")
        address = message.conversation.address
        self._handling.add(row.id)
        try:
            session = await self.store.read(lambda tx: tx.directory.conversation(address))
            desk = Desk(self.turns, self.questions, self.composer, self.active)
            work = await run_command(desk, name, Asked(message, row, argument, session))

            def carry_out(tx: Transaction) -> None:
                if tx.inbox.get(row.id).state is InboxState.DONE:
                    return  # the sweep saw it as open a moment ago
                work(tx)
                tx.inbox.finish([row.id])

            await self.store.run(carry_out)
        except StoreError:
            log.exception("/%s in %s failed; it is tried again by the sweep", name, address)
        except Exception:
            # A fault of ours must neither lose the command in silence nor be tried for ever.
            log.exception("/%s in %s failed", name, address)
            await self.store.run(partial(self._apologise, message=message, row=row))
        finally:
            self._handling.discard(row.id)

    def _apologise(self, tx: Transaction, message: Message, row: InboxRow) -> None:
        self._say(tx, message, "⚠️ Something went wrong in the bot. Its log says what.")
        tx.inbox.finish([row.id])

    async def _stranger(self, message: Message) -> None:
        """Somebody unknown: they are told once, in private, who they are to us; where the platform
        waits for an answer to this very event, they get it. Nothing starts."""
        if not (message.private or message.handle):
            return

        def work(tx: Transaction) -> None:
            identity = message.user.identity
            first = tx.directory.greet(identity, message.user.name)
            if first:
                tx.directory.audit("stranger", identity, {"name": message.user.name})
            if first or message.handle:
                self._say(tx, message, STRANGER.format(identity=identity))

        await self.store.run(work)

    def _say(self, tx: Transaction, message: Message, text: str) -> None:
        for parcel in self.composer.reply(message, text):
            tx.outbox.enqueue(parcel)


def _arrival(update: Update, session: int | None = None) -> Arrival:
    payload: Json = asdict(update)
    address = update.conversation.address
    cursor = update.message_id if isinstance(update, Message) and update.message_id else None
    return Arrival(update.key, update.kind, address, payload, session, cursor)


def _receive_talk(tx: Transaction, message: Message) -> int | None:
    """Commit a message for its conversation's session; None where it was seen before."""
    address = message.conversation.address
    session = tx.directory.conversation(address)
    row = tx.inbox.receive(_arrival(message, session))
    if row is None:
        return None
    if session is None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        tx.directory.bind(address, session)
        tx.inbox.route(row.id, session)
    return session
