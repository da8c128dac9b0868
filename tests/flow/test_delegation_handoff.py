"""What a parent hands over, and what its child makes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import (
    ANSWER,
    Rule,
    ask,
    ask_one,
    calls,
    delegates,
    first_message,
    offered,
    says,
    tool_results,
)

CODE = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "add.py").write_text(CODE)
    return folder


def with_files(workspace: Path, **models: Any) -> dict[str, Any]:
    tools = {"toolsets": ["file"], "workspace": str(workspace)}
    return {"tools": tools} | ({"models": models} if models else {})


def handing(handoff: Any, **more: Any) -> Rule:
    return delegates({"goal": "mend add", "handoff": handoff} | more)


async def test_a_handed_file_stands_in_the_first_request_with_its_content(
    store: Store, workspace: Path
) -> None:
    rules = [handing({"read_files": ["add.py"]}), says("done"), ANSWER]
    async with gateway(rules, store=store, config=with_files(workspace)) as g:
        result = await ask_one(g)
        text = first_message(g.model.of("worker")[0])
        assert CODE in text
        assert "add.py" in text
        assert "warnings" not in result


async def test_reading_a_handed_file_again_is_a_hit_unless_it_changed(
    store: Store, workspace: Path
) -> None:
    rules = [
        handing({"read_files": ["add.py"]}),
        calls("read_file", {"path": "./add.py"}, turn=0),
        calls("write_file", {"path": "add.py", "content": "new = 1\n"}, turn=1),
        calls("read_file", {"path": "add.py"}, turn=2),
        says("done"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=with_files(workspace)) as g:
        result = await ask_one(g)
        hit, _, changed = tool_results(g.model.of("worker")[-1])
        assert hit == CODE
        assert "changed since the handoff" in changed
        assert "new = 1" in changed
        assert result["files"] == {"add.py": "wrote"}


async def test_handed_commands_stand_in_the_history_as_calls_made(store: Store) -> None:
    handoff = {
        "ran_commands": [{"cmd": "pytest -q", "rc": 1, "tail": "1 failed"}],
        "probe_results": {"python": "3.11"},
        "dead_ends": ["reinstalling does not help"],
    }
    async with gateway([handing(handoff), says("done"), ANSWER], store=store) as g:
        await ask_one(g)
        request = g.model.of("worker")[0]
        assistant = next(m for m in request.messages if m["role"] == "assistant")
        (call,) = assistant["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"command": "pytest -q"}
        result = next(m for m in request.messages if m["role"] == "tool")
        assert result["tool_call_id"] == call["id"]
        assert "exit code: 1\n1 failed" in result["content"]
        text = first_message(request)
        assert "3.11" in text
        assert "Do not retry" in text
        assert "reinstalling does not help" in text


async def test_missing_and_changed_files_are_stated_and_the_task_runs(
    store: Store, workspace: Path
) -> None:
    files = ["gone.py", "../etc/passwd", {"path": "add.py", "content": "as I saw it"}]
    rules = [handing({"read_files": files}), says("done"), ANSWER]
    async with gateway(rules, store=store, config=with_files(workspace)) as g:
        result = await ask_one(g)
        assert result["status"] == "completed"
        warnings = "\n".join(result["warnings"])
        assert "gone.py" in warnings
        assert "passwd" in warnings
        text = first_message(g.model.of("worker")[0])
        assert "as I saw it" in text
        assert "another content now" in text
        assert "root:" not in text


async def test_what_does_not_fit_the_childs_context_is_cut_and_said(
    store: Store, workspace: Path
) -> None:
    (workspace / "large.txt").write_text("a line of text\n" * 5_000)
    small = {"parent": {"model": "big"}, "worker": {"model": "small", "context_window": 8_000}}
    rules = [handing({"read_files": ["large.txt"]}), says("done"), ANSWER]
    async with gateway(rules, store=store, config=with_files(workspace, **small)) as g:
        result = await ask_one(g)
        text = first_message(g.model.of("worker")[0])
        assert len(text) < 8_000 * 4 * 0.25 + 500
        assert "only lines 1-" in text
        assert any("large.txt" in warning for warning in result["warnings"])


async def test_ten_megabytes_are_pruned_and_the_turn_goes_on(store: Store) -> None:
    files = [{"path": f"f{n}.txt", "content": "x" * 1_000_000} for n in range(10)]
    async with gateway([handing({"read_files": files}), says("done"), ANSWER], store=store) as g:
        result = await ask_one(g)
        assert result["status"] == "completed"
        assert result["warnings"]
        assert len(first_message(g.model.of("worker")[0])) < 200_000


@pytest.mark.parametrize(
    ("handoff", "said"),
    [
        (5, "handoff"),
        ({"read_files": [7]}, "read_files"),
        ({"ran_commands": [{"rc": 0}]}, "cmd"),
        ({"colour": "red"}, "colour"),
        ({"probe_results": [1]}, "probe_results"),
    ],
)
async def test_a_handoff_of_the_wrong_shape_is_a_tool_error(
    store: Store, handoff: Any, said: str
) -> None:
    async with gateway([handing(handoff), ANSWER], store=store) as g:
        await g.chat.say("go")
        assert said in (await g.hears("result: Error: ")).text
        assert g.model.of("worker") == []


@pytest.mark.parametrize(
    ("task", "more", "handed"),
    [
        ({"goal": "mend add.py"}, {}, True),
        ({"goal": "mend it", "context": "It is in add.py."}, {}, True),
        ({"goal": "mend add.py", "toolsets": []}, {}, False),
        ({"goal": "write a haiku"}, {}, False),
        ({"goal": "mend add.py"}, {"handoff_auto_tokens": 0}, False),
    ],
)
async def test_without_a_handoff_what_the_parent_read_of_it_is_handed_over(
    store: Store, workspace: Path, task: Rule, more: dict[str, int], handed: bool
) -> None:
    rules = [
        calls("read_file", {"path": "add.py"}, tier="parent", turn=0),
        delegates(task, last="def add"),
        says("done"),
        ANSWER,
    ]
    config = with_files(workspace) | {"delegation": more}
    async with gateway(rules, store=store, config=config) as g:
        await ask_one(g)
        assert (CODE in first_message(g.model.of("worker")[0])) is handed


async def test_little_tasks_after_large_reads_get_none_of_them(
    store: Store, workspace: Path
) -> None:
    for number in range(6):
        lines = (f"entry {n} of ledger {number}, booked by clerk {n % 7}\n" for n in range(900))
        (workspace / f"ledger{number}.txt").write_text("".join(lines))
    reads = [
        {"name": "read_file", "arguments": {"path": f"ledger{number}.txt"}} for number in range(6)
    ]
    goals = ["What is 6 times 7?", "Write a haiku about autumn", "Translate: good morning"]
    rules: list[Rule] = [
        {"when": {"tier": "parent", "last": "^go"}, "reply": {"tool_calls": reads}},
        delegates({"tasks": [{"goal": goal} for goal in goals]}, last="^entry"),
        says("42"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=with_files(workspace)) as g:
        results = await ask(g)
        told = {first_message(request) for request in g.model.of("worker")}
        assert told == {f"Task: {goal}" for goal in goals}
        assert not any("warnings" in result for result in results)


async def test_what_is_handed_unasked_is_bounded_and_nobody_is_warned(
    store: Store, workspace: Path
) -> None:
    (workspace / "long.txt").write_text("".join(f"row {n} of many\n" for n in range(1_900)))
    rules = [
        calls("read_file", {"path": "long.txt"}, tier="parent", turn=0),
        delegates({"goal": "sum up long.txt"}, last="row 1 of"),
        says("done"),
        ANSWER,
    ]
    config = with_files(workspace) | {"delegation": {"handoff_auto_tokens": 1_000}}
    async with gateway(rules, store=store, config=config) as g:
        result = await ask_one(g)
        told = first_message(g.model.of("worker")[0])
        assert "row 1 of many" in told
        assert len(told) < 4_000
        assert "warnings" not in result


async def test_an_empty_handoff_hands_nothing_over(store: Store, workspace: Path) -> None:
    rules = [
        calls("read_file", {"path": "add.py"}, tier="parent", turn=0),
        delegates({"goal": "mend add", "handoff": {}}, last="def add"),
        says("done"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=with_files(workspace)) as g:
        await ask_one(g)
        assert first_message(g.model.of("worker")[0]) == "Task: mend add"


async def test_parent_and_child_work_in_the_same_folder_and_not_outside(
    store: Store, workspace: Path
) -> None:
    outside = workspace.parent / "secret.txt"
    outside.write_text("SECRET")
    (workspace / "link.txt").symlink_to(outside)
    rules = [
        calls("write_file", {"path": "note.txt", "content": "from above"}, tier="parent", turn=0),
        delegates({"goal": "look"}, last="Wrote"),
        calls("read_file", {"path": "note.txt"}, turn=0),
        calls("read_file", {"path": "../secret.txt"}, turn=1),
        calls("read_file", {"path": "link.txt"}, turn=2),
        calls("search_files", {"pattern": "SECRET"}, turn=3),
        says("done"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=with_files(workspace)) as g:
        result = await ask_one(g)
        assert offered(g.model.of("parent")[0]) == offered(g.model.of("worker")[0]) | {
            "clarify",
            "delegate_task",
        }
        note, *others = tool_results(g.model.of("worker")[-1])
        assert note == "from above"
        assert not any("SECRET\n" in text or text == "SECRET" for text in others)
        assert others[0].startswith("Error: ")
        assert others[1].startswith("Error: ")
        assert "files" not in result


async def test_each_session_has_a_folder_of_its_own_by_default(
    store: Store, tmp_path: Path
) -> None:
    config = {"tools": {"toolsets": ["file"], "workspace": f"{tmp_path}/spaces/{{session}}"}}
    rules = [
        delegates({"goal": "write"}),
        calls("write_file", {"path": "mine.txt", "content": "x"}, turn=0),
        says("done"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=config) as g:
        await ask_one(g)
        session = await store.read(lambda tx: tx.directory.conversation("telegram:1"))
        assert (tmp_path / "spaces" / str(session) / "mine.txt").read_text() == "x"


async def test_without_the_file_toolset_nobody_has_file_tools(store: Store) -> None:
    async with gateway([delegates({"goal": "look"}), says("done"), ANSWER], store=store) as g:
        await ask_one(g)
        assert offered(g.model.of("parent")[0]) == {"think", "clarify", "delegate_task"}
        assert offered(g.model.of("worker")[0]) == {"think"}


async def test_what_was_read_turns_ago_is_not_handed_over(store: Store, workspace: Path) -> None:
    rules = [
        calls("read_file", {"path": "add.py"}, tier="parent", last="^read"),
        delegates({"goal": "mend add.py"}),
        says("done"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=with_files(workspace)) as g:
        await g.chat.say("read it")
        await g.hears("result: ")
        for number, handed in enumerate((True, False), start=1):
            await g.chat.say("go")
            await g.hears("result: ", count=1 + number)
            assert (CODE in first_message(g.model.of("worker")[-1])) is handed
