"""The arguments of delegate_task as models may write them.

More is taken than `offer` shows: one task may stand at the top, without `tasks`.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.tools.base import validate
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


def places(arguments: Json) -> list[tuple[str, TaskArguments]]:
    """The tasks of a call, each with its place in the arguments for errors. Raises ToolError."""
    given = validate(Arguments, arguments)
    if given.tasks is None:
        return [("", given)]
    if given.goal is not None:
        raise ToolError("give goal or tasks, not both; nothing was done")
    if not given.tasks:
        raise ToolError("tasks: is empty; nothing was done")
    names = TaskArguments.model_fields
    common = {name: getattr(given, name) for name in given.model_fields_set if name in names}
    return [
        (f"tasks[{index}].", task.model_copy(update=_missing(common, task)))
        for index, task in enumerate(given.tasks)
    ]


def _missing(common: Json, task: TaskArguments) -> Json:
    return {name: value for name, value in common.items() if name not in task.model_fields_set}
