"""The arguments of delegate_task, checked and settled into tasks."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent.delegation.core.events import Task
from agent.delegation.handoff.model import Hydrated
from agent.delegation.tables.model import BranchTable
from agent.delegation.tables.parse import TableError, parse_table
from agent.errors import ToolError
from agent.models.registry import RANKS, Models
from agent.text.untrusted import quote
from agent.tools.base import NOTHING_DONE, Toolset, validate
from storage.records.entries import Json

GOAL_LIMIT = 20_000
CONTEXT_LIMIT = 200_000
CRITERIA_LIMIT = 20_000

TABLE_HELP = (
    "Everything that could come out, as an object {conditions, default, escalation_model, "
    "max_escalation_depth}, a list of conditions, or YAML text. A condition is {description, "
    "checks: [text], branches: {name: action}} or {description, branch: action}. An action is "
    '{"action": "report" | "report_with_evidence", "format"?} or {"action": "escalate", "tier": '
    '"overseer" | "human", "prompt"?} or {"action": "expand", "prompt"?}. prompt and format may '
    "use {observed_state}, {evidence}, {goal}, {branch}, {condition}. default is an action."
)
HANDOFF_HELP = (
    "What you know already, so that the worker does not find it out again: {read_files: [path], "
    "ran_commands: [{cmd, rc, tail}], probe_results: {probe: result}, dead_ends: [text]}. Without "
    "it, your last reads and commands are handed over."
)


class TaskArguments(BaseModel):
    """What one task takes, alone or in a batch."""

    model_config = ConfigDict(extra="forbid", strict=True)

    goal: str | None = Field(
        default=None,
        min_length=1,
        max_length=GOAL_LIMIT,
        description="What is to be done. The worker knows nothing else.",
    )
    context: str | None = Field(
        default=None, max_length=CONTEXT_LIMIT, description="All the worker must know to do it."
    )
    toolsets: list[str] | None = Field(
        default=None, description="Toolsets the worker may use; default: yours."
    )
    role: Literal["leaf", "orchestrator"] | None = Field(
        default=None, description="An orchestrator may delegate in turn, where that is allowed."
    )
    model: str | None = Field(
        default=None, description="A tier, preset or configured model; default: the worker tier."
    )
    reasoning_effort: str | None = Field(default=None, max_length=40)
    max_iterations: int | None = Field(
        default=None, ge=1, description="Model calls the worker may make."
    )
    branch_table: Any = Field(default=None, description=TABLE_HELP)
    acceptance_criteria: str | None = Field(
        default=None,
        max_length=CRITERIA_LIMIT,
        description="What the result must meet. An independent model judges it.",
    )
    retry_on_fail: int | None = Field(
        default=None, ge=0, le=5, description="How often a failing worker tries again; default 0."
    )
    judge_sees_tools: bool | None = Field(
        default=None, description="Show the judge the worker's tool calls too."
    )
    handoff: Any = Field(default=None, description=HANDOFF_HELP)
    background: bool | None = Field(
        default=None, description="Go on at once; the result arrives later as a message."
    )


class Arguments(TaskArguments):
    tasks: list[TaskArguments] | None = Field(
        default=None,
        description="Several tasks to run side by side, instead of goal. Fields beside it hold "
        "for every task that does not set its own.",
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """The [delegation] section, as far as a call is checked against it."""

    max_concurrent_children: int = 3
    max_per_turn: int = 32
    """Delegations of one turn, over all its calls."""
    max_iterations: int = 50
    max_escalation_depth: int = 2
    max_spawn_depth: int = 1
    orchestrator_enabled: bool = True
    escalation_model: str | None = None
    require_default: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """Who delegates: how high its model ranks, how deep it stands, what it may use itself."""

    rank: int
    depth: int
    toolsets: frozenset[str]
    home: int | None = None
    """The chat's session, where a child delegates; else the session that calls."""


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
        given = validate(Arguments, arguments)
        singles = _singles(given)
        self._check_count(len(singles), started)
        tasks = []
        for index, single in enumerate(singles):
            place = f"tasks[{index}]." if given.tasks is not None else ""
            try:
                tasks.append(await self._task(single, session))
            except ToolError as error:
                fault = str(error).removesuffix(f"; {NOTHING_DONE}")
                raise ToolError(f"{place}{fault}; {NOTHING_DONE}") from None
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

    async def _task(self, given: TaskArguments, session: int) -> Task:
        goal = (given.goal or "").strip()
        if not goal:
            raise ToolError("goal: say what is to be done, here or in each of several tasks")
        warnings: list[str] = []
        table = self._table(given.branch_table)
        warnings += table.warnings if table is not None else ()
        worker = self._worker(given.model)
        home = self.caller.home or session
        role = self._role(given.role, warnings)
        toolsets = self._toolsets(given.toolsets, role, warnings)
        context = given.context or ""
        request = HandOverRequest(given.handoff, goal, worker, session, home, context, toolsets)
        handed = await self.hand_over(request)
        warnings += handed.cuts if handed is not None else ()
        return Task(
            goal=goal,
            context=context,
            worker=worker,
            overseer=self._overseer(table, warnings),
            max_iterations=given.max_iterations or self.limits.max_iterations,
            max_depth=self._escalation_depth(table),
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

    def _worker(self, name: str | None) -> str:
        """A tier of the caller's rank or lower: a child never climbs, only the runtime does."""
        if name is None:
            return "worker"
        spec = self.models.find(name)
        if spec is None:
            known = ", ".join(self.models.names())
            raise ToolError(f"model: {quote(name, 200)} is not configured; known are {known}")
        # Several entries may have one model string: the highest that may be asked for is meant.
        meant = (spec, *(same for same in self.models.specs() if same.model == name))
        for one in meant:
            if self.models.rank(one) <= self.caller.rank:
                return one.name
        raise ToolError(f"model: {quote(name, 200)} is above your own tier; ask for yours or lower")

    def _overseer(self, table: BranchTable | None, warnings: list[str]) -> str:
        """The model that a table or the configuration names. A table may climb no higher than its
        author stands, or than the runtime climbs by itself."""
        asked = table.escalation_model if table is not None else None
        name = asked or self.limits.escalation_model
        if name is None:
            return "overseer"
        spec = self.models.find(name)
        highest = max(self.caller.rank, RANKS["overseer"])
        if spec is None:
            wrong = "is not configured"
        elif asked and self.models.rank(spec) > highest:
            wrong = "is above your own tier"
        else:
            return name
        warnings.append(f"escalation_model {quote(name, 200)} {wrong}; the overseer tier is used")
        return "overseer"

    def _escalation_depth(self, table: BranchTable | None) -> int:
        if table is None or table.max_escalation_depth is None:
            return self.limits.max_escalation_depth
        return table.max_escalation_depth

    def _toolsets(
        self,
        asked: Sequence[str] | None,
        role: Literal["leaf", "orchestrator"],
        warnings: list[str],
    ) -> tuple[str, ...]:
        """The caller's toolsets, or those of them that were asked for."""
        if asked is None:
            return tuple(sorted(self.caller.toolsets))
        unknown = [name for name in asked if name not in list(Toolset)]
        if unknown:
            known = ", ".join(sorted(each for each in Toolset if not each.parent_only))
            raise ToolError(f"toolsets: {quote(unknown[0])} is not one; known are {known}")
        for name in dict.fromkeys(asked):
            if name == Toolset.DELEGATION and role == "orchestrator":
                continue  # which comes with the role
            if Toolset(name).parent_only:
                warnings.append(f"toolset {name!r} is never given to children")
            elif name not in self.caller.toolsets:
                warnings.append(f"toolset {name!r} is not switched on here")
        return tuple(sorted(self.caller.toolsets.intersection(asked)))

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
        if not self.limits.orchestrator_enabled:
            warnings.append("role orchestrator is switched off here; the child is a leaf")
            return "leaf"
        if self.caller.depth + 1 >= self.limits.max_spawn_depth:
            warnings.append(
                f"role orchestrator has no effect: max_spawn_depth is {self.limits.max_spawn_depth}"
            )
            return "leaf"
        return "orchestrator"


def _singles(given: Arguments) -> list[TaskArguments]:
    """The tasks of a call; fields beside `tasks` hold for every task that does not set its own."""
    if given.tasks is None:
        return [given]
    if given.goal is not None:
        raise ToolError("give goal or tasks, not both; nothing was done")
    if not given.tasks:
        raise ToolError("tasks: is empty; nothing was done")
    names = TaskArguments.model_fields
    common = {name: getattr(given, name) for name in given.model_fields_set if name in names}
    return [
        task.model_copy(update={k: v for k, v in common.items() if k not in task.model_fields_set})
        for task in given.tasks
    ]
