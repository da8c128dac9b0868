"""A worker's run: from the task to an event for the delegation's state machine."""

from agent.child import Child
from agent.delegation_events import Event, Exhausted, Narrated, Reported
from agent.errors import ToolError
from agent.loop import Answered, Asleep, CalledFinal, FinalTool, OutOfIterations
from agent.report import REPORT_TOOL
from agent.tail import Ended, RunTools, next_step
from agent.tools.registry import parse_arguments

REPORT_OUTCOME = FinalTool(
    "report_outcome",
    "Report which condition and branch of the branch table match what you saw. Ends the task.",
    REPORT_TOOL,
)


async def run_worker(worker: Child, correction: str) -> Event:
    """Run until the worker reports, narrates or runs out. Raises ModelError."""
    if correction and not worker.was_corrected():
        await _correct(worker, correction)
    match await worker.run():
        case CalledFinal(_, call):
            try:
                return Reported(parse_arguments(call.arguments), worker.raw_tail())
            except ToolError as error:
                return Reported({}, worker.raw_tail(), str(error))
        case Answered(entry):
            return Narrated(str(entry.body["content"]))
        case OutOfIterations(limit):
            return Exhausted(limit)
        case Asleep():
            raise RuntimeError("a worker has no tool that waits for people")


async def _correct(worker: Child, correction: str) -> None:
    """The one correction: as the result of the wrong report, or as a message after a narration."""
    match next_step(worker.journal.path):
        case RunTools(entry, calls):
            for call in calls:
                await worker.answer(entry, call, f"Error: {correction}", correction=True)
        case Ended():
            await worker.tell(correction, correction=True)
        case _:
            await worker.tell(correction, correction=True)
