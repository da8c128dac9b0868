"""The handoff of a parent that gave none: what its own session shows it looked at last. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.delegation.handoff.model import HandedCommand, HandedFile, Handoff, Probe
from agent.delegation.handoff.render import TERMINAL
from agent.errors import ToolError
from agent.runtime.next_step import calls_of
from agent.text.templates import cut, cut_head
from agent.tools.base import parse_arguments
from agent.tools.files import ReadFile, SearchFiles
from agent.tools.workspace import normalized
from storage.records.entries import Entry, Json, Kind

MAX_FILES = 5
MAX_COMMANDS = 5
MAX_SEARCHES = 3
MAX_HITS = 20
"""Lines of one search."""
TAIL_LIMIT = 4_000
"""Characters of a command's output, its end; a cut is said."""
_LINE_LIMIT = 300

_EXIT_CODE = re.compile(r"exit code:? (-?\d{1,10})\b[^\n]*\n?")
_WORD = re.compile(r"\w{4,}")
_COMMON_WORDS = """
about after also been before both code could does done each every file files find from have here
into just like line lines make more most must need only other over please should some such task
than that their them then there these they this those until used using want were what when where
which while will with work would your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that most goals and most files have: they connect nothing."""


@dataclass(frozen=True, slots=True)
class _Finished:
    """A call that has a result."""

    name: str
    arguments: Json
    result: str


def automatic(
    path: Sequence[Entry],
    goal: str,
    *,
    files: int = MAX_FILES,
    commands: int = MAX_COMMANDS,
    searches: int = MAX_SEARCHES,
) -> Handoff:
    """The last files that were read, the last commands that were run, and what searches found
    that shares a word with the goal; calls that failed are left out.

    Files and searches are listed newest first, commands in the order in which they were run. The
    files' contents are not taken from the session: they are read as they are now.
    """
    read: dict[str, HandedFile] = {}
    ran: dict[str, HandedCommand] = {}
    found: dict[str, Probe] = {}
    words = _words(goal)
    for call in _finished_calls(path):
        match call.name:
            case ReadFile.name if len(read) < files:
                if name := normalized(_text(call, "path")):
                    read.setdefault(name, HandedFile(name))
            case SearchFiles.name if len(found) < searches:
                if (probe := _search(call, words)) is not None:
                    found.setdefault(probe.probe, probe)
            case name if name == TERMINAL and len(ran) < commands:
                if command := _text(call, "command"):
                    ran.setdefault(command, _command(command, call.result))
            case _:
                pass
    return Handoff(
        read_files=tuple(read.values()),
        ran_commands=tuple(ran.values())[::-1],
        probe_results=tuple(found.values()),
    )


def _finished_calls(path: Sequence[Entry]) -> Iterator[_Finished]:
    """Calls with their results, the one that ended last first."""
    messages = [entry for entry in path if entry.kind is Kind.MESSAGE]
    calls = {
        (entry.id, call.id): call
        for entry in messages
        if entry.body["role"] == "assistant"
        for call in calls_of(entry)
    }
    for entry in reversed(messages):
        if entry.body["role"] != "tool":
            continue
        call = calls.get((entry.body.get("call_entry", 0), entry.body["tool_call_id"]))
        result = entry.body["content"]
        if call is None or result.startswith("Error: "):
            continue
        try:
            yield _Finished(call.name, parse_arguments(call.arguments), result)
        except ToolError:
            # The call got a result that says so; there is nothing to hand over.
            continue


def _text(call: _Finished, name: str) -> str:
    return str(call.arguments.get(name, ""))


def _command(command: str, result: str) -> HandedCommand:
    code = _EXIT_CODE.match(result)
    output = result[code.end() :] if code else result
    return HandedCommand(command, int(code[1]) if code else None, cut_head(output, TAIL_LIMIT))


def _search(call: _Finished, words: frozenset[str]) -> Probe | None:
    hits = [line for line in call.result.splitlines() if not line.startswith("[")]
    lines = [line for line in hits if words & _words(line)]
    if not lines:
        return None
    shown = [cut(line, _LINE_LIMIT) for line in lines[:MAX_HITS]]
    if len(lines) > MAX_HITS:
        shown.append(f"[cut, {len(lines):,} lines in all]")
    where = _text(call, "path")
    name = f"{SearchFiles.name} {_text(call, 'pattern')}" + (f" in {where}" if where else "")
    return Probe(name, "\n".join(shown))


def _words(text: str) -> frozenset[str]:
    """The words that say what a text is about, in one case."""
    return frozenset(_WORD.findall(text.casefold())) - _COMMON
