"""/compact: the older part of a branch is summarised for the model now."""

from collections.abc import Sequence

from adapters.base import CommandSpec
from agent.compaction.cut import context_tokens
from agent.compaction.service import Compacting
from agent.concurrency import off_loop
from agent.models.base import ModelError, Purpose
from agent.text.markdown import escape
from gateway.commands.context import NOTHING_YET, Command, CommandCall, CommandContext, Work, answer
from gateway.outbound.buttons import MenuItem, send_menu
from gateway.turns.requests import CompactRequest, request, requested
from gateway.turns.turn import Turn
from storage.records.entries import Entry
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
)
from storage.store import Transaction

COMPACT = InboxKind.COMPACT
"""The command, and the kind of the inbox row that it becomes."""


async def _compact(desk: CommandContext, asked: CommandCall) -> Work:
    session = asked.session
    if session is None:
        return answer(desk, asked, NOTHING_YET)
    arrival = Arrival(
        key=f"{COMPACT}:{asked.row.id}",
        kind=COMPACT,
        address=asked.address,
        payload=request(CompactRequest, asked.message, instructions=asked.argument),
        session=session,
    )

    def work(tx: Transaction) -> None:
        tx.inbox.receive(arrival)
        desk.say(tx, asked, "Summarising the older part of this branch…")

    return work


async def compact_job(desk: CommandContext, compacting: Compacting, turn: Turn) -> None:
    """What /compact began, in the session's lane."""
    purpose = Purpose(turn.address, turn.person)
    spec = desk.models.tier("parent")
    path = turn.journal.path
    before = await off_loop(len(path), lambda: context_tokens(path))

    def done(tx: Transaction, entry: Entry) -> None:
        end(
            desk,
            tx,
            turn,
            f"Compacted at #{entry.number}: about {before:,} tokens before. "
            "Nothing is lost; /tree all shows the summary.",
        )

    instructions = requested(CompactRequest, turn.rows[0]).instructions
    try:
        entry = await compacting.compact(
            turn.journal, spec, purpose, instructions=instructions, alongside=done
        )
    except ModelError as error:
        why = escape(str(error).rstrip("."))
        text = f"⚠️ The summary failed: {why}. Nothing was changed."
        return await desk.store.run(lambda tx: end(desk, tx, turn, text))
    if entry is None:
        text = "There is nothing to compact: what is there is recent."
        await desk.store.run(lambda tx: end(desk, tx, turn, text))


def end(
    desk: CommandContext, tx: Transaction, turn: Turn, text: str, items: Sequence[MenuItem] = ()
) -> None:
    """Tell how a job ended, and finish it."""
    parcels = desk.composer.post(turn.address, text, reply_to=turn.reply_to)
    send_menu(tx, parcels, items, private=turn.private)
    tx.inbox.finish(turn.row_ids)


COMPACTION = (
    Command(
        CommandSpec(
            COMPACT, "summarise the older part of this branch for the model", "instructions"
        ),
        _compact,
    ),
)
