"""What a tool is, and how a model's call of one becomes a result.

A model's arguments are untrusted and often broken: whatever they are, the call gets a result that
says what was wrong, and the turn goes on.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.spans import Attributes, span
from agent.text.untrusted import quote, storable
from storage.records.entries import Entry, Json
from storage.records.questions import Choice, Question
from storage.store import Transaction

log = logging.getLogger(__name__)

NOTHING_DONE = "nothing was done"
CLEARER = {"model_type": "Input should be an object"}
"""For pydantic's faults that name classes of ours."""

B = TypeVar("B", bound=BaseModel)


MayReach = Callable[[str], Awaitable[None]]
"""Raises ToolError, which says why, where a call must not reach this line. It is another than
the one that the call was held against the rules with."""


async def reaches_anything(_: str) -> None:
    """No guard stands before the tool."""


class Changed(ToolError):
    """Files that an approved call uses are others than those that were approved. Nothing ran."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(f"{', '.join(paths)} changed after it was approved; {NOTHING_DONE}")
        self.paths = paths


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
    may_reach: MayReach = field(default=reaches_anything, compare=False, repr=False)
    changed: Callable[[], tuple[str, ...]] | None = None
    """Where it was approved with files: names those that are others by now. Blocks. To be asked at
    the last moment; where it names any, nothing is run and `Changed` is raised."""


@dataclass(frozen=True, slots=True)
class OutFile:
    """A file for the people of the conversation."""

    name: str
    """Untrusted text."""
    data: bytes = field(repr=False)
    picture: bool = False
    """To be shown as a picture, not as a document."""
    caption: str = ""
    """Markdown."""


Also = Callable[[Transaction, Entry], None]
"""What is done in the transaction that appends a call's result, which is the entry. It may run
twice, and has no effect but through the transaction: so it is done once, with the result."""


@dataclass(frozen=True, slots=True)
class Done:
    text: str
    final: tuple[int, ...] = ()
    """Delegations whose result this is; those of the call that wait are not among them."""
    also: Also | None = field(default=None, compare=False)
    files: tuple[OutFile, ...] = ()
    """Shown in the conversation, where the agent is the one that people talk to."""
    changed: tuple[str, ...] = ()
    """Files of the workspace, paths in normal form, that a command of a child changed, as far as
    can be told: what else ran meanwhile may have."""


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
    details: str = ""
    """Markdown: what explains the question."""
    subject: Json = field(default_factory=dict)
    """What the call wants to find in the question's own, when it is run again."""


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
    """What `[tools] toolsets` switches on (agent.settings.TOOLSETS), and what children are never
    given (the delegation page's names for that among them). The tools of an MCP server are a
    toolset too, "mcp:NAME"."""

    FILE_READ = "file_read"
    FILE = "file"
    TERMINAL = "terminal"
    WEB = "web"
    CODE = "code"
    MEMORY = "memory"
    MESSAGE = "message"
    SCHEDULE = "schedule"

    CLARIFY = "clarify"
    CODE_EXECUTION = "code_execution"
    DELEGATION = "delegation"
    SEND_MESSAGE = "send_message"


MCP = "mcp:"
"""Before the name of a server, in that of its toolset."""
_FOR_CHILDREN = (Toolset.FILE_READ, Toolset.FILE, Toolset.TERMINAL, Toolset.WEB)


def is_parent_only(toolset: str) -> bool:
    """Children never get it, whatever is asked."""
    return toolset in list(Toolset) and toolset not in _FOR_CHILDREN


def with_parts(toolsets: Iterable[str]) -> frozenset[str]:
    """The toolsets with those that are part of them: who may write files may read them."""
    given = frozenset(toolsets)
    return given | {Toolset.FILE_READ} if Toolset.FILE in given else given


def asks_by_default(toolset: str) -> bool:
    """Whether some of its tools want a person to agree, where no rule says otherwise."""
    asking = (Toolset.TERMINAL, Toolset.CODE, Toolset.MESSAGE)
    return toolset in asking or toolset.startswith(MCP)


class Effects(StrEnum):
    NONE = "none"
    """It neither looks at anything nor changes it."""
    READS = "reads"
    CHANGES = "changes"


@dataclass(frozen=True, slots=True)
class Traits:
    """What the rest of Bough must know of a tool."""

    effects: Effects
    toolset: str | None = None
    """None: it comes with the agent."""
    repeatable: bool = False
    """Running the same call again after a crash is harmless, or continues where it was."""
    needs_approval: bool = False
    """A person is to agree before it runs, where no rule says otherwise."""
    asks_when: str = ""
    """Where only some of its calls want that: which, in words that follow "asks"."""

    @property
    def parent_only(self) -> bool:
        return self.toolset is not None and is_parent_only(self.toolset)

    def given_with(self, toolsets: Collection[str]) -> bool:
        """Whether who has these toolsets has it."""
        return self.toolset is None or self.toolset in with_parts(toolsets)


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


Syntax = Literal["", "shell", "python", "json"]
"""What a line is written in; "" for plain text, "json" for an object, the arguments. Neither has
anything that chains one deed to another."""


@dataclass(frozen=True, slots=True)
class Requested:
    """What a call would do, for the rules and for the people who are asked."""

    line: str
    """What rules are matched against: a command as it will run."""
    shown: str
    """In full, as it will run; plain, untrusted text."""
    where: str = ""
    """The folder, server or conversation, in words; plain text."""
    syntax: Syntax = ""
    """Of the line."""
    asks: bool | None = None
    """Whether a person is to agree where no rule says otherwise; None: as the tool's traits say."""
    risk: str = ""
    """Why a person is to agree wherever commands run unasked: a sentence of ours."""
    doubt: str = ""
    """Why the line may do something else than it says, so that no rule about lines allows it."""
    runs: str = ""
    """How it runs, in our own words: nothing that a model wrote stands here. One line."""
    folder: str = ""
    """The real folder that it runs in; plain, untrusted text."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that a call would use beside its arguments."""

    path: str
    """Relative to the workspace; untrusted, as the head is."""
    told: str
    """Its size, and who changed it and when, in our own words."""
    head: str = ""
    """Its first lines, "" where it has none to show."""
    more: int = 0
    """Lines that are not in the head."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a call would use beside its arguments: it must be the same when the call runs."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """By path: a digest of what is there."""
    files: tuple[NamedFile, ...] = ()
    """The same, for people."""
    notes: tuple[str, ...] = ()
    """What is not covered, in our own words."""

    def changed(self, before: Mapping[str, str]) -> tuple[str, ...]:
        """The paths that are others than they were, in order."""
        paths = {**before, **self.digests}
        return tuple(p for p in sorted(paths) if before.get(p) != self.digests.get(p))


@runtime_checkable
class Describes(Protocol):
    """A tool that says what a call of it would do. Of others, people see the arguments."""

    async def requested(self, call: Call) -> Requested:
        """Raises ToolError where the call cannot be done, so that nobody is asked for it."""
        ...


@runtime_checkable
class Binds(Protocol):
    """A tool whose calls use files that somebody may change between a question and the run."""

    async def binding(self, call: Call) -> Callable[[], Bound]:
        """What looks at the files of a call, as they are when it is called. That blocks."""
        ...


@runtime_checkable
class Begins(Protocol):
    """A tool that says what answers let a call of it begin. With others, all do."""

    def begins_with(self, asked: Question) -> bool:
        """Whether a call that waited for this may now do what must not be done twice."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """Whom tools are for, and where."""

    home: int
    """The chat's session: its workspace."""
    address: str
    """The conversation."""
    child: bool
    window: int | None
    """Tokens of the reader's context window."""


Kit = Callable[[Setting], Iterable[Tool]]
"""Makes tools that belong together. Who gets which of them, their toolsets say."""


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
    with span(f"execute_tool {tool.name}", _traced(tool)) as traced:
        try:
            arguments = parse_arguments(call.arguments)
            made = Call(call.id, arguments, session, entry, address, person, asked, told)
            return await tool.run(made)
        except ToolError as error:
            traced.fail("tool_error")
            return Done(f"Error: {error}")


def _traced(tool: Tool) -> Attributes:
    log.debug("tool call", extra={"tool": tool.name})
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": "function",
    }
