"""What a tool is, and how a model's call of one becomes a result.

A model's arguments are untrusted and often broken: whatever they are, the call gets a result that
says what was wrong, and the turn goes on.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.text.untrusted import quote, storable
from storage.records.entries import Json
from storage.records.questions import Choice, Question

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
    asked: Question | None = None
    """Where the call waited and is run again: the question that it waited for."""
    told: frozenset[int] | None = None
    """Where the call has a result already: those of its delegations that were told with it."""


@dataclass(frozen=True, slots=True)
class Done:
    text: str
    final: tuple[int, ...] = ()
    """Delegations whose result this is; those of the call that wait are not among them."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must decide first. The question is stored with the record that the call waits. Once
    it is closed, decided or expired, the call is run again and finds it as `Call.asked`."""

    text: str
    """Markdown."""
    choices: tuple[Choice, ...]
    told: str
    """What the model is told until then."""
    kind: str = "escalation"
    """What asks; see Question."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person must decide first, and was asked already. The call is run again when they have."""

    question: int
    text: str
    """What the model is told until then."""


Settled = Done | Waiting
"""What is appended for a call."""
Outcome = Settled | Ask


class Toolset(StrEnum):
    """What is switched on by its name, also what is still to come."""

    FILE = "file"
    TERMINAL = "terminal"
    WEB = "web"

    CLARIFY = "clarify"
    CODE_EXECUTION = "code_execution"
    DELEGATION = "delegation"
    MEMORY = "memory"
    SEND_MESSAGE = "send_message"

    @property
    def parent_only(self) -> bool:
        """Children never get it, whatever is asked."""
        return self not in (Toolset.FILE, Toolset.TERMINAL, Toolset.WEB)


class Effects(StrEnum):
    NONE = "none"
    """It neither looks at anything nor changes it."""
    READS = "reads"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Traits:
    """What the rest of Bough must know of a tool."""

    effects: Effects
    toolset: Toolset | None = None
    """None: it comes with the agent."""
    repeatable: bool = False
    """Running the same call again after a crash is harmless, or continues where it was."""
    needs_approval: bool = False
    """A person is to agree before it runs, where no rule says otherwise. Nothing asks them yet."""

    @property
    def parent_only(self) -> bool:
        return self.toolset is not None and self.toolset.parent_only

    def given_with(self, toolsets: Collection[str]) -> bool:
        """Whether who has these toolsets has it."""
        return self.toolset is None or self.toolset in toolsets


class Tool(Protocol):
    name: str
    description: str
    parameters: Json
    """JSON schema of the arguments."""
    traits: Traits

    async def run(self, call: Call) -> Outcome:
        """May wait for a person: then the same call is run again, in another process too, and goes
        on from what is stored. Raises ToolError where the call cannot be done."""
        ...


Tools = Mapping[str, Tool]


def looking(tools: Tools) -> Tools:
    """Those of the tools that look at something, change nothing, and ask nobody."""
    return {
        name: tool
        for name, tool in tools.items()
        if tool.traits.effects is Effects.READS and not tool.traits.needs_approval
    }


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
    tools: Tools,
    call: ToolCall,
    *,
    session: int,
    entry: int,
    address: str,
    person: str,
    asked: Question | None = None,
    told: frozenset[int] | None = None,
) -> Outcome:
    """Run one call of a model. Every fault of the call is its result, never an exception."""
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(tools) or "none"
        return Done(f"Error: there is no tool named {quote(call.name)}. Tools: {known}.")
    try:
        arguments = parse_arguments(call.arguments)
        made = Call(call.id, arguments, session, entry, address, person, asked, told)
        return await tool.run(made)
    except ToolError as error:
        return Done(f"Error: {error}")
