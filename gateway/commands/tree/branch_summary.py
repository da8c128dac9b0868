"""Leaving a branch: moving the leaf, and a summary of what is left, brought along to where one
arrives.

`branch_summaries` under [session] says when: never, when somebody asks for it, or always. Where it
is always, the summary is written first: if that fails, nothing has moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import CommandSpec
from agent.compaction.cut import has_messages
from agent.compaction.summary import Summary, branch_summary_draft, summarise_branch
from agent.models.base import Model, ModelError, Purpose
from agent.models.metering import Account, MeteredModel
from agent.text.markdown import escape
from gateway.commands.buttons import button
from gateway.commands.context import NOTHING_YET, Command, CommandCall, CommandContext, Work, answer
from gateway.commands.tree.compact import end
from gateway.outbound.buttons import MenuItem
from gateway.turns.limits import no_room_below
from gateway.turns.requests import LeaveRequest, SummaryRequest, request, requested
from gateway.turns.turn import Turn
from storage.errors import LeafMoved
from storage.records.entries import Entry
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
)
from storage.store import Transaction
from storage.tree.paths import common

SUMMARY = InboxKind.SUMMARY
LEAVE = InboxKind.LEAVE
"""Kinds of inbox rows: summarise what was left; summarise, then move."""
NOTHING_LEFT = "No branch was left that could be summarised."
WENT_ON = "The conversation went on meanwhile; nothing was moved."
GLANCE = 20
"""Entries of a branch that are looked at to see whether a summary would say anything."""
LEAVING = frozenset({"branch", "goto", "tip"})
"""Moves after which /summary knows what was left."""


def move(
    tx: Transaction,
    desk: CommandContext,
    asked: CommandCall,
    to: int | None,
    *,
    why: str,
    text: str,
    items: Sequence[MenuItem] = (),
) -> None:
    """Move the leaf of the session for a command, and answer with a text and buttons; what is left
    is summarised as configured. LeafMoved where somebody was faster."""
    session, left = asked.session, asked.leaf
    assert session is not None
    if (full := no_room_below(tx, session, to, desk.config.session)) is not None:
        return desk.say(tx, asked, full)
    mode = desk.config.session.branch_summaries
    worth_it = mode != "off" and _is_worth_it(abandoned(tx, left, to, GLANCE))
    if worth_it and mode == "auto":
        return _leave(tx, desk, asked, to, why=why, text=text, items=items)
    tx.tree.move_leaf(session, to, after=left, by=asked.who, why=why)
    if worth_it:
        items = [*items, button(asked, "Bring a summary along", SUMMARY, left=left)]
    desk.say(tx, asked, text, items)


def abandoned(
    tx: Transaction, left: int | None, to: int | None, limit: int | None = None
) -> tuple[Entry, ...]:
    """What is on the path to one leaf and not on the path to another, upper first; of it the last
    `limit` entries."""
    if left is None:
        return ()
    shared = common(tx.tree.route(left), tx.tree.route(to))
    above = tx.tree.entry(shared).depth + 1 if shared is not None else 0
    length = tx.tree.entry(left).depth + 1 - above
    return tx.tree.path_end(left, length if limit is None else min(length, limit))


def _is_worth_it(entries: Sequence[Entry]) -> bool:
    """Something was asked and answered there."""
    roles = {entry.body.get("role") for entry in entries}
    return {"user", "assistant"} <= roles


def _leave(
    tx: Transaction,
    desk: CommandContext,
    asked: CommandCall,
    to: int | None,
    *,
    why: str,
    text: str,
    items: Sequence[MenuItem],
) -> None:
    """Have the summary written in the session's lane; the move comes after it."""
    payload = request(
        LeaveRequest,
        asked.message,
        left=asked.leaf,
        to=to,
        why=why,
        answer=text,
        items=tuple(items),
    )
    key = f"{LEAVE}:{asked.row.id}"
    tx.inbox.receive(Arrival(key, LEAVE, asked.address, payload, asked.session))
    desk.say(tx, asked, "Summarising the branch you leave…")


async def _summary(desk: CommandContext, asked: CommandCall) -> Work:
    """/summary: of the branch that was left last, or that a button names."""
    session = asked.session
    if session is None:
        return answer(desk, asked, NOTHING_YET)

    def work(tx: Transaction) -> None:
        left = asked.subject.get("left") or _left_last(tx, session)
        here = tx.tree.session(session).leaf
        if left is None or not has_messages(abandoned(tx, left, here)):
            return desk.say(tx, asked, NOTHING_LEFT)
        payload = request(SummaryRequest, asked.message, left=left, words=asked.argument)
        key = f"{SUMMARY}:{asked.row.id}"
        tx.inbox.receive(Arrival(key, SUMMARY, asked.address, payload, session))
        desk.say(tx, asked, "Summarising the branch you left…")

    return work


def _left_last(tx: Transaction, session: int) -> int | None:
    moves = [move for move in tx.tree.leaf_moves(session) if move.why in LEAVING]
    return moves[-1].source if moves else None


@dataclass(frozen=True, slots=True)
class Leaving:
    """The jobs in the session's lane."""

    desk: CommandContext
    model: Model

    async def summarise(self, turn: Turn) -> None:
        """Append the summary of a branch that was left, where the conversation is now."""
        asked, journal = requested(SummaryRequest, turn.rows[0]), turn.journal
        here = journal.path[-1].id if journal.path else None
        left = asked.left
        summary = await self._summary(turn, left, here, asked.words)
        if summary is None:
            return

        def done(tx: Transaction, entry: Entry) -> None:
            end(self.desk, tx, turn, f"The summary of what you left stands at #{entry.number}.")

        await journal.append(branch_summary_draft(summary, left), done)

    async def leave(self, turn: Turn) -> None:
        """Write the summary of a branch, then leave it."""
        asked, path = requested(LeaveRequest, turn.rows[0]), turn.journal.path
        left, to = asked.left, asked.to
        if not path or path[-1].id != left:
            return await self._end(turn, WENT_ON)
        summary = await self._summary(turn, left, to, "")
        if summary is None:
            return

        def work(tx: Transaction) -> None:
            session = turn.journal.session
            tx.tree.move_leaf(session, to, after=left, by=turn.person, why=asked.why)
            draft = branch_summary_draft(summary, left)
            tx.tree.append(session, draft, after=to, epoch=turn.journal.epoch)
            end(self.desk, tx, turn, asked.answer, asked.items)

        try:
            await self.desk.store.run(work)
        except LeafMoved:
            await self._end(turn, WENT_ON)

    async def _summary(self, turn: Turn, left: int, to: int | None, words: str) -> Summary | None:
        """None where there is none; then people are told why, and nothing was changed."""
        entries = await self.desk.store.read(lambda tx: abandoned(tx, left, to))
        if not has_messages(entries):  # somebody has gone back there since
            await self._end(turn, NOTHING_LEFT)
            return None
        purpose = Purpose(turn.address, turn.person)
        models, named = self.desk.models, self.desk.config.session.summary_model
        spec = models.find(named or "") or models.tier("parent")
        account = Account("parent", turn.journal.session, purpose)
        metered = MeteredModel(self.model, self.desk.store, account)
        try:
            return await summarise_branch(metered, spec, entries, words=words, purpose=purpose)
        except ModelError as error:
            why = escape(str(error).rstrip("."))
        text = f"⚠️ The summary failed: {why}. Nothing was changed; you are where you were."
        await self._end(turn, text)
        return None

    async def _end(self, turn: Turn, text: str) -> None:
        await self.desk.store.run(lambda tx: end(self.desk, tx, turn, text))


SUMMARIES = (
    Command(
        CommandSpec(SUMMARY, "summarise the branch you left last and bring that along", "words"),
        _summary,
    ),
)
