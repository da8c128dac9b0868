"""The handoff of a parent that gave none: what it looked at in this turn or the last, as far as
that has to do with the task. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agent.delegation.handoff.model import HandedCommand, HandedFile, Handoff, Probe
from agent.delegation.handoff.render import TERMINAL
from agent.errors import ToolError
from agent.runtime.next_step import calls_of
from agent.text.templates import cut, cut_head
from agent.tools.base import parse_arguments
from agent.tools.files.tools import ReadFile, SearchFiles
from agent.tools.files.workspace import normalized
from agent.tools.files.writing import EditFile, WriteFile
from storage.records.entries import Entry, Json, Kind

MAX_FILES = 5
MAX_COMMANDS = 5
MAX_SEARCHES = 3
MAX_LINES = 20
"""Of one file or search. A word that more lines of it share connects none of them."""
TAIL_LIMIT = 4_000
"""Characters of a command's output, its end; a cut is said."""
_LINE_LIMIT = 300

_EXIT_CODE = re.compile(r"exit code:? (-?\d{1,10})\b[^\n]*\n?")
_PAGE = re.compile(r"\[lines? (\d+)\b[^\n]*\]\n")
"""What read_file says above what is not the whole file."""
_WORD = re.compile(r"\w{4,}")
_COMMON_WORDS = """
about after also answer been before both check code compute could count does done describe each
every explain file files find from give have here into just know like line lines list long look
make mend more most must name need number numbers only other over please question read report
result return should short show some such summarise summary task tell text than that their them
then there these they this those translate until used using want were what when where which while
will with word words work would write your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that most goals and most files have: they connect nothing."""


@dataclass(frozen=True, slots=True)
class _Finished:
    """A call that has a result."""

    name: str
    arguments: Json
    result: str


@dataclass(frozen=True, slots=True)
class _About:
    """What a task is about."""

    text: str
    words: frozenset[str]

    def names(self, path: str) -> bool:
        """Whether it names the file, in a way that no other word is taken for."""
        name = PurePosixPath(path).name.casefold()
        found = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", self.text)
        return "." in name and found is not None

    def related(self, lines: Sequence[str]) -> list[str]:
        """Those that share a word with it."""
        shared = [self.words & _words(line) for line in lines]
        often = Counter(word for words in shared for word in words)
        telling = {word for word, count in often.items() if count <= MAX_LINES}
        return [line for line, words in zip(lines, shared, strict=True) if words & telling]


def automatic(path: Sequence[Entry], task: str) -> Handoff:
    """What the calls of this turn and the last showed that has to do with a task, by its goal and
    context: the last files, commands and searches; calls that failed are left out.

    A file that the task names and that was read whole is handed as it is now. Of other files and
    of searches there are the lines that share a word with the task, as they were shown; of a file
    that was written since there are none. Commands come whole, in the order in which they were run.
    """
    found = _Found(_About(task.casefold(), _words(task)))
    for call in _finished_calls(_recent(path)):
        found.take(call)
    return Handoff(
        read_files=tuple(found.files.values()),
        ran_commands=tuple(found.commands.values())[::-1],
        probe_results=(*found.lines.values(), *found.hits.values()),
    )


@dataclass(slots=True)
class _Found:
    """What is handed over, from the newest call back."""

    about: _About
    files: dict[str, HandedFile] = field(default_factory=dict)
    lines: dict[str, Probe] = field(default_factory=dict)
    hits: dict[str, Probe] = field(default_factory=dict)
    commands: dict[str, HandedCommand] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    def take(self, call: _Finished) -> None:
        match call.name:
            case WriteFile.name | EditFile.name:
                self.written.add(normalized(_text(call, "path")))
            case ReadFile.name if name := normalized(_text(call, "path")):
                self._take_file(name, call.result)
            case SearchFiles.name if len(self.hits) < MAX_SEARCHES:
                where = _text(call, "path")
                title = f"{call.name} {_text(call, 'pattern')}" + (f" in {where}" if where else "")
                hits = [line for line in call.result.splitlines() if not line.startswith("[")]
                if related := self.about.related(hits):
                    self.hits.setdefault(title, Probe(title, _shown(related)))
            case name if name == TERMINAL and len(self.commands) < MAX_COMMANDS:
                command = _text(call, "command")
                if command and self.about.related([command, *call.result.splitlines()]):
                    self.commands.setdefault(command, _command(command, call.result))
            case _:
                pass

    def _take_file(self, name: str, shown: str) -> None:
        page, named = _PAGE.match(shown), self.about.names(name)
        if len(self.files) + len(self.lines) >= MAX_FILES or name in self.files:
            return
        if named and page is None:
            self.files[name] = HandedFile(name)
        elif name not in self.written:
            title, lines = f"{ReadFile.name} {name}", _numbered(shown, page)
            if named:
                self.lines.setdefault(lines[0], Probe(title, "\n".join(lines)))
            elif related := self.about.related(lines):
                self.lines.setdefault(f"{name}:{lines[0]}", Probe(title, _shown(related)))


def _recent(path: Sequence[Entry]) -> Sequence[Entry]:
    """This turn and the last: what came since the last but one beginning of a turn."""
    messages = [entry for entry in path if entry.kind is Kind.MESSAGE]
    begins, before = [], False
    for at, entry in enumerate(messages):
        said = entry.body["role"] == "user" and not entry.body.get("correction")
        if said and not before:
            begins.append(at)
        before = said
    return messages[begins[-2] :] if len(begins) > 1 else messages


def _finished_calls(messages: Sequence[Entry]) -> Iterator[_Finished]:
    """Calls with their results, the one that ended last first."""
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


def _numbered(shown: str, page: re.Match[str] | None) -> list[str]:
    """The lines of a file that were shown, each with its number."""
    first, text = (int(page[1]), shown[page.end() :]) if page else (1, shown)
    return [f"{number}: {line}" for number, line in enumerate(text.splitlines(), first)]


def _shown(lines: Sequence[str]) -> str:
    kept = [cut(line, _LINE_LIMIT) for line in lines[:MAX_LINES]]
    if len(lines) > MAX_LINES:
        kept.append(f"[cut, {len(lines):,} lines in all]")
    return "\n".join(kept)


def _words(text: str) -> frozenset[str]:
    """The words that say what a text is about, in one case."""
    return frozenset(_WORD.findall(text.casefold())) - _COMMON
