"""The runs of a worker and of an overseer: what each is given, and what is taken as its word."""

import asyncio
import json
from collections.abc import Sequence
from typing import assert_never

from agent.delegation.children.child import Child, LastWord
from agent.delegation.children.last_call import Short
from agent.delegation.children.prompts import Means, overseer_system, worker_system
from agent.delegation.children.transcript import findings, shown_to
from agent.delegation.core.arguments import Fault
from agent.delegation.core.events import (
    CheckRequested,
    CutShort,
    Event,
    Exhausted,
    Extended,
    GaveUp,
    HumanRequested,
    ModelFailed,
    Narrated,
    Reported,
    Resolved,
    Stalled,
    TimedOut,
)
from agent.delegation.core.human_tier import is_instruction
from agent.delegation.core.judging.overseer import (
    ASK_WORKER,
    ESCALATE_TO_HUMAN,
    EXTEND_TABLE,
    RESOLVE,
    Extension,
    HumanRequest,
    Resolution,
    WorkerCheck,
    parse_check,
    parse_extension,
    parse_human_request,
    parse_resolution,
)
from agent.delegation.core.report import REPORT_NAME, REPORT_TOOL
from agent.delegation.core.sent_back import is_correction
from agent.delegation.core.state import State
from agent.delegation.core.text_calls import call_in
from agent.delegation.tables.parse import extend
from agent.delegation.tables.source import TableError
from agent.errors import ToolError
from agent.models.base import ModelSpec, ToolCall
from agent.runtime.loop import Answered, Asleep, CalledFinal, OutOfIterations
from agent.runtime.next_step import END_NOW, Repeated, RunTools, calls_of, next_step
from agent.runtime.steps.agent import Agent, FinalTool
from agent.tools.base import Tools, parse_arguments
from storage.records.entries import Entry

REPORT_OUTCOME = FinalTool(
    REPORT_NAME,
    "Report which condition and branch of the branch table match what you saw. Ends the task.",
    REPORT_TOOL,
)


def worker_agent(state: State, spec: ModelSpec, means: Means, max_calls: int) -> Agent:
    """The same for as long as an attempt lasts."""
    return Agent(
        tier="worker",
        spec=spec,
        system=worker_system(state.begun_with, means),
        tools=means.tools,
        max_iterations=means.steps,
        final_tools=(REPORT_OUTCOME,) if state.table is not None else (),
        max_calls=max_calls,
        waits_for_all=True,
    )


CUT_OFF = "Error: not run, or interrupted: its outcome is unknown."


async def run_worker(worker: Child, told: Sequence[str]) -> Event | None:
    """Run until the worker reports, narrates or runs out; None where what it delegated itself
    waits for a person. `told` is what it was sent back with so far; what it has not heard yet is
    told first. Raises ModelError."""
    for text in told[worker.corrections() :]:
        await _send_back(worker, text)
    match await worker.run(last_call=True):
        case CalledFinal(_, call):
            return _report(worker, call)
        case LastWord(short, entry):
            return await _last_word(worker, short, entry)
        case Answered(entry):
            written = await written_call(worker, entry)
            if written is not None:
                return _report(worker, written)
            stop = str(entry.body.get("stop") or "")
            return Narrated(str(entry.body["content"]), worker.raw_tail(), stop)
        case OutOfIterations(limit):
            return Exhausted(limit, worker.raw_tail())
        case Repeated():
            raise RuntimeError("a worker that repeats itself is asked for its last word")
        case Asleep():
            return None


def _report(worker: Child, call: ToolCall) -> Reported:
    try:
        return Reported(parse_arguments(call.arguments), worker.raw_tail())
    except ToolError as error:
        return Reported({}, worker.raw_tail(), str(error))


async def _last_word(worker: Child, short: Short, entry: Entry) -> Event:
    """A report counts all the same; else its words do, or, where it has none, what it found."""
    final = {tool.name for tool in worker.agent.final_tools}
    report = next((call for call in calls_of(entry) if call.name in final), None)
    report = report or await written_call(worker, entry)
    if report is not None:
        return _report(worker, report)
    found = str(entry.body["content"] or "").strip() or findings(worker.journal.path)
    limit = worker.agent.max_iterations
    match short:
        case Short.STEPS if not found:
            return Exhausted(limit, worker.raw_tail())
        case Short.STEPS:
            text = f"no result within {limit} model calls"
        case Short.WINDOW:
            text = "its context window is full"
        case Short.TIME:
            text = "its time was nearly over"
        case Short.REPEATS:
            text = "it made the same failing call again and again"
    if not found:
        return ModelFailed(f"{text}, and it had nothing to report")
    return CutShort(short.value, text, found, worker.raw_tail(), ended=short is Short.WINDOW)


def cut_short_by(event: ModelFailed | Stalled | TimedOut, found: str) -> CutShort:
    """The end of a worker that had found something."""
    match event:
        case ModelFailed(error):
            text = f"the model could not be called: {error}"
            return CutShort("model_error", text, found, ended=True)
        case Stalled(seconds):
            text = f"no model call and no tool was started for {seconds:g} s"
            return CutShort("stalled", text, found)
        case TimedOut(seconds):
            return CutShort("timeout", f"stopped after {seconds:g} s", found)
        case _:
            assert_never(event)


async def _send_back(worker: Child, text: str) -> None:
    """As the result of the report that ended it, or as a message after whatever else did. A
    person's instruction is a message of its own: results of tools are no instructions."""
    step, report = next_step(worker.journal.path), None
    if isinstance(step, RunTools):
        report = next((call for call in step.calls if call.name == REPORT_OUTCOME.name), None)
        for call in step.calls:
            if call is not report:
                is_report = call.name == REPORT_OUTCOME.name
                told = "Ignored: one report is enough." if is_report else CUT_OFF
                await worker.answer(step.entry, call, told)
        if report is not None and not is_instruction(text):
            return await worker.answer(step.entry, report, text, correction=True)
        if report is not None:
            await worker.answer(step.entry, report, "A person was asked.")
    more = END_NOW if is_correction(text) else {}
    await worker.tell(text, correction=True, **more)


OVERSEER_TOOLS = (
    FinalTool(
        "extend_table",
        "Add conditions to the branch table; the worker goes on with them from what it saw.",
        EXTEND_TABLE,
    ),
    FinalTool(
        "ask_worker",
        "Have the worker check something and report again.",
        ASK_WORKER,
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


OVERSEER_ITERATIONS = 10
NARRATED = (
    f"That was no decision. Call one of {', '.join(tool.name for tool in OVERSEER_TOOLS)}. "
    "This is the only correction."
)


def overseer_agent(spec: ModelSpec, tools: Tools, max_calls: int) -> Agent:
    return Agent(
        tier="overseer",
        spec=spec,
        system=overseer_system(tools, OVERSEER_ITERATIONS),
        tools=tools,
        max_iterations=OVERSEER_ITERATIONS,
        final_tools=OVERSEER_TOOLS,
        max_calls=max_calls,
        must_call=True,
    )


async def run_overseer(overseer: Child, state: State) -> Event:
    """Run until the overseer decides. A decision that cannot be taken is its tool's error, and it
    goes on; one that ends in text is told so once. Raises ModelError."""
    while True:
        match await overseer.run():
            case CalledFinal(entry, call):
                try:
                    return decision(state, call)
                except ToolError as error:
                    await overseer.answer(entry, call, f"Error: {error}")
            case Answered(entry):
                told = await _from_text(overseer, state, entry)
                if not isinstance(told, str):
                    return told
                if overseer.corrections():
                    return GaveUp(str(entry.body["content"]))
                await overseer.tell(told, correction=True)
            case OutOfIterations(limit):
                return Exhausted(limit)
            case Repeated(tool, times):
                return GaveUp(f"It called {tool} {times} times with the same error.")
            case Asleep() | LastWord():
                raise RuntimeError("an overseer waits for nobody and is not cut short")


async def _from_text(overseer: Child, state: State, entry: Entry) -> Event | str:
    """The decision that an overseer wrote, or what it is told of a text that holds none."""
    call = await written_call(overseer, entry)
    if call is None:
        return NARRATED
    try:
        return decision(state, call)
    except ToolError as error:
        return f"Error: {error}"


async def written_call(child: Child, entry: Entry) -> ToolCall | None:
    """The final call that a child wrote into its text instead of making it."""
    tools = {tool.name: tool.parameters for tool in child.agent.final_tools}
    text = str(entry.body["content"] or "")
    if not tools or "{" not in text:
        return None
    found = await asyncio.to_thread(call_in, text, tools, lambda: shown_to(child.journal.path))
    return ToolCall("", found.name, json.dumps(found.arguments)) if found is not None else None


def decision(state: State, call: ToolCall) -> Event:
    """The event that a call decides on; ToolError where it cannot be taken."""
    arguments = parse_arguments(call.arguments)
    parse = {
        "extend_table": parse_extension,
        "ask_worker": parse_check,
        "resolve": parse_resolution,
        "escalate_to_human": parse_human_request,
    }[call.name]
    match parse(arguments):
        case Fault(text):
            raise ToolError(text)
        case Extension() as extension:
            return _extended(state, extension)
        case WorkerCheck(check):
            return CheckRequested(check)
        case Resolution() as resolution:
            return Resolved(resolution)
        case HumanRequest() as request:
            return HumanRequested(request)
        case _:
            raise AssertionError(call.name)


def _extended(state: State, extension: Extension) -> Extended:
    assert state.table is not None
    try:
        extend(state.table, extension.conditions)
    except TableError as error:
        raise ToolError(str(error)) from None
    return Extended(extension.conditions, extension.reason, fresh=extension.fresh)
