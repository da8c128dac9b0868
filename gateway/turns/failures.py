"""What fails each time it is tried. A store that is away is waited for; all else is tried a few
times, then put aside: on record, told where there is somebody to tell, and in nobody's way.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TypeVar

from adapters.events import Message, Stored
from agent.delegation.settlement import FINAL, interrupt, result_arrival
from agent.models.base import RETRIED, ModelError, ModelErrorKind
from agent.text.markdown import bounded, escape
from gateway.outbound.composer import Composer
from gateway.turns.cancellation import end_rows
from gateway.turns.messages import message_draft
from gateway.turns.turn import SAID, Turn
from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.records.entries import Entry, Json
from storage.records.inbox_outbox import (
    Arrival,
    DelegationRow,
    Event,
    InboxKind,
    InboxRow,
    InboxState,
)
from storage.records.record_entries import Failed, record_draft
from storage.store import Store, Transaction
from storage.traces import without_trace

T = TypeVar("T")

log = logging.getLogger(__name__)
_away = Faults(log)

TRIES = 3
PAUSE = 0.1
"""Seconds between tries of what failed, and nothing says that time will help."""
STORE_PAUSE = 1.0
"""Seconds between tries while the store is away."""
FAILED = "failed update"
"""What the audit calls it."""
NOT_TAKEN = (
    "⚠️ Your message could not be taken in: something in it is more than the bot can handle. Its "
    "log says what; please send it in another form."
)
NOT_DONE = (
    "⚠️ Something went wrong in the bot, again and again, so this was given up. Its log says what; "
    "please try again."
)
LONGEST_REASON = 300
"""Characters."""
LONGEST_ABOUT = 1_000
"""Characters that are shown of what happened."""


@dataclass(slots=True)
class Tries:
    """How often each thing has failed in this process."""

    _failed: Counter[Hashable] = field(default_factory=Counter)

    def again(self, what: Hashable) -> bool:
        """It failed once more; whether to try again."""
        self._failed[what] += 1
        if self._failed[what] < TRIES:
            return True
        self.forget(what)
        return False

    def forget(self, what: Hashable) -> None:
        """It did not fail, or nothing depends on it any more."""
        self._failed.pop(what, None)


async def once_there(store_work: Callable[[], Awaitable[T]], what: str) -> T:
    """Do it, as soon as the store is there; raises all other errors."""
    while True:
        try:
            return await store_work()
        except StoreUnavailable as error:
            _away.failed(f"{what} waits", error)
            await asyncio.sleep(STORE_PAUSE)


@dataclass(frozen=True, slots=True)
class Failures:
    store: Store
    composer: Composer
    tries: Tries = field(default_factory=Tries)

    async def update(self, update: Stored, error: Exception, *, tell: bool) -> None:
        """An update cannot be taken in. Returns as soon as that is on record, in the inbox if it
        can be: its platform may hear that we have it."""
        log.error("update %r cannot be taken in; it is put aside", update.key, exc_info=error)
        await self._first_that_works(
            partial(self._keep, update=update, error=error, tell=tell),
            partial(_note, key=update.key, error=error),
        )

    async def row(self, row: InboxRow, error: Exception, *, readable: bool = True) -> None:
        """An inbox row could not be carried out: the sweep tries it again, but not for ever."""
        if readable and self.tries.again(row.id):
            log.error("%s %s failed; it is tried again", row.kind, row.key, exc_info=error)
            return
        log.error("%s %s is put aside", row.kind, row.key, exc_info=error)
        await self._first_that_works(partial(_end, rows=[row], error=error))

    async def turns(
        self, advance: Callable[[int], Awaitable[None]], due: "Due", session: int
    ) -> None:
        """Advance a session. What fails each time is given up, so that the rest can follow."""
        while (error := await self._advance(advance, session)) is not None:
            log.error("the turn of session %s is given up", session, exc_info=error)
            ended = await self._first_that_works(
                partial(self._give_up, session=session, due=due, error=error),
                partial(_end_oldest, session=session, error=error),
            )
            if not ended:
                return  # It is tried again by the sweep.

    async def _advance(
        self, advance: Callable[[int], Awaitable[None]], session: int
    ) -> Exception | None:
        """What it failed with each time."""
        failed: Exception | None = None
        for _ in range(TRIES):
            try:
                await advance(session)
                return None
            except StoreUnavailable:
                raise
            except Exception as error:
                # The boundary of a turn: one that fails must not be tried for ever.
                log.exception("the turn of session %s failed", session)
                failed = error
                await asyncio.sleep(PAUSE)
        return failed

    async def _first_that_works(self, *works: "Ending") -> bool:
        for work in works:
            try:
                return await once_there(partial(self.store.run, work), "a failure")
            except Exception:
                # What failed may well break this too: then the next, humbler record is tried.
                log.exception("a failure cannot be recorded like that")
        log.error("a failure is on record only here")
        return False

    def _keep(self, tx: Transaction, update: Stored, error: Exception, tell: bool) -> bool:
        row = tx.inbox.receive(_arrival(update))
        if row is None:
            return False  # It is in the inbox, and the sweep looks after it.
        _end(tx, [row], error)
        if tell and isinstance(update, Message):
            for parcel in self.composer.reply(update, NOT_TAKEN):
                tx.outbox.enqueue(parcel)
        return True

    def _give_up(self, tx: Transaction, session: int, due: "Due", error: Exception) -> bool:
        rows = due(tx, session, tx.inbox.unfinished(session))
        rows = [row for row in rows if not _readable(row)] or rows
        if not rows:
            return False
        for row in rows:
            if row.kind is InboxKind.BACKGROUND:
                _interrupted(tx, row)
        end_rows(tx, session, rows, InboxState.FAILED)  # not done: their words are kept
        _end(tx, rows, error)
        text = _with_what_happened(NOT_DONE, rows[-1])
        for parcel in self.composer.post(rows[-1].address, text):
            tx.outbox.enqueue(parcel)
        return True


async def no_answer(composer: Composer, turn: Turn, text: str, error: str) -> None:
    """Tell people that a turn has no answer, and why; it is over."""
    text = _with_what_happened(text, turn.rows[-1])
    parcels = composer.post(turn.address, text, reply_to=turn.reply_to)
    rows = turn.row_ids

    def alongside(tx: Transaction, _: Entry) -> None:
        for parcel in parcels:
            tx.outbox.enqueue(parcel)
        tx.inbox.finish(rows)

    await turn.journal.append(record_draft(Failed(error)), alongside)


def _with_what_happened(text: str, row: InboxRow) -> str:
    """Of an event people have seen nothing: what they were to be reminded of, say, is not lost."""
    if row.kind is not InboxKind.EVENT:
        return text
    event = Event(**without_trace(row.payload))
    about = f"\n> {escape(bounded(event.about, LONGEST_ABOUT))}" if event.about else ""
    return f"{text}\n\nThis was to be answered: {escape(event.title)}.{about}"


def explain(error: ModelError) -> str:
    """What people are told where a model could not be asked, and what they can do."""
    said = str(error)
    why = escape(said if said.endswith("?") else f"{said.rstrip('.')}.")
    if error.partial:
        what = f"⚠️ The answer broke off: {why}"
        return f"{what} What came of it stays; /retry asks again."
    match error.kind:
        case ModelErrorKind.BUDGET:
            return f"⚠️ {error}"
        case ModelErrorKind.CONTEXT_LENGTH:
            advice = "This conversation is too long for it: /new begins another."
        case kind if kind in RETRIED:
            advice = "Please try again later."
        case _:
            advice = "Trying again will not help: tell the bot's owner."
    return f"⚠️ The model could not answer: {why} {advice}"


def _arrival(update: Stored) -> Arrival:
    return Arrival(update.key, InboxKind(update.kind), update.conversation.address, asdict(update))


Due = Callable[[Transaction, int, list[InboxRow]], list[InboxRow]]
"""Which of a session's unfinished rows a turn is about."""

Ending = Callable[[Transaction], bool]
"""Puts something aside; whether there was something."""


def _readable(row: InboxRow) -> bool:
    """False for a message that no entry can be made of. It must not take others with it."""
    try:
        return row.kind not in SAID or bool(message_draft(row))
    except Exception:
        log.exception("inbox row %s cannot be read", row.id)
        return False


def _interrupted(tx: Transaction, row: InboxRow) -> None:
    """Background work ends, and who delegated it hears of it."""
    delegation = tx.delegations.get(DelegationRow(**without_trace(row.payload)).delegation)
    if delegation.state in FINAL:
        return
    interrupt(tx, delegation)
    tx.inbox.receive(result_arrival(delegation))


def _end_oldest(tx: Transaction, session: int, error: Exception) -> bool:
    rows = tx.inbox.unfinished(session)
    broken = [row for row in rows if not _readable(row)]
    return _end(tx, (broken or rows)[:1], error)


def _end(tx: Transaction, rows: list[InboxRow], error: Exception) -> bool:
    tx.inbox.finish([row.id for row in rows], InboxState.FAILED)
    for row in rows:
        _audit(tx, {"inbox": row.id, "key": ascii(row.key)[:LONGEST_REASON]}, error)
    return bool(rows)


def _note(tx: Transaction, key: str, error: Exception) -> bool:
    _audit(tx, {"key": ascii(key)[:LONGEST_REASON]}, error)
    return True


def _audit(tx: Transaction, details: Json, error: Exception) -> None:
    """In ASCII: what cannot be encoded may be what is wrong."""
    why = ascii(repr(error)).strip("'\"")[:LONGEST_REASON]
    tx.directory.audit(FAILED, "", {**details, "why": why})
