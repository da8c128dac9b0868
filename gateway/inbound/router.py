"""Update → handler. An update is committed before its adapter hears that we have it.

A press goes to `presses`, a message to `message_intake`. What was left undone is taken up again.
"""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import assert_never

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
from agent.spans import first_span
from gateway.access.roles import Access
from gateway.access.stored_limits import admits
from gateway.access.strangers import UNREADABLE, Strangers
from gateway.commands.context import CommandContext
from gateway.inbound.completions import Completions
from gateway.inbound.message_intake import MessageIntake, message_in
from gateway.inbound.presses import Presses
from gateway.inbound.row_handler import RowHandler
from gateway.turns.failures import NOT_DONE, PAUSE, TRIES, Failures, once_there
from storage.errors import StoreError, StoreUnavailable
from storage.records.inbox_outbox import Arrival, InboxKind, InboxRow
from storage.store import Transaction
from storage.traces import new_trace, traced

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Router:
    context: CommandContext
    access: Access
    messages: MessageIntake
    presses: Presses
    rows: RowHandler
    completions: Completions
    failures: Failures
    strangers: Strangers

    async def receive(self, update: Update) -> None:
        """Returns once the update is committed (and, but for messages, dealt with). While the
        store is away it waits: no platform hears that we have what we do not have. What fails each
        time is put aside, so that it is in nobody's way."""
        update = cleaned(update)
        if isinstance(update, Completion):  # answered now, or not at all
            return await self.completions.answer(update)
        platform, kind = update.conversation.platform, type(update).__name__.lower()
        about = {"bough.platform": platform, "bough.kind": kind}
        with traced(new_trace()), first_span(f"update {platform}", about):
            await self._take_in(update)
            log.info("update", extra={"address": update.conversation.address, "kind": kind})

    async def _take_in(self, update: Stored) -> None:
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
            self.presses.acknowledge(update, NOT_DONE)

    async def _receive(self, update: Stored) -> None:
        match update:
            case Press():
                threads = self.messages.threads
                await self.presses.receive(await threads.pressed(update, self.context.store))
            case Message():
                await self.messages.receive(update)
            case Unreadable():
                await self._pass_over(update)
            case _:
                assert_never(update)

    async def _pass_over(self, odd: Unreadable) -> None:
        """Put on record that something came, once, and that its conversation is read so far. What
        is over the limit is only counted: the next message there moves the cursor past it."""
        address = odd.conversation.address
        if not self.strangers.unreadable.admits(address):
            return self.strangers.ignored("events that cannot be read", address)

        def work(tx: Transaction) -> bool:
            if not admits(tx, "unreadable", UNREADABLE, address):
                return False
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
            return True

        if not await self.context.store.run(work):
            self.strangers.ignored("events that cannot be read", address)

    async def invite(self) -> str:
        """A new owner code, for who sits at the terminal."""
        return await self.messages.newcomers.invite()

    async def sweep(self, young: float = 0.0) -> None:
        """Take up whatever is unfinished: after a start, and now and then. A command waits until
        its platform has started: it may need a file from there. `young`: seconds in which one that
        came is left to who took it in, in another process maybe."""
        now, rows = await self.context.store.read(lambda tx: (tx.now, tx.inbox.unfinished()))
        for row in rows:
            if row.session is None and now - row.time < young:
                continue
            if row.session is not None:
                # It came before this process did, or failed here: no commit tells of it.
                self.context.turns.scheduler.wake(row.session)
            else:
                await self._take_up(row)
        await self.presses.sweep()

    async def _take_up(self, row: InboxRow) -> None:
        try:
            if Conversation.parse(row.address).platform in self.context.adapters:
                with traced(row.trace):
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
            await self.presses.again(row)
        elif row.kind is InboxKind.EDIT:
            await self.rows.change(message_in(row), row)
        else:
            await self.rows.command(message_in(row), row)

    async def close(self) -> None:
        """Let acknowledgements end."""
        await self.presses.close()
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
