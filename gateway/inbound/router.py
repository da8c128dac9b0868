"""Update → handler. An update is committed before its adapter hears that we have it.

A press goes to `presses`; a command is handled before the next update of its platform; a message is
given to its session's lane.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import assert_never

from pydantic import TypeAdapter

from adapters.events import (
    Completion,
    Conversation,
    Message,
    Press,
    Stored,
    Unreadable,
    Update,
    cleaned,
)
from gateway.access.owner_code import OwnerCode
from gateway.access.roles import Access
from gateway.access.strangers import Strangers
from gateway.commands.context import CarryOut, CommandCall, CommandContext, Pressed, Work
from gateway.commands.registry import parse_command, perform
from gateway.inbound.albums import Albums
from gateway.inbound.completions import Completions
from gateway.inbound.edits import first_sent
from gateway.inbound.newcomers import Newcomers
from gateway.inbound.press_check import PressCheck
from gateway.inbound.presses import Presses
from gateway.inbound.replies import Replies
from gateway.inbound.threads import Threads
from gateway.status.notices import Notices
from gateway.turns.arrivals import TakeIn
from gateway.turns.failures import NOT_DONE, PAUSE, TRIES, Failures, once_there
from storage.errors import StoreError, StoreUnavailable
from storage.faults import Faults
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival, InboxKind, InboxRow, InboxState
from storage.store import Transaction

log = logging.getLogger(__name__)

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


@dataclass
class Router:
    context: CommandContext
    access: Access
    edited: Callable[[Message, InboxRow, CarryOut], Awaitable[None]]
    """Takes an edited message in, with its inbox row."""
    talk: TakeIn
    """Takes a message in that is no command; False where it was seen before."""
    failures: Failures
    notices: Notices
    threads: Threads
    completions: Completions
    strangers: Strangers = field(default_factory=Strangers)
    owner_code: OwnerCode = field(default_factory=OwnerCode)
    _handling: set[int] = field(default_factory=set, init=False)
    """Inbox rows being carried out, so that the sweep leaves them alone."""
    _faults: Faults = field(default_factory=lambda: Faults(log), init=False)
    _presses: Presses = field(init=False)
    _replies: Replies = field(init=False)
    _newcomers: Newcomers = field(init=False)
    _albums: Albums = field(init=False)

    def __post_init__(self) -> None:
        context = self.context
        self._albums = Albums(context.store)
        self._replies = Replies(context.store, self.access, context.questions, context.composer)
        self._newcomers = Newcomers(
            context.store, context.composer, self.access, self.strangers, self.owner_code
        )
        check = PressCheck(self.access, context.questions, context.turns)
        self._presses = Presses(
            self.context, self.access, self.strangers, check, self._command, self.notices
        )

    async def receive(self, update: Update) -> None:
        """Returns once the update is committed (and, but for messages, dealt with). While the
        store is away it waits: no platform hears that we have what we do not have. What fails each
        time is put aside, so that it is in nobody's way."""
        update = cleaned(update)
        if isinstance(update, Completion):  # answered now, or not at all
            return await self.completions.answer(update)
        for left in reversed(range(TRIES)):
            try:
                return await once_there(partial(self._receive, update), "what comes in")
            except Exception as error:
                # A fault of ours, or of this update: all others wait behind it.
                if not left:
                    return await self._put_aside(update, error)
                log.exception("an update cannot be taken in; again in %g s", PAUSE)
                await asyncio.sleep(PAUSE)

    async def _put_aside(self, update: Stored, error: Exception) -> None:
        who = "" if isinstance(update, Unreadable) else update.user.identity
        known = self.access.may_command(who)
        if not (known or self.strangers.presses(junk=True, known=False).admits(who)):
            return self.strangers.ignored("updates that cannot be taken in", who)
        await self.failures.update(update, error, tell=known)
        if known and isinstance(update, Press):
            self._presses.acknowledge(update, NOT_DONE)

    async def _receive(self, update: Stored) -> None:
        match update:
            case Press():
                await self._presses.receive(await self.threads.pressed(update, self.context.store))
            case Message():
                await self._said(update)
            case Unreadable():
                await self._pass_over(update)
            case _:
                assert_never(update)

    async def _said(self, update: Message) -> None:
        message = self.threads.placed(update)
        known = self.access.may_talk(update.user.identity)
        if message is None and known and await self._albums.continues(update):
            message = update
        if message is None:
            return
        message = await self.threads.replied(message, self.context.store)
        if message.kind == "edit":
            return await self._edit(message)
        for part in (*self._albums.before(message), message):
            await self._message(part)
        self._albums.taken(message)

    async def _pass_over(self, odd: Unreadable) -> None:
        """Put on record that something came, once, and that its conversation is read so far. What
        is over the limit is only counted: the next message there moves the cursor past it."""
        address = odd.conversation.address
        if not self.strangers.unreadable.admits(address):
            return self.strangers.ignored("events that cannot be read", address)

        def work(tx: Transaction) -> None:
            arrival = Arrival(
                odd.key,
                InboxKind.UNREADABLE,
                address,
                {"why": odd.why},
                cursor=odd.message_id or None,
            )
            row = tx.inbox.receive(arrival)
            if row is not None:
                tx.inbox.finish([row.id])
                details = {"address": arrival.address, "key": odd.key, "why": odd.why}
                tx.directory.audit("unreadable", "", details)

        await self.context.store.run(work)

    async def sweep(self) -> None:
        """Take up whatever is unfinished: after a start, and now and then. A command waits until
        its platform has started: it may need a file from there."""
        for row in await self.context.store.read(lambda tx: tx.inbox.unfinished()):
            if row.session is not None:
                # It came before this process did, or failed here: no commit tells of it.
                self.context.turns.scheduler.wake(row.session)
            else:
                await self._take_up(row)
        await self._presses.sweep()

    async def _take_up(self, row: InboxRow) -> None:
        try:
            if Conversation.parse(row.address).platform in self.context.adapters:
                await self._again(row)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - logged there
            # One row that fails must not keep the others from being taken up.
            readable = not isinstance(error, ValueError)
            await self.failures.row(row, error, readable=readable)

    async def _again(self, row: InboxRow) -> None:
        """ValueError (pydantic's too) where it cannot be read."""
        if row.kind is InboxKind.PRESS:
            await self._presses.again(row)
        elif row.kind is InboxKind.EDIT:
            await self._change(_MESSAGE.validate_python(row.payload), row)
        else:
            await self._command(_MESSAGE.validate_python(row.payload), row)

    async def close(self) -> None:
        """Let acknowledgements end."""
        await self._presses.close()
        try:
            await self.note_ignored(now=True)
        except StoreError:
            log.exception("what was over the limits is not on record")

    async def note_ignored(self, *, now: bool = False) -> None:
        """Put on record what was over the limits, where it is time to."""
        rows = self.strangers.summary(now=now)

        def work(tx: Transaction) -> None:
            for what, details in rows:
                tx.directory.audit("over the limit", "", {"what": what, **details})

        if rows:
            await self.context.store.run(work)

    async def _message(self, message: Message) -> None:
        if await self._newcomers.says_owner_code(message, partial(_arrival, message)):
            return
        command = parse_command(message.text) is not None
        if not command and await self._replies.take(_arrival(message), message):
            return
        allowed = self.access.may_command if command else self.access.may_talk
        if not allowed(message.user.identity):
            return await self._newcomers.stranger(message)
        await self._take(_arrival(message), message)

    async def _take(self, arrival: Arrival, message: Message) -> bool:
        """Take a message in, of somebody who may send it; False where it was seen before."""
        if parse_command(message.text) is not None:
            row = await self.context.store.run(lambda tx: tx.inbox.receive(arrival))
            if row is not None:
                await self._command(message, row)
            return row is not None
        return await self.talk(
            arrival,
            partial(self._replies.taken, arrival=arrival, message=message),
            partial(self._alongside, message=message),
        )

    def _alongside(self, tx: Transaction, message: Message) -> None:
        self._replies.refuse(tx, message)
        self.threads.note(tx, message)

    async def _edit(self, edit: Message) -> None:
        """A message has another text now. One that was never for the bot may be now: then it is
        new. A reply to a question is read again: its author was asked for a shorter one, say."""
        command = parse_command(edit.text) is not None
        if not command and await self._replies.take(_arrival(edit), edit):
            return
        if not self.access.may_talk(edit.user.identity):
            return
        message = first_sent(edit)
        # It names a message that was read before: the cursor must not go back to it.
        if await self._take(replace(_arrival(message), cursor=None), message):
            return
        row = await self.context.store.run(lambda tx: tx.inbox.receive(_arrival(edit)))
        if row is not None:
            await self._change(edit, row)

    async def _change(self, edit: Message, row: InboxRow) -> None:
        await self._handle(edit, row, partial(self.edited, edit, row))

    async def _command(
        self, message: Message, row: InboxRow, pressed: Pressed | None = None
    ) -> None:
        async def run(carry_out: CarryOut) -> None:
            name, argument = parse_command(message.text) or ("", "")
            address = message.conversation.address
            session = await self.context.store.read(lambda tx: tx.directory.conversation(address))
            call = CommandCall(self.context, message, row, argument, session, pressed)
            await perform(name, call, carry_out)

        await self._handle(message, row, run)

    async def _handle(
        self, message: Message, row: InboxRow, run: Callable[[CarryOut], Awaitable[None]]
    ) -> None:
        """Run what takes its work into the transaction that finishes an inbox row. Nothing where
        that is being done, or was done since the row was read."""
        if row.id in self._handling:
            return
        self._handling.add(row.id)

        async def carry_out(work: Work) -> None:
            def once(tx: Transaction) -> None:
                work(tx)
                tx.inbox.finish([row.id])

            await self.context.store.run(once)

        try:
            kept = await self.context.store.read(lambda tx: tx.inbox.get(row.id))
            if kept.state is InboxState.OPEN:
                await run(carry_out)
        except StoreUnavailable as error:
            self._faults.failed("a command cannot be carried out; it is tried again", error)
        except Exception as error:
            # A fault of ours must neither lose the command in silence nor be tried for ever.
            log.exception("%s %s failed", row.kind, row.key)
            if isinstance(error, StoreError) and self.failures.tries.again(row.id):
                return  # Somebody else wrote in between, maybe: the sweep tries it again.
            await self.context.store.run(partial(self._apologise, message=message, row=row))
        finally:
            self._handling.discard(row.id)

    def _apologise(self, tx: Transaction, message: Message, row: InboxRow) -> None:
        self._say(tx, message, "⚠️ Something went wrong in the bot. Its log says what.")
        tx.inbox.finish([row.id])

    def _say(self, tx: Transaction, message: Message, text: str) -> None:
        for parcel in self.context.composer.reply(message, text):
            tx.outbox.enqueue(parcel)


def _arrival(update: Message) -> Arrival:
    payload: Json = asdict(update)
    address = update.conversation.address
    cursor = (update.message_id or None) if update.kind == "message" else None
    return Arrival(update.key, InboxKind(update.kind), address, payload, cursor=cursor)
