"""Leaving a branch: moving the leaf, and a summary of what is left, brought along to where one
arrives.

`branch_summaries` under [session] says when: never, when somebody asks for it, or always. Where it
is always, the summary is written first: if that fails, nothing has moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.base import CommandSpec
from agent.compaction.cut import has_messages
from agent.compaction.summary import Summary, branch_summary_draft, summarise_branch
from agent.models.base import ModelError, Purpose
from agent.models.metering import Account, MeteredModel
from agent.text.markdown import escape
from gateway.commands.buttons import button
from gateway.commands.context import (
    Action,
    Command,
    CommandCall,
    Job,
    Move,
    Outcome,
    Reply,
    in_session,
)
from gateway.commands.jobs import JobContext
from gateway.turns.requests import LeaveRequest, SummaryRequest, request, requested
from gateway.turns.turn import Turn
from storage.errors import LeafMoved
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind
from storage.store import Transaction
from storage.tree.paths import common

SUMMARY = InboxKind.SUMMARY
LEAVE = InboxKind.LEAVE
"""Kinds of inbox rows: summarise what was left; summarise, then move."""
NOTHING_LEFT = "No branch was left that could be summarised."
WENT_ON = "The conversation went on meanwhile; nothing was moved."
GLANCE = 20
"""Entries of a branch that are looked at to see whether a summary would say anything."""
LEAVING = frozenset({"branch", "goto", "tip", "undo", "sibling"})
"""Moves after which /summary knows what was left."""


def summed_up(tx: Transaction, call: CommandCall, move: Move) -> Move:
    """A move on which what is left is summarised as configured. Where that is always done, the
    leaf stays until the summary is written, in the session's lane."""
    left = tx.tree.session(move.session).leaf
    mode = call.context.settings.summaries_at(call.address)
    if left is None or mode == "off":
        return move
    if not _is_worth_it(abandoned(tx, left, move.to, GLANCE)):
        return move
    reply = move.reply or Reply("")
    if mode == "ask":
        bring = button("Bring a summary along", Bring(left), within=move.session)
        return replace(move, reply=replace(reply, items=[*reply.items, bring]))
    payload = request(
        LeaveRequest,
        call.message,
        left=left,
        to=move.to,
        why=move.why,
        answer=reply.text,
        items=tuple(reply.items),
        shows=reply.shows,
    )
    job = Job(LEAVE, payload)
    return Move(move.session, left, move.why, Reply("Summarising the branch you leave…"), job)


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


def _summary(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    """/summary: of the branch that was left last."""
    return _summarised(tx, call, session, _left_last(tx, session), call.argument)


@dataclass(frozen=True, slots=True)
class Bring(Action):
    """Bring a summary along of a branch that was left."""

    left: int
    """The leaf there."""
    name = "bring"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        assert call.session is not None, "it was made within a session"
        return _summarised(tx, call, call.session, self.left, "")


def _summarised(
    tx: Transaction, call: CommandCall, session: int, left: int | None, words: str
) -> Outcome:
    here = tx.tree.session(session).leaf
    if left is None or not has_messages(abandoned(tx, left, here)):
        return Reply(NOTHING_LEFT)
    payload = request(SummaryRequest, call.message, left=left, words=words)
    return Job(SUMMARY, payload, Reply("Summarising the branch you left…"))


def _left_last(tx: Transaction, session: int) -> int | None:
    moves = [move for move in tx.tree.leaf_moves(session) if move.why in LEAVING]
    return moves[-1].source if moves else None


@dataclass(frozen=True, slots=True)
class Leaving:
    """The jobs in the session's lane."""

    context: JobContext

    async def summarise(self, turn: Turn) -> None:
        """Append the summary of a branch that was left, where the conversation is now."""
        asked, journal = requested(SummaryRequest, turn.rows[0]), turn.journal
        here = journal.path[-1].id if journal.path else None
        left = asked.left
        summary = await self._summary(turn, left, here, asked.words)
        if summary is None:
            return

        def done(tx: Transaction, entry: Entry) -> None:
            self.context.end(tx, turn, f"The summary of what you left stands at #{entry.number}.")

        await journal.append(branch_summary_draft(summary, left), done)

    async def leave(self, turn: Turn) -> None:
        """Write the summary of a branch, then leave it."""
        asked, path = requested(LeaveRequest, turn.rows[0]), turn.journal.path
        left, to = asked.left, asked.to
        if not path or path[-1].id != left:
            return await self.context.tell(turn, WENT_ON)
        summary = await self._summary(turn, left, to, "")
        if summary is None:
            return

        def work(tx: Transaction) -> None:
            session = turn.journal.session
            tx.tree.move_leaf(session, to, after=left, by=turn.person, why=asked.why)
            draft = branch_summary_draft(summary, left)
            tx.tree.append(session, draft, after=to, epoch=turn.journal.epoch)
            self.context.end(tx, turn, asked.answer, asked.items, shows=asked.shows)

        try:
            await self.context.store.run(work)
        except LeafMoved:
            await self.context.tell(turn, WENT_ON)

    async def _summary(self, turn: Turn, left: int, to: int | None, words: str) -> Summary | None:
        """None where there is none; then people are told why, and nothing was changed."""
        entries = await self.context.store.read(lambda tx: abandoned(tx, left, to))
        if not has_messages(entries):  # somebody has gone back there since
            await self.context.tell(turn, NOTHING_LEFT)
            return None
        purpose = Purpose(turn.address, turn.person)
        spec = self.context.compacting.writer or (await self.context.agent_of(turn)).spec
        account = Account("parent", turn.journal.session, purpose)
        metered = MeteredModel(self.context.model, self.context.store, account)
        try:
            return await summarise_branch(metered, spec, entries, words=words, purpose=purpose)
        except ModelError as error:
            why = escape(str(error).rstrip("."))
        text = f"⚠️ The summary failed: {why}. Nothing was changed; you are where you were."
        await self.context.tell(turn, text)
        return None


SUMMARIES = (
    Command(
        CommandSpec(SUMMARY, "summarise the branch you left last and bring that along", "words"),
        in_session(_summary),
    ),
)
