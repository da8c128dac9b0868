"""What becomes of the calls that a turn was cut in, so that no call stays open for ever."""

from collections.abc import Sequence

from agent.loop import INTERRUPTED, outcome_draft
from agent.model import ToolCall
from agent.subagent import interrupt_call, waiting_call
from agent.tail import RunTools, calls_of, next_step, suspended_calls, tool_message
from agent.tools.registry import Waiting
from storage.entries import Draft, Entry, Kind
from storage.store import Transaction


def settle_running(tx: Transaction, session: int, path: list[Entry]) -> None:
    """Answer the calls that a turn was cut in, below the end of `path`, and extend it. A call
    whose question was asked already goes on waiting: only the note of it was cut off."""
    step = next_step(path)
    if isinstance(step, RunTools):
        for call in step.calls:
            held = waiting_call(tx, session, step.entry.id, call.id)
            if held is None:
                path.append(_interrupt(tx, session, step.entry, call, path[-1].id))
            else:
                draft = outcome_draft(call, step.entry.id, Waiting(held.question, held.result))
                path.append(tx.tree.append(session, draft, after=path[-1].id))


def settle_waiting(tx: Transaction, session: int, path: list[Entry]) -> None:
    """Answer the calls that wait for people, below the end of `path`, and extend it."""
    for entry_id, call_id in suspended_calls(path):
        entry = tx.tree.entry(entry_id)
        call = next(call for call in calls_of(entry) if call.id == call_id)
        path.append(_interrupt(tx, session, entry, call, path[-1].id))


def has_result(path: Sequence[Entry], entry: Entry, call: ToolCall) -> bool:
    return any(
        e.kind is Kind.MESSAGE
        and e.body["role"] == "tool"
        and e.body["tool_call_id"] == call.id
        and e.body.get("call_entry") == entry.id
        for e in path
    )


def _interrupt(tx: Transaction, session: int, entry: Entry, call: ToolCall, leaf: int) -> Entry:
    result = interrupt_call(tx, session, entry.id, call.id) or INTERRUPTED
    draft = Draft(Kind.MESSAGE, tool_message(call, entry.id, result), call.name)
    return tx.tree.append(session, draft, after=leaf)
