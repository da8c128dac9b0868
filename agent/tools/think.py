"""think: room to reason before acting. It is kept in the session, not shown in the chat."""

from pydantic import BaseModel, ConfigDict, Field

from agent.tools.registry import Call, Done, validate


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
    repeatable = True

    async def run(self, call: Call) -> Done:
        arguments = validate(Arguments, call.arguments)
        if not arguments.acceptance_criteria:
            return Done("Noted.")
        return Done(
            "Noted. Before you go on, say for each of these whether the thought meets it: "
            + arguments.acceptance_criteria
        )
