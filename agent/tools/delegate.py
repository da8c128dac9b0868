"""delegate_task: hand work to a cheaper model, along a branch table or open-ended."""

import asyncio
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agent.delegation_events import Task
from agent.errors import ToolError
from agent.models import Models
from agent.subagent import Finished, Held, Subagents
from agent.table import BranchTable, TableError, parse_table
from agent.tools.registry import Call, Done, Outcome, Waiting, validate

BLOCKED_TOOLSETS = frozenset({"delegation", "clarify", "memory", "code_execution", "send_message"})
"""What children never get, whatever is asked."""
ABSENT_TOOLSETS = frozenset({"file", "terminal", "web"})
"""Known names whose tools this gateway does not have."""
GOAL_LIMIT = 20_000
CONTEXT_LIMIT = 200_000

TABLE_HELP = (
    "Everything that could come out, as an object {conditions, default, escalation_model, "
    "max_escalation_depth}, a list of conditions, or YAML text. A condition is {description, "
    "checks: [text], branches: {name: action}} or {description, branch: action}. An action is "
    '{"action": "report" | "report_with_evidence", "format"?} or {"action": "escalate", "tier": '
    '"overseer" | "human", "prompt"?} or {"action": "expand", "prompt"?}. prompt and format may '
    "use {observed_state}, {evidence}, {goal}, {branch}, {condition}. default is an action."
)


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    goal: str = Field(
        min_length=1,
        max_length=GOAL_LIMIT,
        description="What is to be done. The worker knows nothing else.",
    )
    context: str | None = Field(
        default=None, max_length=CONTEXT_LIMIT, description="All the worker must know to do it."
    )
    toolsets: list[str] | None = Field(default=None, description="Toolsets the worker may use.")
    model: str | None = Field(
        default=None, description="A tier, preset or configured model; default: the worker tier."
    )
    max_iterations: int | None = Field(
        default=None, ge=1, description="Model calls the worker may make."
    )
    branch_table: Any = Field(default=None, description=TABLE_HELP)


@dataclass(frozen=True, slots=True)
class Limits:
    """The [delegation] section, as far as a call is checked against it."""

    max_concurrent_children: int = 3
    max_iterations: int = 50
    max_escalation_depth: int = 2
    escalation_model: str | None = None
    require_default: bool = False


class DelegateTool:
    name = "delegate_task"
    description = (
        "Give a task to a cheap worker. With a branch_table the worker only matches what it sees "
        "against it; what the table does not foresee goes to an overseer model, then to a person. "
        "Returns JSON: results, in task order, each with status (completed, failed, interrupted, "
        "rejected, waiting), summary, branch, evidence, resolved_by."
    )
    parameters = Arguments.model_json_schema()
    repeatable = True

    def __init__(self, subagents: Subagents, models: Models, limits: Limits) -> None:
        self._subagents = subagents
        self._models = models
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.max_concurrent_children)

    async def run(self, call: Call) -> Outcome:
        task = plan(validate(Arguments, call.arguments), self._models, self._limits)
        delegation = await self._subagents.start(
            task,
            session=call.session,
            call_entry=call.entry,
            call_id=call.id,
            address=call.address,
        )
        async with self._slots:
            performed = await self._subagents.perform(delegation)
        match performed:
            case Finished(result):
                return Done(result)
            case Held(question, result):
                return Waiting(question, result)


def plan(arguments: Arguments, models: Models, limits: Limits) -> Task:
    """A call's arguments as a task; ToolError where they cannot be one."""
    warnings: list[str] = []
    if not arguments.goal.strip():
        raise ToolError("goal: say what is to be done; nothing was done")
    warnings += _toolset_warnings(arguments.toolsets or [])
    table = _table(arguments.branch_table, limits)
    warnings += table.warnings if table is not None else ()
    return Task(
        goal=arguments.goal,
        context=arguments.context or "",
        worker=_worker(arguments.model, models),
        overseer=_overseer(table, models, limits, warnings),
        max_iterations=arguments.max_iterations or limits.max_iterations,
        max_depth=_depth(table, limits),
        table=table,
        warnings=tuple(warnings),
    )


def _toolset_warnings(toolsets: list[str]) -> list[str]:
    unknown = [name for name in toolsets if name not in BLOCKED_TOOLSETS | ABSENT_TOOLSETS]
    if unknown:
        known = ", ".join(sorted(ABSENT_TOOLSETS))
        raise ToolError(f"toolsets: {unknown[0]!r} is not one; known are {known}; nothing was done")
    blocked = [
        f"toolset {name!r} is never given to children"
        for name in toolsets
        if name in BLOCKED_TOOLSETS
    ]
    absent = [
        f"toolset {name!r} is not installed here" for name in toolsets if name in ABSENT_TOOLSETS
    ]
    return blocked + absent


def _table(source: object, limits: Limits) -> BranchTable | None:
    if source is None:
        return None
    try:
        return parse_table(source, require_default=limits.require_default)
    except TableError as error:
        raise ToolError(f"branch_table: {error}; nothing was done") from None


def _worker(name: str | None, models: Models) -> str:
    if name is None:
        return "worker"
    spec = models.find(name)
    if spec is None:
        known = ", ".join(models.names())
        raise ToolError(f"model: {name!r} is not configured; known are {known}; nothing was done")
    return name


def _overseer(
    table: BranchTable | None, models: Models, limits: Limits, warnings: list[str]
) -> str:
    name = (table.escalation_model if table is not None else None) or limits.escalation_model
    if name is None:
        return "overseer"
    if models.find(name) is None:
        warnings.append(f"escalation_model {name!r} is not configured; the overseer tier is used")
        return "overseer"
    return name


def _depth(table: BranchTable | None, limits: Limits) -> int:
    if table is None or table.max_escalation_depth is None:
        return limits.max_escalation_depth
    return table.max_escalation_depth
