"""Messages that people changed after they were sent.

The newest message is asked again with its new text, beside the old one, wherever its turn is. One
that lies further back, on another branch or behind a compaction stays, and a button offers the
same. Everything that becomes of an edit is one transaction.
"""

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from adapters.events import Message
from gateway.access.quota import Quota
from gateway.commands.buttons import button
from gateway.commands.context import CarryOut, CommandContext
from gateway.commands.registry import parse_command
from gateway.commands.tree.siblings import Reask, is_on_path, is_said
from gateway.outbound.buttons import send_menu
from gateway.turns.messages import message_draft
from gateway.turns.policy.late import without_note
from gateway.turns.policy.limits import no_room_below
from storage.records.entries import Entry, Json
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
    InboxRow,
)
from storage.store import Transaction

OFFER = "You changed an older message (#{number}). Continue from there with the new text?"
ACCEPT = "Continue from there"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """No turn has begun with the message yet."""

    row: int
    """The inbox row that waits."""
    session: int
    newest: Literal[False] = False


@dataclass(frozen=True, slots=True)
class _Told:
    """The message stands in the tree, with another text."""

    entry: Entry
    session: int
    """The conversation's, where the message is in that; else the one it is in."""
    newest: bool
    """It can be asked again without going far back."""
    after: tuple[InboxRow, ...]
    """What was said since, and is being answered with it."""


_Found = _Waiting | _Told | None


def first_sent(edit: Message) -> Message:
    """An edited message as if it had been sent like that."""
    return replace(edit, key=edit.key.partition(":edit:")[0], kind="message")


@dataclass(frozen=True, slots=True)
class Edits:
    context: CommandContext

    async def edited(self, message: Message, row: InboxRow, carry_out: CarryOut) -> None:
        """A message that came in before, of somebody who may talk, has another text now. `row`:
        the edit's own, unfinished."""
        turns, who = self.context.turns, message.user.identity
        found, over = await self.context.store.read(partial(self._look, row=row, who=who))
        if found is None:
            return await carry_out(lambda tx: None)
        if over:
            return await carry_out(partial(self._refuse, row=row, who=who))
        session, still = found.session, None
        async with AsyncExitStack() as lane:
            may_cut = partial(turns.may_cut, session=session, who=who, private=message.private)
            if found.newest and await self.context.store.read(may_cut):
                await lane.enter_async_context(turns.scheduler.hold(session))
                still = session
            await carry_out(partial(self._take_in, row=row, still=still))

    def _look(self, tx: Transaction, row: InboxRow, who: str) -> tuple[_Found, bool]:
        """What it is about, and whether asking it again would be over a limit."""
        found = _find(tx, row)
        asks = isinstance(found, _Told) and found.newest
        return found, asks and self._quota.over(tx, who, row.address) is not None

    def _refuse(self, tx: Transaction, row: InboxRow, who: str) -> None:
        over = self._quota.over(tx, who, row.address)
        if over is not None and (text := self._quota.refuse(tx, over, who, row.address)):
            parcels = self.context.composer.post(row.address, text, reply_to=_id(row))
            send_menu(tx, parcels, (), private=row.payload["private"])

    @property
    def _quota(self) -> Quota:
        return Quota(self.context.config.limits)

    def _take_in(self, tx: Transaction, row: InboxRow, still: int | None) -> None:
        """`still`: the session in which no turn runs."""
        match _find(tx, row):
            case None:
                pass
            case _Waiting(waiting, session):
                tx.inbox.finish([waiting])
                tx.inbox.receive(_again(row, session))
            case _Told() as told if told.newest and told.session == still:
                self._ask_again(tx, row, told)
            case _Told() as told:
                self._offer(tx, row, told)

    def _ask_again(self, tx: Transaction, row: InboxRow, told: _Told) -> None:
        session, to, who = told.session, told.entry.parent, told.entry.author
        if (full := no_room_below(tx, session, to, self.context.config.session)) is not None:
            parcels = self.context.composer.post(row.address, full, reply_to=_id(row))
            send_menu(tx, parcels, (), private=row.payload["private"])
            return
        self._quota.take(tx, who, row.address)
        leaf = self.context.turns.cut(tx, session)
        tx.tree.move_leaf(session, to, after=leaf, by=who, why="edit")
        tx.inbox.receive(_again(row, session))
        for later in told.after:
            key = f"{later.key}:after:{row.id}"
            tx.inbox.receive(Arrival(key, later.kind, later.address, later.payload, session))

    def _offer(self, tx: Transaction, row: InboxRow, told: _Told) -> None:
        entry = told.entry
        text = OFFER.format(number=entry.number)
        tx.inbox.hold(row)
        item = button(ACCEPT, Reask(told.session, row.id, entry.parent))
        parcels = self.context.composer.post(row.address, text, reply_to=_id(row))
        by = message_draft(row).author
        send_menu(tx, parcels, [item], private=row.payload["private"], by=by)


def _again(row: InboxRow, session: int) -> Arrival:
    """The edited message as one that came in now."""
    payload = {**row.payload, "kind": "message"}
    return Arrival(f"edited:{row.id}", InboxKind.MESSAGE, row.address, payload, session)


def _id(row: InboxRow) -> str:
    return str(row.payload["message_id"])


def _find(tx: Transaction, row: InboxRow) -> _Found:
    """What an edit is about; None where nothing is to be done."""
    session = tx.directory.conversation(row.address)
    if session is None or parse_command(row.payload["text"]) is not None:
        return None
    draft = message_draft(row)
    unfinished = tx.inbox.unfinished(session)
    for waiting in unfinished:
        if waiting.kind is InboxKind.MESSAGE and waiting.entry is None and _is_same(waiting, row):
            unchanged = _reads(message_draft(waiting).body, draft.body)
            return None if unchanged else _Waiting(waiting.id, session)
    linked = tx.outbox.linked_entry(row.address, _id(row))
    if linked is None:
        return None
    entry = tx.tree.entry(linked)
    if _reads(entry.body, draft.body):
        return None
    return _told(tx, session, entry, unfinished)


def _told(tx: Transaction, session: int, entry: Entry, unfinished: list[InboxRow]) -> _Told:
    leaf = tx.tree.session(session).leaf
    if not is_on_path(tx, entry, leaf):
        return _Told(entry, entry.session, newest=False, after=())
    path = tx.tree.context_path(leaf)
    begun = [(each, each.entry) for each in unfinished if each.entry is not None]
    running = any(at == entry.id for _, at in begun)
    after = tuple(each for each, at in begun if each.kind is InboxKind.MESSAGE and at > entry.id)
    # Its parent must be there too, or a compaction has spoken for it.
    kept = path if path[0].parent is None else path[1:]
    reachable = any(each.id == entry.id for each in kept)
    # What others have said since must not leave the conversation without a word.
    last = next((each for each in reversed(path) if is_said(each)), None)
    newest = running or (last is not None and last.id == entry.id)
    return _Told(entry, session, reachable and newest, after)


def _reads(body: Json, other: Json) -> bool:
    """Whether two bodies say the same to people; one may be from before speakers were kept, or
    have a note on how late it was read."""
    return without_note(str(body.get("content"))) == without_note(str(other["content"]))


def _is_same(waiting: InboxRow, edit: InboxRow) -> bool:
    """Whether two rows are of one message of a platform."""
    return waiting.address == edit.address and waiting.payload["message_id"] == _id(edit)
