"""Albums of groups: each of their messages comes for itself, and only the one with the words names
the bot. The others belong to it, whether they come after it or before."""

from collections import deque
from dataclasses import dataclass, field
from functools import partial

from adapters.events import Message
from gateway.turns.messages import author_of
from storage.records.inbox_outbox import InboxKind
from storage.store import Store, Transaction

KEPT = 100
"""Messages, in all, that may yet turn out to belong to the bot. They are in memory: what a crash
takes is a picture that came before the words it belongs to, by less than a second."""


@dataclass(frozen=True, slots=True)
class Albums:
    store: Store
    _before: deque[Message] = field(default_factory=lambda: deque(maxlen=KEPT), init=False)

    async def continues(self, message: Message) -> bool:
        """Whether a message, which does not name the bot, belongs to an album that was taken in. If
        not, it is remembered, for one that comes."""
        if not message.album or message.kind != "message":
            return False
        if await self.store.read(partial(_is_taken, message=message)):
            return True
        if message not in self._before:
            self._before.append(message)
        return False

    def before(self, message: Message) -> list[Message]:
        """What came of an album before the message that is for the bot."""
        return [one for one in self._before if _same(one, message)] if message.album else []

    def taken(self, message: Message) -> None:
        """All of it was taken in so far."""
        for one in self.before(message):
            self._before.remove(one)


def _same(one: Message, other: Message) -> bool:
    return (one.album, one.conversation, one.user.identity) == (
        other.album,
        other.conversation,
        other.user.identity,
    )


def _is_taken(tx: Transaction, message: Message) -> bool:
    session = tx.directory.conversation(message.conversation.address)
    return session is not None and any(
        row.kind is InboxKind.MESSAGE
        and row.payload.get("album") == message.album
        and author_of(row) == message.user.identity
        for row in tx.inbox.unfinished(session)
        if row.address == message.conversation.address
    )
