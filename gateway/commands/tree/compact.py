"""/compact: the older part of a branch is summarised for the model now."""

from dataclasses import dataclass

from adapters.base import CommandSpec
from agent.compaction.cut import context_tokens
from agent.concurrency import off_loop
from agent.models.base import ModelError, Purpose
from agent.text.markdown import escape
from gateway.commands.context import Command, CommandCall, Job, Outcome, Reply, in_session
from gateway.commands.jobs import JobContext
from gateway.turns.requests import CompactRequest, request, requested
from gateway.turns.turn import Turn
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind
from storage.store import Transaction

COMPACT = InboxKind.COMPACT
"""The command, and the kind of the inbox row that it becomes."""


def _compact(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    payload = request(CompactRequest, call.message, instructions=call.argument)
    return Job(COMPACT, payload, Reply("Summarising the older part of this branch…"))


@dataclass(frozen=True, slots=True)
class Compaction:
    """The job in the session's lane."""

    context: JobContext

    async def run(self, turn: Turn) -> None:
        context, path = self.context, turn.journal.path
        before = await off_loop(len(path), lambda: context_tokens(path))

        def done(tx: Transaction, entry: Entry) -> None:
            text = (
                f"Compacted at #{entry.number}: about {before:,} tokens before. "
                "Nothing is lost; /tree all shows the summary."
            )
            context.end(tx, turn, text)

        try:
            entry = await context.compacting.compact(
                turn.journal,
                (await context.agent_of(turn)).spec,
                Purpose(turn.address, turn.person),
                instructions=requested(CompactRequest, turn.rows[0]).instructions,
                alongside=done,
            )
        except ModelError as error:
            why = escape(str(error).rstrip("."))
            return await context.tell(turn, f"⚠️ The summary failed: {why}. Nothing was changed.")
        if entry is None:
            await context.tell(turn, "There is nothing to compact: what is there is recent.")


COMPACTION = (
    Command(
        CommandSpec(COMPACT, "summarise the older part of this branch for the model", "words"),
        in_session(_compact),
    ),
)
