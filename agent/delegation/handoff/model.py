"""What a parent hands to a child with a task: files it read, commands it ran, what it found out.

The call's argument is read leniently into a Handoff; `hydrate` brings in the files' contents. How
it is made to fit a child's context is in `prune`, how a child reads it in `render`, and what is
handed over unasked in `automatic`.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from agent.text.sizing import size
from agent.text.untrusted import as_text, quote, unquoted
from agent.tools.base import validate
from agent.tools.files.workspace import FileState, Workspace, WorkspaceError, normalized

MAX_FILES = 200
"""Files of a handoff that are read; what is over is said."""
MAX_BYTES = 8_000_000
"""Bytes of text after which no further file is read."""
_NAMED = 20
"""Files of one kind that a cut names one by one."""


@dataclass(frozen=True, slots=True)
class HandedFile:
    path: str
    """Relative to the workspace, in its normal form."""
    content: str | None = None
    """As the parent gave it; None: as the workspace has it."""


@dataclass(frozen=True, slots=True)
class HandedCommand:
    cmd: str
    rc: int | None
    """Exit code; None where it was not given."""
    tail: str
    """End of its output."""


@dataclass(frozen=True, slots=True)
class Probe:
    probe: str
    result: str


@dataclass(frozen=True, slots=True)
class Handoff:
    """What is handed over, as the parent said it. No two files have the same path."""

    read_files: tuple[HandedFile, ...] = ()
    ran_commands: tuple[HandedCommand, ...] = ()
    """In the order in which they were run."""
    probe_results: tuple[Probe, ...] = ()
    dead_ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HydratedFile:
    path: str
    text: str
    state: FileState | None = None
    """Of the file whose whole content `text` is; None: cut, or not what the workspace has."""
    note: str = ""
    """What a reader must know: that it is cut, or differs from the workspace's."""


@dataclass(frozen=True, slots=True)
class Hydrated:
    """A handoff with contents. Its texts are data from everywhere: untrusted."""

    files: tuple[HydratedFile, ...] = ()
    commands: tuple[HandedCommand, ...] = ()
    probes: tuple[Probe, ...] = ()
    dead_ends: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    """What was handed over and is not here whole: for the child, and for the result's warnings."""


def _as_list(value: object) -> object:
    """One thing for a list of it, a list written as text, nothing for an empty one."""
    value = unquoted(value)
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def _as_prose(value: object) -> str:
    """Text; lists of lines are joined, anything else becomes JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return as_text(value)


def _as_prose_or_none(value: object) -> str | None:
    return None if value is None else _as_prose(value)


def _as_command_line(value: object) -> object:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return value


def _as_exit_code(value: object) -> object:
    """A number in whatever way it is written: 1, 1.0, "1", "exit code 1"."""
    match value:
        case None | "":
            return None
        case bool():
            raise ValueError("is not an exit code: give a number")
        case str():
            numbers: list[str] = re.findall(r"-?\d+", value)
            if len(numbers) != 1 or len(numbers[0]) > 12:
                raise ValueError("is not an exit code: give a number")
            return int(numbers[0])
        case _:
            return value


def _as_probes(value: object) -> object:
    """Probes by name; taken too: a list of {probe, result}."""
    value = unquoted(value)
    if value is None or value == "":
        return {}
    if not isinstance(value, list):
        return value
    wanted = {"probe", "result"}
    if not all(isinstance(item, dict) and item.keys() == wanted for item in value):
        raise ValueError("give an object of probe: result")
    return {_as_prose(item["probe"]): item["result"] for item in value}


Prose = Annotated[str, BeforeValidator(_as_prose, json_schema_input_type=str)]


class _Edge(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReadFile(_Edge):
    path: str = Field(min_length=1, description="Relative to the workspace.")
    content: Annotated[
        str | None, BeforeValidator(_as_prose_or_none, json_schema_input_type=str | None)
    ] = Field(default=None, description="Left out: as the file is now.")


class RanCommand(_Edge):
    cmd: Annotated[str, BeforeValidator(_as_command_line, json_schema_input_type=str)] = Field(
        min_length=1
    )
    rc: Annotated[int | None, BeforeValidator(_as_exit_code, json_schema_input_type=int | None)] = (
        Field(default=None, description="Exit code.", ge=-(2**31), lt=2**32)
    )
    tail: Prose = Field(default="", description="End of its output.")


def _as_read_file(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


def _as_ran_command(value: object) -> object:
    return {"cmd": value} if isinstance(value, str) else value


class HandoffArguments(_Edge):
    """The `handoff` of a delegate_task call, as models write it."""

    read_files: Annotated[
        list[Annotated[ReadFile, BeforeValidator(_as_read_file)]],
        BeforeValidator(_as_list, json_schema_input_type=list[str | ReadFile]),
    ] = Field(default=[], description="Files the worker gets with their contents.")
    ran_commands: Annotated[
        list[Annotated[RanCommand, BeforeValidator(_as_ran_command)]],
        BeforeValidator(_as_list, json_schema_input_type=list[RanCommand]),
    ] = Field(default=[], description="Commands you ran, so that it does not run them again.")
    probe_results: Annotated[
        dict[str, Prose], BeforeValidator(_as_probes, json_schema_input_type=dict[str, str])
    ] = Field(default={}, description="What you found out, by what you asked.")
    dead_ends: Annotated[
        list[Prose], BeforeValidator(_as_list, json_schema_input_type=list[str])
    ] = Field(default=[], description="What was tried and did not work.")

    @model_validator(mode="before")
    @classmethod
    def _written_as_text(cls, value: object) -> object:
        return unquoted(value)

    def handoff(self) -> Handoff:
        """The first of several files with one path stays; blank dead ends are dropped."""
        files: dict[str, HandedFile] = {}
        for given in self.read_files:
            path = normalized(given.path)
            files.setdefault(path, HandedFile(path, given.content))
        return Handoff(
            read_files=tuple(files.values()),
            ran_commands=tuple(HandedCommand(c.cmd, c.rc, c.tail) for c in self.ran_commands),
            probe_results=tuple(Probe(name, text) for name, text in self.probe_results.items()),
            dead_ends=tuple(text for text in self.dead_ends if text.strip()),
        )


class _Argument(BaseModel):
    handoff: HandoffArguments | None


def parse_handoff(value: object) -> Handoff | None:
    """A call's `handoff`; None where there is none. ToolError naming the field at fault.

    No size is an error: what is too much is cut later, by `prune`, which says so.
    """
    given = validate(_Argument, {"handoff": value}).handoff
    return None if given is None else given.handoff()


Read = Callable[[str], tuple[str, FileState] | str]
"""A file's text and state by its path, or a text that says why there is none."""


def reader(workspace: Workspace) -> Read:
    """Reads a workspace's text files. Blocks."""

    def read(path: str) -> tuple[str, FileState] | str:
        try:
            content = workspace.read(path)
        except WorkspaceError as error:
            return str(error)
        try:
            return content.data.decode(), content.state
        except UnicodeDecodeError:
            return _binary(content.state)

    return read


def hydrate(handoff: Handoff, read: Read) -> Hydrated:
    """The handoff with the files' contents. Blocks as `read` does.

    What cannot be read is no error: it stands in `cuts`. A content that the parent gave is kept;
    it gets a state only where the workspace has the same.
    """
    files: list[HydratedFile] = []
    missing: list[str] = []
    unread: list[str] = []
    room = MAX_BYTES
    for number, handed in enumerate(handoff.read_files):
        if number >= MAX_FILES or room <= 0:
            unread.append(handed.path)
            continue
        file = _hydrate_file(handed, read)
        if isinstance(file, str):
            missing.append(f"{quote(handed.path, 200)} not handed over: {_reason(file, handed)}")
        else:
            files.append(file)
            room -= size(file.text)
    return Hydrated(
        files=tuple(files),
        commands=handoff.ran_commands,
        probes=handoff.probe_results,
        dead_ends=handoff.dead_ends,
        cuts=(*_some(missing), *_unread(unread)),
    )


def _hydrate_file(handed: HandedFile, read: Read) -> HydratedFile | str:
    """The file with its text, or why it has none."""
    found = read(handed.path)
    if isinstance(found, str):
        if handed.content is None:
            return found
        note = f"as it was handed over; not read in the workspace: {_reason(found, handed)}"
        return HydratedFile(handed.path, handed.content, note=note)
    text, state = found
    if handed.content is not None and handed.content != text:
        note = "as it was handed over; the workspace has another content now"
        return HydratedFile(handed.path, handed.content, note=note)
    if "\0" in text:
        return _binary(state)
    return HydratedFile(handed.path, text, state)


def _binary(state: FileState) -> str:
    return f"a binary file of {state.size:,} bytes"


def _reason(text: str, handed: HandedFile) -> str:
    return quote(text.removeprefix(f"{handed.path}: "), 200)[1:-1]


def _some(lines: list[str]) -> Iterable[str]:
    yield from lines[:_NAMED]
    if len(lines) > _NAMED:
        yield f"and {len(lines) - _NAMED:,} more files not handed over"


def _unread(paths: list[str]) -> Iterable[str]:
    if paths:
        named = ", ".join(quote(path, 200) for path in paths[:_NAMED])
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        yield f"not read, because it is too much: {named}{more}"


def cache(hydrated: Hydrated) -> Mapping[str, tuple[str, FileState]]:
    """What reading a handed file again may give back, by normalized path, as long as the file's
    state is still this one. Only what the child was shown whole."""
    return {file.path: (file.text, file.state) for file in hydrated.files if file.state is not None}
