"""Carries out inbox rows that are a command or a changed message: each once, in the transaction
that finishes the row."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from adapters.events import Message
from gateway.commands.context import CarryOut, CommandCall, CommandContext, Pressed, Work
from gateway.commands.registry import parse_command, perform
from gateway.turns.failures import Failures
from storage.errors import StoreError, StoreUnavailable
from storage.faults import Faults
from storage.records.inbox_outbox import InboxRow, InboxState
from storage.store import Transaction

log = logging.getLogger(__name__)


@dataclass(slots=True)
class RowHandler:
    context: CommandContext
    failures: Failures
    edited: Callable[[Message, InboxRow, CarryOut], Awaitable[None]]
    """Takes an edited message in, with its inbox row."""
    _handling: set[int] = field(default_factory=set, init=False)
    """Inbox rows being carried out, so that the sweep leaves them alone."""
    _faults: Faults = field(default_factory=lambda: Faults(log), init=False)

    async def command(
        self, message: Message, row: InboxRow, pressed: Pressed | None = None
    ) -> None:
        """A command, or with `pressed` the action of a button."""

        async def run(carry_out: CarryOut) -> None:
            name, argument = parse_command(message.text) or ("", "")
            address = message.conversation.address
            session = await self.context.store.read(lambda tx: tx.directory.conversation(address))
            call = CommandCall(self.context, message, row, argument, session, pressed)
            await perform(name, call, carry_out)

        await self.handle(message, row, run)

    async def change(self, edit: Message, row: InboxRow) -> None:
        """A message has another text now."""
        await self.handle(edit, row, partial(self.edited, edit, row))

    async def handle(
        self, message: Message, row: InboxRow, run: Callable[[CarryOut], Awaitable[None]]
    ) -> None:
        """Run what takes its work into the transaction that finishes an inbox row. Nothing where
        that is being done, or was done since the row was read."""
        if row.id in self._handling:
            return
        self._handling.add(row.id)

        async def carry_out(work: Work) -> None:
            def once(tx: Transaction) -> None:
                if tx.inbox.get(row.id).state is InboxState.OPEN:  # else another process was faster
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
        text = "⚠️ Something went wrong in the bot. Its log says what."
        for parcel in self.context.composer.reply(message, text):
            tx.outbox.enqueue(parcel)
        tx.inbox.finish([row.id])
