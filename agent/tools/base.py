"""What a tool is, and how a model's call of one becomes a result.

A model's arguments are untrusted and often broken: whatever they are, the call gets a result that
says what was wrong, and the turn goes on.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.text.untrusted import quote, storable
from storage.records.entries import Json

NOTHING_DONE = "nothing was done"
CLEARER = {"model_type": "Input should be an object"}
"""For pydantic's faults that name classes of ours."""

B = TypeVar("B", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, with its place in the session."""

    id: str
    arguments: Json
    session: int
    entry: int
    """The assistant entry that holds the call. With the id it names the call for ever; ids alone
    may repeat."""
    address: str
    """The conversation whose turn this is."""
    person: str
    """Identity of who asked for it, "" where nobody did."""


@dataclass(frozen=True, slots=True)
class Done:
    text: str
    final: tuple[int, ...] = ()
    """Delegations whose result this is; those of the call that wait are not among them."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person must decide first. The result is appended when they have."""

    question: int
    text: str
    """What the model is told until then."""


Outcome = Done | Waiting


class Tool(Protocol):
    name: str
    description: str
    parameters: Json
    """JSON schema of the arguments."""
    repeatable: bool
    """Running the same call again after a crash is harmless, or continues where it was."""

    async def run(self, call: Call) -> Outcome:
        """Raises ToolError where the call cannot be done."""
        ...


Tools = Mapping[str, Tool]


def toolbox(*tools: Tool) -> Tools:
    return {tool.name: tool for tool in tools}


def function_schema(name: str, description: str, parameters: Json) -> Json:
    """A tool as OpenAI's chat API takes it."""
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def schemas(tools: Tools) -> list[Json]:
    return [function_schema(t.name, t.description, t.parameters) for t in tools.values()]


def parse_arguments(text: str) -> Json:
    """A call's arguments as an object; ToolError where they are none."""
    try:
        arguments = storable(json.loads(text or "{}"))
    except (ValueError, RecursionError) as error:
        raise ToolError(f"the arguments are not valid JSON ({error}); nothing was done") from None
    if not isinstance(arguments, dict):
        raise ToolError("the arguments must be a JSON object; nothing was done")
    return arguments


def validate(model: type[B], arguments: Mapping[str, Any]) -> B:
    """Arguments checked against a pydantic model; ToolError naming each field and its fault."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: "
            f"{CLEARER.get(fault['type'], fault['msg'])}"
            for fault in error.errors()[:8]
        )
        raise ToolError(f"{faults}; {NOTHING_DONE}") from None


async def run_call(
    tools: Tools, call: ToolCall, *, session: int, entry: int, address: str, person: str
) -> Outcome:
    """Run one call of a model. Every fault of the call is its result, never an exception."""
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(tools) or "none"
        return Done(f"Error: there is no tool named {quote(call.name)}. Tools: {known}.")
    try:
        arguments = parse_arguments(call.arguments)
        return await tool.run(Call(call.id, arguments, session, entry, address, person))
    except ToolError as error:
        return Done(f"Error: {error}")
