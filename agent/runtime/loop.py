"""The loop of every agent, parent or child: read the tail, do what comes next, append it.

Each finished step is stored as it happens, so a loop that died is continued by running it again:
no model call that came back is made a second time.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.models.base import ToolCall
from agent.runtime.next_step import (
    CallModel,
    Ended,
    Next,
    Nothing,
    Repeated,
    RunTools,
    Suspended,
    next_step,
    repeated,
    rounds,
    suspended_calls,
)
from agent.runtime.steps.agent import AgentRun
from agent.runtime.steps.model_calls import ModelCalls
from agent.runtime.steps.tool_runs import ToolRuns
from storage.records.entries import Entry


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


Result = Answered | CalledFinal | Asleep | OutOfIterations | Repeated


@dataclass(frozen=True, slots=True)
class Loop:
    model_calls: ModelCalls
    tool_runs: ToolRuns
    before_model: Callable[[], Awaitable[None]] | None = None
    """Awaited before each model call; may append to the journal."""

    @property
    def agent_run(self) -> AgentRun:
        return self.model_calls.run

    async def run(self) -> Result:
        """Until an answer, a final call, a wait, the limit, or the same failure again and again.
        Raises ModelError."""
        # Calls that had begun before this run: the ones that stand unanswered when it starts.
        begun = self._unanswered()
        agent, journal = self.agent_run.agent, self.agent_run.journal
        asked_again = False
        while True:
            match self._next_step(journal.path):
                case CallModel():
                    if self.before_model is not None:
                        await self.before_model()
                    if rounds(journal.path) >= agent.max_iterations:
                        return OutOfIterations(agent.max_iterations)
                    if (useless := repeated(journal.path)) is not None:
                        return useless
                    await self.model_calls.call()
                case RunTools(entry, calls):
                    final = await self.tool_runs.run_calls(entry, calls, begun)
                    if final is not None:
                        return CalledFinal(entry, final)
                case Suspended() if not asked_again:
                    asked_again = True
                    await self._ask_again(journal.path)
                case Suspended() | Nothing():
                    return Asleep()
                case Ended(entry):
                    return Answered(entry)

    def _next_step(self, path: tuple[Entry, ...]) -> Next:
        step = next_step(path)
        must_wait = self.agent_run.agent.waits_for_all and suspended_calls(path)
        return Suspended() if isinstance(step, CallModel) and must_wait else step

    async def _ask_again(self, path: tuple[Entry, ...]) -> None:
        """Run the calls that wait once more: what they wait for may have been decided."""
        entries = {entry.id: entry for entry in path}
        for (entry_id, call_id), question in suspended_calls(path).items():
            await self.resume(entries[entry_id], call_id, question)

    async def resume(self, entry: Entry, call_id: str, question: int | None) -> None:
        """Run a call again that waited; see ToolRuns."""
        await self.tool_runs.resume(entry, call_id, question)

    def _unanswered(self) -> frozenset[tuple[int, str]]:
        step = next_step(self.agent_run.journal.path)
        if not isinstance(step, RunTools):
            return frozenset()
        return frozenset((step.entry.id, call.id) for call in step.calls)
