"""An overseer's run: from the delta to its one decision."""

from agent.delegation.child import Child
from agent.delegation.core.events import (
    Event,
    Exhausted,
    Extended,
    GaveUp,
    HumanRequested,
    Resolved,
)
from agent.delegation.core.machine import State
from agent.delegation.core.overseer import (
    ESCALATE_TO_HUMAN,
    EXTEND_TABLE,
    RESOLVE,
    Extension,
    Fault,
    HumanRequest,
    Resolution,
    parse_extension,
    parse_human_request,
    parse_resolution,
)
from agent.delegation.tables.parse import TableError, extend
from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.runtime.loop import Answered, Asleep, CalledFinal, FinalTool, OutOfIterations
from agent.tools.base import parse_arguments

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
