"""The step of a loop that runs tools: each call's outcome is appended as it comes."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.concurrency import together
from agent.models.base import ToolCall
from agent.runtime.journal import Alongside
from agent.runtime.next_step import (
    EQUAL_FAILURES,
    REPEATS,
    calls_of,
    failed_before,
    results_of,
    tool_message,
)
from agent.runtime.people import Asker, asked_by, begin
from agent.runtime.steps.agent import AgentRun
from agent.tools.base import (
    Ask,
    Begins,
    Done,
    Outcome,
    OutFile,
    Settled,
    Tool,
    Waiting,
    run_call,
)
from storage.records.entries import Draft, Entry, Kind
from storage.records.questions import Question, QuestionState
from storage.records.record_entries import ResumedCall, SuspendedCall, held_in, record_draft
from storage.store import Transaction

log = logging.getLogger(__name__)

INTERRUPTED = "interrupted, outcome unknown"
NOBODY = "Error: no person can be asked from here; nothing was done"

OnFiles = Callable[[Sequence[OutFile]], Awaitable[Alongside]]
"""Given a call's files for people; gives what is stored with the result. Without, none is shown."""


@dataclass(frozen=True, slots=True)
class ToolRuns:
    run: AgentRun
    asker: Asker | None = None
    """Asks people for the calls that must; None where nobody can be asked."""
    on_tool: Callable[[str], None] | None = None
    """Told the name of each tool that starts."""
    on_files: OnFiles | None = None
    person: str | None = None
    """Identity of who the calls are made for; None: of who pays for the run."""

    async def run_calls(
        self, entry: Entry, calls: tuple[ToolCall, ...], begun: frozenset[tuple[int, str]]
    ) -> ToolCall | None:
        """Run the calls side by side, each result appended as it comes; the final one is left."""
        names = {tool.name for tool in self.run.agent.final_tools}
        final = [call for call in calls if call.name in names]
        others = [call for call in calls if call.name not in names]
        for surplus in final[1:]:
            await self._answer(entry, surplus, Done(f"Ignored: {final[0].name} ended the task."))
        await together(self._run_one(entry, call, (entry.id, call.id) in begun) for call in others)
        return final[0] if final else None

    async def resume(self, entry: Entry, call_id: str, question: int | None) -> None:
        """Run a call again that waits for a question, or, without one, for what it began, and
        append what has come of it by now."""
        call = next(call for call in calls_of(entry) if call.id == call_id)
        results = results_of(self.run.journal.path, entry, call)
        told = frozenset(d for r in results for d in r.body.get("final", ())) if results else None
        asked = await self._question(question)
        if asked is not None and asked_by(asked, entry.id, call.id):
            if results or asked.state is QuestionState.OPEN:
                return
            if await self._runs_twice(entry, call, asked):
                return await self._answer(entry, call, Done(INTERRUPTED))
        match await self._outcome(entry, call, asked, told):
            case Done() as done if told is None or not told.issuperset(done.final):
                await self._answer(entry, call, done)
            case Ask() as ask if told is None:
                await self._answer(entry, call, ask)
            case Waiting() as waiting if told is None and waiting.question != question:
                await self._answer(entry, call, waiting)
            case Done() | Ask() | Waiting():
                log.debug("call %s: nothing new", call.id)

    async def _question(self, question: int | None) -> Question | None:
        if not question:  # 0 in what was imported: nobody was asked here
            return None
        return await self.run.journal.store.read(lambda tx: tx.questions.get(question))

    async def _runs_twice(self, entry: Entry, call: ToolCall, asked: Question) -> bool:
        """Whether a call that must not be run twice was begun with this answer before, on whichever
        branch or in a fork; else note that it begins."""
        tool = self.run.agent.tools.get(call.name)
        if tool is None or tool.traits.repeatable:
            return False
        if isinstance(tool, Begins) and not tool.begins_with(asked):
            return False
        begins = ResumedCall(call.id, entry.id, asked.id)
        known = any(held_in(each, ResumedCall) == begins for each in self.run.journal.path)
        return known or not await begin(self.run.journal, begins, call.name)

    async def _run_one(self, entry: Entry, call: ToolCall, begun: bool) -> None:
        tool: Tool | None = self.run.agent.tools.get(call.name)
        if begun and tool is not None and not tool.traits.repeatable:
            await self._answer(entry, call, Done(INTERRUPTED))
            return
        await self._answer(entry, call, await self._outcome(entry, call))

    async def _outcome(
        self,
        entry: Entry,
        call: ToolCall,
        asked: Question | None = None,
        told: frozenset[int] | None = None,
    ) -> Outcome:
        if self.on_tool is not None:
            self.on_tool(call.name)
        return await run_call(
            self.run.agent.tools,
            call,
            session=self.run.journal.session,
            entry=entry.id,
            address=self.run.account.purpose.address,
            person=self._person(entry, call, asked),
            asked=asked,
            told=told,
        )

    def _person(self, entry: Entry, call: ToolCall, asked: Question | None) -> str:
        """Who a call is made for. One that waited stays theirs who it was made for, whose turn it
        may be that runs it again."""
        if asked is not None and asked_by(asked, entry.id, call.id) and "person" in asked.subject:
            return str(asked.subject["person"])
        return self.run.account.purpose.person if self.person is None else self.person

    async def _answer(self, entry: Entry, call: ToolCall, outcome: Outcome) -> None:
        if isinstance(outcome, Ask):
            if self.asker is not None:
                ask = partial(_asked, self.asker, outcome, entry, call)
                await self.run.journal.append(ask)
                return
            outcome = Done(NOBODY)
        if isinstance(outcome, Done) and outcome.text.startswith("Error: "):
            outcome = self._told(call, outcome)
        also = await self._also(outcome) if isinstance(outcome, Done) else None
        await self.run.journal.append(outcome_draft(call, entry.id, outcome), also)

    def _told(self, call: ToolCall, done: Done) -> Done:
        """With the word that it repeats itself, once it has failed like this often enough."""
        before = failed_before(self.run.journal.path, call, done.text)
        if before != EQUAL_FAILURES - 1:
            return done
        return replace(done, text=done.text + REPEATS)

    async def _also(self, done: Done) -> Alongside | None:
        """What belongs into the transaction that appends a call's result."""
        shown = None
        if done.files and self.on_files is not None:
            shown = await self.on_files(done.files)
        works = [work for work in (done.also, shown) if work is not None]

        def also(tx: Transaction, entry: Entry) -> None:
            for work in works:
                work(tx, entry)

        return also if works else None


def _asked(asker: Asker, ask: Ask, entry: Entry, call: ToolCall, tx: Transaction) -> Draft:
    """Store a call's question; the record that the call waits for it."""
    question = asker.ask(tx, ask, entry.id, call.id)
    return outcome_draft(call, entry.id, Waiting(question.id, ask.told))


def outcome_draft(call: ToolCall, entry: int, outcome: Settled) -> Draft:
    """What is appended for a call's outcome: its result, or that it waits."""
    match outcome:
        case Done() as done:
            body = tool_message(call, entry, done.text, done.final, done.changed)
            return Draft(Kind.MESSAGE, body, author=call.name)
        case Waiting(question, text):
            return record_draft(SuspendedCall(call.id, entry, question, text), call.name)
