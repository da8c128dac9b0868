"""The loop of every agent, parent or child: read the tail, do what comes next, append it.

Each finished step is stored as it happens, so a loop that died is continued by running it again:
no model call that came back is made a second time.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from agent.concurrency import together
from agent.models.base import (
    REQUIRED,
    Heard,
    Model,
    ModelSpec,
    Reply,
    Request,
    ToolCall,
    call_json,
)
from agent.models.metering import Account, bill
from agent.runtime.journal import Alongside, Journal
from agent.runtime.model_call import ModelCall, OnReply
from agent.runtime.next_step import (
    CallModel,
    Ended,
    Next,
    Nothing,
    RunTools,
    Suspended,
    calls_of,
    next_step,
    results_of,
    rounds,
    suspended_calls,
    tool_message,
    wish,
)
from agent.runtime.people import Asker, asked_by, begin
from agent.runtime.replies import usage_json
from agent.tools.base import (
    Ask,
    Begins,
    Done,
    Outcome,
    OutFile,
    Settled,
    Tool,
    Tools,
    Waiting,
    function_schema,
    run_call,
    schemas,
)
from storage.records.entries import Draft, Entry, Json, Kind, message
from storage.records.questions import Question, QuestionState
from storage.records.record_entries import (
    ResumedCall,
    SurplusCalls,
    SuspendedCall,
    held_in,
    record_draft,
)
from storage.store import Transaction

log = logging.getLogger(__name__)

INTERRUPTED = "interrupted, outcome unknown"
NOBODY = "Error: no person can be asked from here; nothing was done"


@dataclass(frozen=True, slots=True)
class FinalTool:
    """A tool whose call ends the run; whoever runs the loop reads the call and answers it."""

    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class Agent:
    """Who runs the loop: a model with its instructions and tools."""

    tier: str
    spec: ModelSpec
    system: str
    tools: Tools
    max_iterations: int
    """Model calls until the loop gives up, counted from the last thing that came from outside."""
    final_tools: tuple[FinalTool, ...] = ()
    max_calls: int = 16
    """Tool calls of one reply that are run; the model is told that the others were not."""
    must_call: bool = False
    """Each of its replies is to call a tool."""
    waits_for_all: bool = False
    """While a call waits for a person the model is not called: nobody could tell it later."""
    company: str = ""
    """What it is told besides, where it is not one person alone who speaks."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The model ended in text."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class CalledFinal:
    """The model called one of the agent's final tools. The call has no result yet."""

    entry: Entry
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Asleep:
    """Everything that is left waits for a person."""


@dataclass(frozen=True, slots=True)
class OutOfIterations:
    limit: int


Result = Answered | CalledFinal | Asleep | OutOfIterations

OnFiles = Callable[[Sequence[OutFile]], Awaitable[Alongside]]
"""Given a call's files for people; gives what is stored with the result. Without, none is shown."""


@dataclass(frozen=True, slots=True)
class Loop:
    model: Model
    agent: Agent
    journal: Journal
    account: Account
    """Who pays, and for whom it is done."""
    asker: Asker | None = None
    """Asks people for the calls that must; None where nobody can be asked."""
    on_reply: OnReply | None = None
    before_model: Callable[[], Awaitable[None]] | None = None
    """Awaited before each model call; may append to the journal."""
    on_tool: Callable[[str], None] | None = None
    """Told the name of each tool that starts."""
    on_files: OnFiles | None = None
    heard: Heard | None = None
    """Told the text of each reply as it comes; None where nobody wants it before it is whole."""
    on_cut: OnReply | None = None
    """Told, before it is appended, of what had come of a reply that broke off."""

    async def run(self) -> Result:
        """Until an answer, a final call, a wait or the limit. Raises ModelError."""
        # Calls that had begun before this run: the ones that stand unanswered when it starts.
        begun = self._unanswered()
        asked_again = False
        while True:
            match self._next_step(self.journal.path):
                case CallModel():
                    if self.before_model is not None:
                        await self.before_model()
                    if rounds(self.journal.path) >= self.agent.max_iterations:
                        return OutOfIterations(self.agent.max_iterations)
                    await self._call_model(self._wish())
                case RunTools(entry, calls):
                    final = await self._run_tools(entry, calls, begun)
                    if final is not None:
                        return CalledFinal(entry, final)
                case Suspended() if not asked_again:
                    asked_again = True
                    await self._ask_again(self.journal.path)
                case Suspended() | Nothing():
                    return Asleep()
                case Ended(entry):
                    return Answered(entry)

    def _next_step(self, path: tuple[Entry, ...]) -> Next:
        step = next_step(path)
        must_wait = self.agent.waits_for_all and suspended_calls(path)
        return Suspended() if isinstance(step, CallModel) and must_wait else step

    async def _ask_again(self, path: tuple[Entry, ...]) -> None:
        """Run the calls that wait once more: what they wait for may have been decided."""
        entries = {entry.id: entry for entry in path}
        for (entry_id, call_id), question in suspended_calls(path).items():
            await self.resume(entries[entry_id], call_id, question)

    async def resume(self, entry: Entry, call_id: str, question: int | None) -> None:
        """Run a call again that waits for a question, or, without one, for what it began, and
        append what has come of it by now."""
        call = next(call for call in calls_of(entry) if call.id == call_id)
        results = results_of(self.journal.path, entry, call)
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
        return await self.journal.store.read(lambda tx: tx.questions.get(question))

    async def _runs_twice(self, entry: Entry, call: ToolCall, asked: Question) -> bool:
        """Whether a call that must not be run twice was begun with this answer before, on whichever
        branch or in a fork; else note that it begins."""
        tool = self.agent.tools.get(call.name)
        if tool is None or tool.traits.repeatable:
            return False
        if isinstance(tool, Begins) and not tool.begins_with(asked):
            return False
        begins = ResumedCall(call.id, entry.id, asked.id)
        known = any(held_in(each, ResumedCall) == begins for each in self.journal.path)
        return known or not await begin(self.journal, begins, call.name)

    def _unanswered(self) -> frozenset[tuple[int, str]]:
        step = next_step(self.journal.path)
        if not isinstance(step, RunTools):
            return frozenset()
        return frozenset((step.entry.id, call.id) for call in step.calls)

    def _wish(self) -> str:
        agent, path = self.agent, self.journal.path
        if agent.must_call:
            return REQUIRED
        return wish(path, [tool.name for tool in agent.final_tools], agent.max_iterations)

    async def call_last(self) -> Entry:
        """One call in which the model may call no tool; its reply. A call that it makes all the
        same is not run. Raises ModelError."""
        return await self._call_model(tool_choice="none")

    async def _call_model(self, tool_choice: str = "") -> Entry:
        agent = self.agent
        offered = [function_schema(t.name, t.description, t.parameters) for t in agent.final_tools]
        messages = await self.journal.messages(agent.spec.model, agent.system, agent.company)
        request = Request(
            spec=agent.spec,
            messages=messages,
            tools=[*schemas(agent.tools), *offered],
            purpose=self.account.purpose,
            tool_choice=tool_choice,
        )
        call = ModelCall(
            self.model, self.journal, self.account, agent.tier, self.heard, self.on_cut
        )
        reply = await call.reply(request)
        more = self.on_reply(reply) if self.on_reply is not None else None

        def alongside(tx: Transaction, entry: Entry) -> None:
            bill(tx, self.account, agent.spec, reply)
            if more is not None:
                more(tx, entry)

        return await self.journal.append(
            assistant_draft(reply, agent),
            alongside,
            then=lambda entry: surplus_draft(entry, agent),
        )

    async def _run_tools(
        self, entry: Entry, calls: tuple[ToolCall, ...], begun: frozenset[tuple[int, str]]
    ) -> ToolCall | None:
        """Run the calls side by side, each result appended as it comes; the final one is left."""
        names = {tool.name for tool in self.agent.final_tools}
        final = [call for call in calls if call.name in names]
        others = [call for call in calls if call.name not in names]
        for surplus in final[1:]:
            await self._answer(entry, surplus, Done(f"Ignored: {final[0].name} ended the task."))
        await together(self._run_tool(entry, call, (entry.id, call.id) in begun) for call in others)
        return final[0] if final else None

    async def _run_tool(self, entry: Entry, call: ToolCall, begun: bool) -> None:
        tool: Tool | None = self.agent.tools.get(call.name)
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
            self.agent.tools,
            call,
            session=self.journal.session,
            entry=entry.id,
            address=self.account.purpose.address,
            person=self.account.purpose.person,
            asked=asked,
            told=told,
        )

    async def _answer(self, entry: Entry, call: ToolCall, outcome: Outcome) -> None:
        if isinstance(outcome, Ask):
            if self.asker is not None:
                ask = partial(_asked, self.asker, outcome, entry, call)
                await self.journal.append(ask)
                return
            outcome = Done(NOBODY)
        also = await self._also(outcome) if isinstance(outcome, Done) else None
        await self.journal.append(outcome_draft(call, entry.id, outcome), also)

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


def assistant_draft(reply: Reply, agent: Agent) -> Draft:
    """A reply as an entry: the message in OpenAI's shape, and what it cost."""
    calls = [call_json(call) for call in reply.tool_calls]
    more: dict[str, object] = {"tool_calls": calls} if calls else {}
    said = message("assistant", reply.content, **more)
    body = {**said, "model": reply.model or agent.spec.model, "usage": usage_json(reply)}
    # The provider's message is kept whole, but what is the same in ours not twice.
    new = {k: v for k, v in reply.raw.items() if k not in said or said[k] != v}
    if new:
        body["raw"] = new
    return Draft(Kind.MESSAGE, body, author=agent.tier, tokens=reply.usage.output)


def surplus_draft(entry: Entry, agent: Agent) -> Draft | None:
    """Where a reply makes more calls than are run: a record of which ones are, and what the model
    is told about the others. One entry, however many there are."""
    calls = calls_of(entry)
    if len(calls) <= agent.max_calls:
        return None
    names = {tool.name for tool in agent.final_tools}
    last = next((call for call in calls if call.name in names), None)
    taken = [call for call in calls[: agent.max_calls] if last is None or call.id != last.id]
    if last is not None:
        taken.append(last)
    told = (
        f"Error: not run. {len(calls):,} calls in one reply are too many: "
        f"delegation.max_calls_per_reply is {agent.max_calls}. Nothing was done for this call and "
        "the ones after it; make those you still need in your next replies, "
        f"at most {agent.max_calls} at a time."
    )
    log.warning("a reply of %s made %d calls; %d are run", entry.author, len(calls), len(taken))
    return record_draft(SurplusCalls(entry.id, [call.id for call in taken], told), agent.tier)


def _asked(asker: Asker, ask: Ask, entry: Entry, call: ToolCall, tx: Transaction) -> Draft:
    """Store a call's question; the record that the call waits for it."""
    question = asker.ask(tx, ask, entry.id, call.id)
    return outcome_draft(call, entry.id, Waiting(question.id, ask.told))


def outcome_draft(call: ToolCall, entry: int, outcome: Settled) -> Draft:
    """What is appended for a call's outcome: its result, or that it waits."""
    match outcome:
        case Done() as done:
            body = tool_message(call, entry, done.text, done.final)
            return Draft(Kind.MESSAGE, body, author=call.name)
        case Waiting(question, text):
            return record_draft(SuspendedCall(call.id, entry, question, text), call.name)
