"""The arguments of delegate_task as models may write them.

More is taken than `offer` shows: one task may stand at the top, without `tasks`, and what is plain
is taken however it is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent.delegation.call.lenient import mended_task, mended_tasks
from agent.errors import ToolError
from agent.text.mending import Mending
from agent.tools.base import NOTHING_DONE, validate
from storage.records.entries import Json

GOAL_LIMIT = 20_000
CONTEXT_LIMIT = 200_000
CRITERIA_LIMIT = 20_000
MOST_RETRIES = 5


class TaskArguments(BaseModel):
    """What one task takes, alone or in a batch."""

    model_config = ConfigDict(extra="forbid", strict=True)

    goal: str | None = Field(default=None, min_length=1, max_length=GOAL_LIMIT)
    context: str | None = Field(default=None, max_length=CONTEXT_LIMIT)
    toolsets: list[str] | None = None
    role: Literal["leaf", "orchestrator"] | None = None
    model: str | None = None
    reasoning_effort: str | None = Field(default=None, max_length=40)
    max_iterations: int | None = Field(default=None, ge=1)
    branch_table: Any = None
    acceptance_criteria: str | None = Field(default=None, max_length=CRITERIA_LIMIT)
    retry_on_fail: int | None = Field(default=None, ge=0, le=MOST_RETRIES)
    judge_sees_tools: bool | None = None
    handoff: Any = None
    background: bool | None = None


class Arguments(TaskArguments):
    """Fields beside `tasks` hold for every task that does not set its own."""

    tasks: list[TaskArguments] | None = None


@dataclass(frozen=True, slots=True)
class GivenTask:
    """One of a call."""

    at: str
    """Where it stands in the arguments, for errors: "" or "tasks[0].", say."""
    task: TaskArguments
    warnings: tuple[str, ...]
    """Of how it was written, though it could be read."""


def given_tasks(arguments: Json) -> list[GivenTask]:
    """The tasks of a call. Raises ToolError."""
    whole = Mending()
    written = mended_task(arguments, "", Arguments.model_fields, whole)
    parts: list[Mending] = []
    if (batch := mended_tasks(written.get("tasks"), whole)) is not None:
        written["tasks"] = batch
    if isinstance(batch, list):
        parts = [Mending() for _ in batch]
        written["tasks"] = [
            mended_task(task, f"tasks[{i}]", Arguments.model_fields, parts[i])
            if isinstance(task, dict)
            else task
            for i, task in enumerate(batch)
        ]
    if faults := [fault for each in (whole, *parts) for fault in each.faults]:
        raise ToolError(f"{'; '.join(faults)}; {NOTHING_DONE}")
    given = validate(Arguments, written)
    if given.tasks is None:
        return [GivenTask("", given, whole.warnings())]
    return _batch(given, given.tasks, whole, parts)


def _batch(
    given: Arguments, tasks: Sequence[TaskArguments], whole: Mending, parts: Sequence[Mending]
) -> list[GivenTask]:
    if given.goal is not None:
        raise ToolError("give goal or tasks, not both; nothing was done")
    if not tasks:
        raise ToolError("tasks: is empty; nothing was done")
    names = TaskArguments.model_fields
    common = {name: getattr(given, name) for name in given.model_fields_set if name in names}
    return [
        GivenTask(
            f"tasks[{index}].",
            task.model_copy(update=_missing(common, task)),
            (*whole.warnings(), *parts[index].warnings()),
        )
        for index, task in enumerate(tasks)
    ]


def _missing(common: Json, task: TaskArguments) -> Json:
    return {name: value for name, value in common.items() if name not in task.model_fields_set}
