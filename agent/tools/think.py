"""think: room to reason before acting. It is kept in the session, and shown in the chat only where
`[session] show_thoughts` asks for it."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.tools.base import Call, Done, Effects, Traits, parse_arguments, validate


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thought: str = Field(description="Your reasoning, step by step.")
    acceptance_criteria: str = Field(
        default="", description="What must hold for the reasoning to be good enough."
    )


class ThinkTool:
    name = "think"
    description = (
        "Reason step by step before you act. Nobody sees the thought. With acceptance_criteria, "
        "check the thought against them before you go on."
    )
    parameters = Arguments.model_json_schema()
    traits = Traits(Effects.NONE, repeatable=True)

    async def run(self, call: Call) -> Done:
        arguments = validate(Arguments, call.arguments)
        if not arguments.acceptance_criteria:
            return Done("Noted.")
        return Done(
            "Noted. Before you go on, say for each of these whether the thought meets it: "
            + arguments.acceptance_criteria
        )


def thoughts_in(calls: Iterable[ToolCall]) -> list[str]:
    """What was thought in these calls, as far as it can be read."""
    found = []
    for call in calls:
        if call.name == ThinkTool.name:
            try:
                found.append(str(parse_arguments(call.arguments).get("thought", "")))
            except ToolError:
                continue  # the call's result says what was wrong
    return [thought for thought in found if thought.strip()]
