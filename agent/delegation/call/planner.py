"""The arguments of delegate_task, checked and settled into tasks."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.delegation.call.arguments import GivenTask, given_tasks
from agent.delegation.call.caller import Caller, Limits
from agent.delegation.call.child_models import ChildModels
from agent.delegation.core.events import Task
from agent.delegation.handoff.model import Hydrated
from agent.delegation.tables.model import BranchTable
from agent.delegation.tables.parse import parse_table
from agent.delegation.tables.source import TableError
from agent.errors import ToolError
from agent.models.registry import Models
from agent.text.untrusted import quote
from agent.tools.base import NOTHING_DONE, Toolset, is_parent_only, with_parts
from storage.records.entries import Json


@dataclass(frozen=True, slots=True)
class HandOverRequest:
    given: object
    """The handoff argument, None where there is none."""
    goal: str
    worker: str
    """Name of the child's model."""
    session: int
    """The session that delegates."""
    home: int
    context: str = ""
    toolsets: tuple[str, ...] = ()
    """The child's."""
    reads: bool = False
    """Whether who hands over may read files."""


MOST_STEPS = 500
"""Model calls that a task may ask for, where fewer are configured."""
MOST_ROUNDS = 20
"""Rounds with the overseer that a table may ask for, where fewer are configured."""

HandOver = Callable[[HandOverRequest], Awaitable[Hydrated | None]]
"""What is handed over, read and cut to the child's budget; None for nothing. Raises ToolError."""


@dataclass(frozen=True, slots=True)
class Planner:
    models: Models
    limits: Limits
    caller: Caller
    hand_over: HandOver

    async def plan(self, arguments: Json, session: int, started: int = 0) -> tuple[Task, ...]:
        """The tasks of a call in `session`, in a turn that has `started` so many already. ToolError
        where any of it cannot be a task; then nothing is begun."""
        given = given_tasks(arguments)
        self._check_count(len(given), started)
        tasks = []
        for task in given:
            try:
                tasks.append(await self._task(task, session))
            except ToolError as error:
                fault = str(error).removesuffix(f"; {NOTHING_DONE}")
                raise ToolError(f"{task.at}{fault}; {NOTHING_DONE}") from None
        return tuple(tasks)

    def _check_count(self, count: int, started: int) -> None:
        limit = self.limits.max_concurrent_children
        if count > limit:
            raise ToolError(
                f"{count} tasks are too many for one call: max_concurrent_children is {limit}. "
                "Send fewer tasks, make several calls, or have max_concurrent_children raised "
                "under [delegation]; nothing was done"
            )
        most = self.limits.max_per_turn
        if started + count > most:
            raise ToolError(
                f"{count} more would be too many for one turn: it has started {started} tasks, and "
                f"delegation.max_per_turn is {most}. Go on with the results you have and say what "
                "is left to do; the next message of a person begins a new count; nothing was done"
            )

    async def _task(self, written: GivenTask, session: int) -> Task:
        given = written.task
        goal = (given.goal or "").strip()
        if not goal:
            raise ToolError("goal: say what is to be done, here or in each of several tasks")
        warnings = list(written.warnings)
        table = self._table(given.branch_table)
        warnings += table.warnings if table is not None else ()
        children = ChildModels(self.models, self.limits, self.caller)
        worker = children.worker(given.model)
        asked = table.escalation_model if table is not None else None
        home = self.caller.home or session
        role = self._role(given.role, warnings)
        toolsets = self._toolsets(given.toolsets, role, warnings)
        context = given.context or ""
        reads = Toolset.FILE_READ in with_parts(self.caller.toolsets)
        request = HandOverRequest(
            given.handoff, goal, worker, session, home, context, toolsets, reads
        )
        handed = await self.hand_over(request)
        warnings += handed.cuts if handed is not None else ()
        return Task(
            goal=goal,
            context=context,
            worker=worker,
            overseer=children.overseer(asked, warnings),
            max_iterations=self._steps(given.max_iterations, warnings),
            max_depth=self._escalation_depth(table, warnings),
            table=table,
            reasoning_effort=given.reasoning_effort,
            toolsets=toolsets,
            role=role,
            depth=self.caller.depth + 1,
            acceptance_criteria=(given.acceptance_criteria or "").strip(),
            retry_on_fail=given.retry_on_fail or 0,
            judge_sees_tools=bool(given.judge_sees_tools),
            handed=handed,
            background=self._background(given.background, warnings),
            home=home,
            warnings=tuple(warnings),
        )

    def _table(self, source: object) -> BranchTable | None:
        if source is None:
            return None
        try:
            return parse_table(source, require_default=self.limits.require_default)
        except TableError as error:
            raise ToolError(f"branch_table: {error}") from None

    def _steps(self, asked: int | None, warnings: list[str]) -> int:
        default = self.limits.max_iterations
        return _at_most(MOST_STEPS, asked, default, "max_iterations", warnings)

    def _escalation_depth(self, table: BranchTable | None, warnings: list[str]) -> int:
        asked = table.max_escalation_depth if table is not None else None
        default = self.limits.max_escalation_depth
        return _at_most(MOST_ROUNDS, asked, default, "max_escalation_depth", warnings)

    def _toolsets(
        self,
        asked: Sequence[str] | None,
        role: Literal["leaf", "orchestrator"],
        warnings: list[str],
    ) -> tuple[str, ...]:
        """The caller's toolsets, or those of them that were asked for."""
        if asked is None:
            return self.caller.given
        for name in dict.fromkeys(asked):
            if name == Toolset.DELEGATION and role == "orchestrator":
                continue  # which comes with the role
            if is_parent_only(name):
                warnings.append(f"toolset {name!r} is never given to children")
            elif name not in self.caller.may_give:
                on = ", ".join(self.caller.may_give)
                known = f"switched on here are {on}" if on else "none is; leave toolsets out"
                raise ToolError(f"toolsets: {quote(name)} is not switched on; {known}")
        return tuple(sorted(set(self.caller.may_give).intersection(asked)))

    def _background(self, asked: bool | None, warnings: list[str]) -> bool:
        """Only the parent can be told a result later: a child is gone by then."""
        if asked and self.caller.depth > 0:
            warnings.append("background has no effect for a child; its tasks were waited for")
            return False
        return bool(asked)

    def _role(
        self, role: Literal["leaf", "orchestrator"] | None, warnings: list[str]
    ) -> Literal["leaf", "orchestrator"]:
        if role != "orchestrator":
            return "leaf"
        if self.caller.may_orchestrate(self.limits):
            return "orchestrator"
        if not self.limits.orchestrator_enabled:
            warnings.append("role orchestrator is switched off here; the child is a leaf")
        else:
            warnings.append(
                f"role orchestrator has no effect: max_spawn_depth is {self.limits.max_spawn_depth}"
            )
        return "leaf"


def _at_most(most: int, asked: int | None, default: int, name: str, warnings: list[str]) -> int:
    """What a model asks for: whoever configured more allows more."""
    if asked is None:
        return default
    if asked > (most := max(most, default)):
        warnings.append(f"{name}: {asked:,} is more than {most}, which is taken")
        return most
    return asked
