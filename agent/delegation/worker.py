"""A worker's run: from the task to an event for the delegation's state machine."""

from collections.abc import Sequence

from agent.delegation.child import Child
from agent.delegation.core.events import Event, Exhausted, Narrated, Reported
from agent.delegation.core.report import REPORT_TOOL
from agent.errors import ToolError
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
    """As the result of the report that ended it, or as a message after a text that did."""
    step = next_step(worker.journal.path)
    if isinstance(step, RunTools):
        report, *others = step.calls
        for call in others:
            await worker.answer(step.entry, call, "Ignored: one report is enough.")
        await worker.answer(step.entry, report, f"Error: {text}", correction=True)
    else:
        await worker.tell(text, correction=True)
