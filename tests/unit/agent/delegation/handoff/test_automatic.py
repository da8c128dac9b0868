"""What is handed over when the parent gave nothing."""

import json
from dataclasses import replace

from agent.delegation.handoff.automatic import MAX_COMMANDS, MAX_HITS, automatic
from agent.delegation.handoff.automatic import MAX_FILES as AUTO_FILES
from agent.delegation.handoff.model import (
    HandedCommand,
    Handoff,
    Hydrated,
    HydratedFile,
    Probe,
    hydrate,
)
from agent.delegation.handoff.render import history
from agent.models.base import ToolCall
from agent.runtime.next_step import tool_message
from storage.records.entries import Entry, Json, Kind, message, record
from tests.support.small_handoffs import STATE, has


class ParentsPath:
    """Builds the path of a parent's session, call by call."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, body: Json, kind: Kind = Kind.MESSAGE) -> Entry:
        number = len(self.entries) + 1
        entry = Entry(number, 1, number - 1 or None, number, number - 1, kind, body, "", 0, 0.0)
        self.entries.append(entry)
        return entry

    def call(self, name: str, arguments: object, result: str | None) -> "ParentsPath":
        """One call and its result. Every call has the same id, as some providers do it."""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = ToolCall("call_1", name, written)
        function = {"name": name, "arguments": written}
        made = {"id": call.id, "type": "function", "function": function}
        caller = self.add(message("assistant", "", tool_calls=[made]))
        if result is not None:
            self.add(tool_message(call, caller.id, result))
        return self


def test_nothing_looked_at_is_an_empty_handoff() -> None:
    path = ParentsPath()
    path.add(message("user", "hello"))
    path.add(message("assistant", "hi"))
    path.add(record("suspended", tool_call_id="a", call_entry=2, question=1), Kind.RECORD)
    path.call("delegate_task", {"goal": "x"}, None).call("think", {"thought": "read_file"}, "ok")
    assert automatic(path.entries, "x") == automatic([], "x") == Handoff()


def test_the_last_files_are_handed_newest_first_and_once() -> None:
    path = ParentsPath()
    for name in ("a", "b", "c", "d", "e", "f", "./b"):
        path.call("read_file", {"path": name}, "text")
    read = automatic(path.entries, "x").read_files
    assert [file.path for file in read] == ["b", "f", "e", "d", "c"]
    assert len(read) == AUTO_FILES
    assert all(file.content is None for file in read)


def test_calls_that_failed_or_have_no_result_are_left_out() -> None:
    path = ParentsPath().call("read_file", {"path": "a"}, "Error: a: there is no such file")
    path.call("read_file", {"path": "b"}, None).call("read_file", "{broken", "Error: not JSON")
    path.call("read_file", "[]", "text").call("read_file", {}, "text")
    path.call("terminal", {}, "exit code: 0")
    assert automatic(path.entries, "x") == Handoff()


def test_the_last_commands_are_handed_in_the_order_they_were_run() -> None:
    path = ParentsPath()
    for number in range(MAX_COMMANDS + 2):
        path.call("terminal", {"command": f"c{number}"}, f"exit code: {number}\nout {number}")
    path.call("terminal", {"command": "c3"}, "exit code: 9\nagain")
    ran = automatic(path.entries, "x").ran_commands
    assert [command.cmd for command in ran] == ["c2", "c4", "c5", "c6", "c3"]
    assert ran[-1] == HandedCommand("c3", 9, "again")


def test_an_output_without_exit_code_is_kept_and_a_long_ones_end() -> None:
    path = ParentsPath().call("terminal", {"command": "a"}, "plain output")
    path.call("terminal", {"command": "b"}, "exit code: 1\n" + "x" * 90_000 + "end")
    plain, long = automatic(path.entries, "x").ran_commands
    assert plain == HandedCommand("a", None, "plain output")
    assert long.rc == 1
    assert long.tail.startswith("[cut, 90003 characters in all]")
    assert long.tail.endswith("end")


def test_handed_commands_that_became_history_are_handed_on() -> None:
    commands = (HandedCommand("pytest", 1, "E   boom"), HandedCommand("ls", None, "a\nb"))
    path = ParentsPath()
    calls, *results = history(Hydrated(commands=commands))
    caller = path.add(calls)
    for result in results:
        path.add(result | {"call_entry": caller.id})
    assert automatic(path.entries, "x").ran_commands[0] == commands[0]
    assert automatic(path.entries, "x").ran_commands[1].rc is None


def test_searches_are_handed_where_they_share_a_word_with_the_goal() -> None:
    hits = "src/X.py:3: import parse_report\nsrc/Y.py:9: unrelated\n[cut after 100; narrow import]"
    path = ParentsPath().call("search_files", {"pattern": "import", "path": "src"}, hits)
    path.call("search_files", {"pattern": "zzz"}, "[no match; 12 files were searched]")
    path.call("search_files", {"pattern": "that"}, "a:1: that which would")
    probes = automatic(path.entries, "Fix the Import that is searched, match it").probe_results
    assert probes == (Probe("search_files import in src", "src/X.py:3: import parse_report"),)
    assert automatic(path.entries, "Fix the colours").probe_results == ()


def test_long_searches_are_cut_and_say_so() -> None:
    hits = "\n".join(f"a.py:{n}: import {'x' * 500}" for n in range(50))
    path = ParentsPath().call("search_files", {"pattern": "import"}, hits)
    [probe] = automatic(path.entries, "the import").probe_results
    lines = probe.result.splitlines()
    assert len(lines) == MAX_HITS + 1
    assert "characters in all]" in lines[0]
    assert lines[-1] == "[cut, 50 lines in all]"


def test_an_automatic_handoff_reads_the_files_as_they_are_now() -> None:
    path = ParentsPath().call("read_file", {"path": "a.py"}, "old")
    hydrated = hydrate(automatic(path.entries, "x"), has(a_py="new"))
    assert hydrated.files == (HydratedFile("a.py", "new", STATE),)
    assert replace(hydrated, files=()) == Hydrated()
