"""Takes in what people write: a code, an answer to a question, a command, talk, or the new text of
one. A command is carried out before the next update of its platform is taken in; talk is left to
its session's lane."""

from dataclasses import dataclass, replace
from functools import partial

from pydantic import TypeAdapter

from adapters.events import Message
from gateway.access.roles import Access
from gateway.commands.registry import parse_command
from gateway.inbound.albums import Albums
from gateway.inbound.edits import first_sent
from gateway.inbound.newcomers import Newcomers
from gateway.inbound.replies import Replies
from gateway.inbound.row_handler import RowHandler
from gateway.inbound.threads import Threads
from gateway.turns.arrivals import TakeIn
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival, InboxKind, InboxRow
from storage.store import Store, Transaction

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


@dataclass(frozen=True, slots=True)
class MessageIntake:
    store: Store
    access: Access
    threads: Threads
    albums: Albums
    replies: Replies
    newcomers: Newcomers
    rows: RowHandler
    talk: TakeIn
    """Takes a message in that is no command; False where it was seen before."""

    async def receive(self, update: Message) -> None:
        """A message, or the new text of one; returns once it is committed."""
        message = self.threads.placed(update)
        known = self.access.may_talk(update.user.identity)
        if message is None and known and await self.albums.continues(update):
            message = update
        if message is None:
            return
        message = await self.threads.replied(message, self.store)
        if message.kind == "edit":
            return await self._edit(message)
        for part in (*self.albums.before(message), message):
            await self._message(part)
        self.albums.taken(message)

    async def _message(self, message: Message) -> None:
        if await self.newcomers.says_owner_code(message, partial(arrival_of, message)):
            return
        command = parse_command(message.text) is not None
        arrival = arrival_of(message)
        if not command and await self.replies.take(arrival, message):
            return
        allowed = self.access.may_command if command else self.access.may_talk
        if not allowed(message.user.identity):
            return await self.newcomers.stranger(message)
        await self._take(arrival, message)

    async def _take(self, arrival: Arrival, message: Message) -> bool:
        """Take a message in, of somebody who may send it; False where it was seen before."""
        if parse_command(message.text) is not None:
            row = await self.store.run(partial(self._commanded, arrival=arrival, message=message))
            if row is not None:
                await self.rows.command(message, row)
            return row is not None
        return await self.talk(
            arrival,
            partial(self.replies.taken, arrival=arrival, message=message),
            partial(self._alongside, message=message),
        )

    def _commanded(self, tx: Transaction, arrival: Arrival, message: Message) -> InboxRow | None:
        """None where it was seen before. Who may only decide is in no conversation that has their
        name, so it is kept here: those who ask are told whom to wait for."""
        row = tx.inbox.receive(arrival)
        if row is not None and self.access.lets_run(message.user.identity):
            tx.directory.greet(message.user.identity, message.user.name)
        return row

    def _alongside(self, tx: Transaction, message: Message) -> None:
        self.replies.refuse(tx, message)
        self.threads.note(tx, message)

    async def _edit(self, edit: Message) -> None:
        """A message has another text now. One that was never for the bot may be now: then it is
        new. A reply to a question is read again: its author was asked for a shorter one, say."""
        command = parse_command(edit.text) is not None
        if not command and await self.replies.take(arrival_of(edit), edit):
            return
        if not self.access.may_talk(edit.user.identity):
            return
        message = first_sent(edit)
        # It names a message that was read before: the cursor must not go back to it.
        if await self._take(replace(arrival_of(message), cursor=None), message):
            return
        row = await self.store.run(lambda tx: tx.inbox.receive(arrival_of(edit)))
        if row is not None:
            await self.rows.change(edit, row)


def arrival_of(update: Message) -> Arrival:
    """What is stored of it. An edit does not move on to where its conversation is read."""
    payload: Json = _MESSAGE.dump_python(update)
    address = update.conversation.address
    cursor = (update.message_id or None) if update.kind == "message" else None
    return Arrival(update.key, InboxKind(update.kind), address, payload, cursor=cursor)


def message_in(row: InboxRow) -> Message:
    """The message that a row was made of. ValueError (pydantic's too) where it cannot be read."""
    return _MESSAGE.validate_python(row.payload)
