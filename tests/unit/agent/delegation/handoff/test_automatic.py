"""What is handed over when the parent gave nothing."""

import json

import pytest

from agent.delegation.handoff.automatic import MAX_COMMANDS, MAX_LINES, automatic
from agent.delegation.handoff.automatic import MAX_FILES as AUTO_FILES
from agent.delegation.handoff.model import (
    HandedCommand,
    HandedFile,
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


def test_files_that_the_task_names_are_handed_newest_first_and_once() -> None:
    path = ParentsPath()
    names = ("a.py", "b.py", "c.py", "d.py", "e.py", "f.py", "./b.py")
    for name in names:
        path.call("read_file", {"path": name}, "text")
    read = automatic(path.entries, "look at " + ", ".join(names)).read_files
    assert [file.path for file in read] == ["b.py", "f.py", "e.py", "d.py", "c.py"]
    assert len(read) == AUTO_FILES
    assert all(file.content is None for file in read)


@pytest.mark.parametrize(
    ("task", "named"),
    [
        ("mend src/a.py", True),
        ("Mend A.PY.", True),
        ("mend `a.py`, then stop", True),
        ("mend a", False),
        ("mend data.py", False),
        ("mend a.pyc", False),
        ("mend a.py-old", False),
    ],
)
def test_a_file_is_named_by_its_whole_name(task: str, named: bool) -> None:
    path = ParentsPath().call("read_file", {"path": "src/a.py"}, "text")
    expected = (HandedFile("src/a.py"),) if named else ()
    assert automatic(path.entries, task) == Handoff(read_files=expected)


def test_of_other_files_there_are_the_lines_that_share_a_word_with_the_task() -> None:
    text = "import os\ndef parse_report():\n    pass\n\nparse_report()\n"
    path = ParentsPath().call("read_file", {"path": "tools.py"}, text)
    found = automatic(path.entries, "Why does parse_report fail?")
    lines = "2: def parse_report():\n5: parse_report()"
    assert found == Handoff(probe_results=(Probe("read_file tools.py", lines),))


def test_lines_of_a_page_keep_their_numbers_and_a_named_file_comes_as_far_as_it_was_read() -> None:
    page = "[lines 40–41 of 90; go on with offset=42]\nalpha\nbeta"
    path = ParentsPath().call("read_file", {"path": "a.txt", "offset": 40, "limit": 2}, page)
    one = automatic(path.entries, "where is beta?").probe_results
    assert one == (Probe("read_file a.txt", "41: beta"),)
    named = automatic(path.entries, "what is in a.txt?")
    assert named == Handoff(probe_results=(Probe("read_file a.txt", "40: alpha\n41: beta"),))


def test_a_word_of_every_line_connects_nothing() -> None:
    text = "\n".join(f"order {number} shipped" for number in range(100))
    path = ParentsPath().call("read_file", {"path": "a.txt"}, f"{text}\norder refunded")
    assert automatic(path.entries, "Which order was shipped?") == Handoff()
    (probe,) = automatic(path.entries, "Which order was refunded?").probe_results
    assert probe.result == "101: order refunded"


def test_tasks_that_have_nothing_to_do_with_what_was_read_get_none_of_it() -> None:
    path = ParentsPath()
    for number in range(6):
        lines = (f"line {n} of report {number}: the total of items is {n}" for n in range(2_000))
        path.call("read_file", {"path": f"reports/{number}.txt"}, "\n".join(lines))
    for task in ("What is 6 times 7?", "Write a haiku", "Translate: good morning"):
        assert automatic(path.entries, task) == Handoff()


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_what_was_written_since_is_not_shown_as_it_was(tool: str) -> None:
    path = ParentsPath().call("read_file", {"path": "a.txt"}, "the colour is red")
    path.call(tool, {"path": "./a.txt", "content": "x"}, "Wrote a.txt")
    assert automatic(path.entries, "Which colour?") == Handoff()
    assert automatic(path.entries, "a.txt").read_files == (HandedFile("a.txt"),)
    path.call("read_file", {"path": "a.txt"}, "the colour is blue")
    (probe,) = automatic(path.entries, "Which colour?").probe_results
    assert probe.result == "1: the colour is blue"


def test_only_this_turn_and_the_last_count() -> None:
    path = ParentsPath()
    for number in range(3):
        path.add(message("user", f"question {number}"))
        path.add(message("user", "and one more thing"))  # one turn answers both
        path.call("read_file", {"path": f"{number}.txt"}, "the colour")
        path.add(message("user", "Error: again", correction=True))
    found = automatic(path.entries, "Which colour?").probe_results
    assert [probe.probe for probe in found] == ["read_file 2.txt", "read_file 1.txt"]


def test_calls_that_failed_or_have_no_result_are_left_out() -> None:
    path = ParentsPath().call("read_file", {"path": "a"}, "Error: a: there is no such file")
    path.call("read_file", {"path": "b"}, None).call("read_file", "{broken", "Error: not JSON")
    path.call("read_file", "[]", "text").call("read_file", {}, "text")
    path.call("run_command", {}, "exit code: 0")
    assert automatic(path.entries, "a b text") == Handoff()


def test_the_last_commands_are_handed_in_the_order_they_were_run() -> None:
    path = ParentsPath()
    for number in range(MAX_COMMANDS + 2):
        path.call("run_command", {"command": f"c{number}"}, f"exit code: {number}\nbuild {number}")
    path.call("run_command", {"command": "c3"}, "exit code: 9\nbuild again")
    path.call("run_command", {"command": "c4"}, "exit code: 0\nnothing to do with it")
    ran = automatic(path.entries, "Fix the build").ran_commands
    assert [command.cmd for command in ran] == ["c2", "c4", "c5", "c6", "c3"]
    assert ran[-1] == HandedCommand("c3", 9, "build again")


def test_an_output_without_exit_code_is_kept_and_a_long_ones_end() -> None:
    path = ParentsPath().call("run_command", {"command": "a"}, "plain output")
    path.call("run_command", {"command": "b"}, "exit code: 1\nplain " + "x" * 90_000 + "end")
    plain, long = automatic(path.entries, "plain").ran_commands
    assert plain == HandedCommand("a", None, "plain output")
    assert long.rc == 1
    assert long.tail.startswith("[cut, 90009 characters in all]")
    assert long.tail.endswith("end")


def test_handed_commands_that_became_history_are_handed_on() -> None:
    commands = (HandedCommand("pytest", 1, "E   boom"), HandedCommand("ls", None, "alpha\nb"))
    path = ParentsPath()
    calls, *results = history(Hydrated(commands=commands))
    caller = path.add(calls)
    for result in results:
        path.add(result | {"call_entry": caller.id})
    handed = automatic(path.entries, "pytest says boom; see alpha").ran_commands
    assert handed[0] == commands[0]
    assert handed[1].rc is None


def test_searches_are_handed_where_they_share_a_word_with_the_goal() -> None:
    hits = "src/X.py:3: import parse_report\nsrc/Y.py:9: unrelated\n[cut after 100; narrow import]"
    path = ParentsPath().call("search_files", {"pattern": "import", "path": "src"}, hits)
    path.call("search_files", {"pattern": "zzz"}, "[no match; 12 files were searched]")
    path.call("search_files", {"pattern": "that"}, "a:1: that which would")
    probes = automatic(path.entries, "Fix the Import that is searched, match it").probe_results
    assert probes == (Probe("search_files import in src", "src/X.py:3: import parse_report"),)
    assert automatic(path.entries, "Fix the colours").probe_results == ()


def test_long_searches_are_cut_and_say_so() -> None:
    words = [f"word{n}" for n in range(50)]
    hits = "\n".join(f"a.py:{n}: {word} {'x' * 500}" for n, word in enumerate(words))
    path = ParentsPath().call("search_files", {"pattern": "import"}, hits)
    [probe] = automatic(path.entries, " ".join(words)).probe_results
    lines = probe.result.splitlines()
    assert len(lines) == MAX_LINES + 1
    assert "characters in all]" in lines[0]
    assert lines[-1] == "[cut, 50 lines in all]"


def test_an_automatic_handoff_reads_the_files_as_they_are_now() -> None:
    path = ParentsPath().call("read_file", {"path": "a.py"}, "old")
    hydrated = hydrate(automatic(path.entries, "mend a.py"), has(a_py="new"))
    assert hydrated == Hydrated(files=(HydratedFile("a.py", "new", STATE),))
