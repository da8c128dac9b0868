"""The runs of a worker and of an overseer: what each is given, and what is taken as its word."""

from collections.abc import Sequence

from agent.delegation.child import Child
from agent.delegation.core.arguments import Fault
from agent.delegation.core.events import (
    Event,
    Exhausted,
    Extended,
    GaveUp,
    HumanRequested,
    Narrated,
    Reported,
    Resolved,
)
from agent.delegation.core.human_tier import is_instruction
from agent.delegation.core.machine import State
from agent.delegation.core.overseer import (
    ESCALATE_TO_HUMAN,
    EXTEND_TABLE,
    RESOLVE,
    Extension,
    HumanRequest,
    Resolution,
    parse_extension,
    parse_human_request,
    parse_resolution,
)
from agent.delegation.core.report import REPORT_TOOL
from agent.delegation.tables.parse import TableError, extend
from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.runtime.loop import Answered, Asleep, CalledFinal, FinalTool, OutOfIterations
from agent.runtime.next_step import RunTools, next_step
from agent.tools.base import parse_arguments

REPORT_OUTCOME = FinalTool(
    "report_outcome",
    "Report which condition and branch of the branch table match what you saw. Ends the task.",
    REPORT_TOOL,
)


async def run_worker(worker: Child, told: Sequence[str]) -> Event | None:
    """Run until the worker reports, narrates or runs out; None where what it delegated itself
    waits for a person. `told` is what it was sent back with so far; what it has not heard yet is
    told first. Raises ModelError."""
    for text in told[worker.corrections() :]:
        await _send_back(worker, text)
    match await worker.run():
        case CalledFinal(_, call):
            try:
                return Reported(parse_arguments(call.arguments), worker.raw_tail())
            except ToolError as error:
                return Reported({}, worker.raw_tail(), str(error))
        case Answered(entry):
            return Narrated(str(entry.body["content"]), worker.raw_tail())
        case OutOfIterations(limit):
            return Exhausted(limit, worker.raw_tail())
        case Asleep():
            return None


async def _send_back(worker: Child, text: str) -> None:
    """As the result of the report that ended it, or as a message after a text that did. A person's
    instruction is a message of its own: results of tools are no instructions."""
    step = next_step(worker.journal.path)
    if isinstance(step, RunTools):
        report, *others = step.calls
        for call in others:
            await worker.answer(step.entry, call, "Ignored: one report is enough.")
        if not is_instruction(text):
            return await worker.answer(step.entry, report, f"Error: {text}", correction=True)
        await worker.answer(step.entry, report, "A person was asked.")
    await worker.tell(text, correction=True)


OVERSEER_TOOLS = (
    FinalTool(
        "extend_table",
        "Add conditions to the branch table; a fresh worker then runs with the new table.",
        EXTEND_TABLE,
    ),
    FinalTool(
        "resolve",
        "Give the outcome of the task yourself, from what was observed. Ends the task.",
        RESOLVE,
    ),
    FinalTool(
        "escalate_to_human",
        "Ask a person to decide, with options to choose from.",
        ESCALATE_TO_HUMAN,
    ),
)


async def run_overseer(overseer: Child, state: State) -> Event:
    """Run until the overseer decides. A decision that cannot be taken is its tool's error, and it
    goes on. Raises ModelError."""
    while True:
        match await overseer.run():
            case CalledFinal(entry, call):
                try:
                    return decision(state, call)
                except ToolError as error:
                    await overseer.answer(entry, call, f"Error: {error}")
            case Answered(entry):
                return GaveUp(str(entry.body["content"]))
            case OutOfIterations(limit):
                return Exhausted(limit)
            case Asleep():
                raise RuntimeError("an overseer has no tool that waits for people")


def decision(state: State, call: ToolCall) -> Event:
    """The event that a call decides on; ToolError where it cannot be taken."""
    arguments = parse_arguments(call.arguments)
    parse = {
        "extend_table": parse_extension,
        "resolve": parse_resolution,
        "escalate_to_human": parse_human_request,
    }[call.name]
    match parse(arguments):
        case Fault(text):
            raise ToolError(text)
        case Extension(conditions, reason):
            assert state.table is not None
            try:
                extend(state.table, conditions)
            except TableError as error:
                raise ToolError(str(error)) from None
            return Extended(conditions, reason)
        case Resolution() as resolution:
            return Resolved(resolution)
        case HumanRequest() as request:
            return HumanRequested(request)
        case _:
            raise AssertionError(call.name)
