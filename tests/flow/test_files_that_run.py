"""Files that make programs run are written once a person agrees, where commands run unasked."""

from pathlib import Path
from typing import Any

import pytest

from storage.store import Store
from tests.flow.approving import ASKED, question_of, rule
from tests.flow.conftest import gateway
from tests.flow.delegating import ANSWER, asked, calls, delegates
from tests.support.sandboxes import need_bubblewrap

ALLOW = rule("allow", "^ls$", tool="run_command")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def config(workspace: Path, *rules: dict[str, Any], **tools: Any) -> dict[str, Any]:
    section = {"toolsets": ["file"], "workspace": str(workspace), "rules": list(rules)}
    return {"tools": section | tools}


def writes(path: str, last: str = "^go", **more: Any) -> dict[str, Any]:
    return calls("write_file", {"path": path, "content": "x"}, tier="parent", last=last, **more)


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "./sub/.GIT/hooks/pre-commit",
        "Makefile",
        "makefile",
        "a/package.json",
        "ConfTest.py",
        ".envrc",
        ".vscode/tasks.json",
        "x.pth",
        "bare.git/config",
        "{root}/.github/workflows/a.yml",
    ],
)
@pytest.mark.parametrize("tool", ["run_command", "execute_code", "*"])
async def test_it_is_asked_for_where_a_rule_allows_a_command(
    store: Store, workspace: Path, path: str, tool: str
) -> None:
    allow = rule("allow", "^ls$", tool=tool)
    rules = [writes(path.format(root=workspace)), ANSWER]
    async with gateway(rules, store=store, config=config(workspace, allow)) as g:
        question = await question_of(g)
        assert "which runs what it says. Rule 1 of `[[tools.rules]]` lets" in question.text
        assert not any(workspace.iterdir())
        await g.chat.press(question, "Once")
        await g.hears("Wrote ")
    assert [one for one in workspace.rglob("*") if one.is_file()]


async def test_an_edit_is_asked_for_too(store: Store, workspace: Path) -> None:
    (workspace / "Makefile").write_text("all:\n\ttrue\n")
    arguments = {"path": "Makefile", "old": "true", "new": "id"}
    rules = [calls("edit_file", arguments, tier="parent", last="^go"), ANSWER]
    async with gateway(rules, store=store, config=config(workspace, ALLOW)) as g:
        await g.chat.press(await question_of(g), "Deny")
        await g.hears("Denied by")
    assert "true" in (workspace / "Makefile").read_text()


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("src/app.py", [ALLOW]),
        ("Makefile.txt", [ALLOW]),
        ("Makefile", []),
        ("Makefile", [rule("ask", tool="run_command")]),
        ("Makefile", [rule("deny", tool="run_command"), ALLOW]),
        ("Makefile", [rule("allow", '"path": "Makefile"', tool="write_file"), ALLOW]),
    ],
)
async def test_it_is_not_asked_for(
    store: Store, workspace: Path, path: str, given: list[dict[str, Any]]
) -> None:
    rules = [writes(path), ANSWER]
    async with gateway(rules, store=store, config=config(workspace, *given)) as g:
        await g.chat.say("go")
        await g.hears("Wrote ")
    assert (workspace / path).read_text() == "x"


async def test_a_rule_without_a_condition_does_not_spare_the_question(
    store: Store, workspace: Path
) -> None:
    given = config(workspace, rule("allow", tool="write_file"), ALLOW)
    async with gateway([writes(".envrc"), ANSWER], store=store, config=given) as g:
        assert "Rule 2" in (await question_of(g)).text


async def test_a_rule_that_denies_still_denies(store: Store, workspace: Path) -> None:
    given = config(workspace, rule("deny", tool="write_file"), ALLOW)
    async with gateway([writes(".envrc"), ANSWER], store=store, config=given) as g:
        await g.chat.say("go")
        await g.hears("not allowed here: rule 1")


async def test_it_is_asked_for_once_a_command_was_allowed_for_the_conversation(
    store: Store, workspace: Path
) -> None:
    need_bubblewrap()
    runs = calls("run_command", {"command": "ls"}, tier="parent", last="^run")
    rules = [writes("Makefile"), writes("tox.ini", last="^more"), runs, ANSWER]
    given = config(workspace, toolsets=["file", "terminal"])
    async with gateway(rules, store=store, config=given) as g:
        await g.chat.say("go")
        await g.hears("Wrote Makefile")
        await g.chat.press(await question_of(g, "run"), "For this conversation")
        await g.hears("exit code: 0")
        await g.chat.say("more")
        question = await asked(g, "A command was allowed for this conversation")
        assert ASKED in question.text
    assert not (workspace / "tox.ini").exists()


async def test_children_are_asked_for_as_well(store: Store, workspace: Path) -> None:
    rules = [
        delegates({"goal": "Build", "toolsets": ["file"]}, last="^go"),
        calls("write_file", {"path": ".git/config", "content": "x"}, last="^Task"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=config(workspace, ALLOW)) as g:
        question = await question_of(g)
        assert "read by git" in question.text and "a child of the agent" in question.text
    assert not (workspace / ".git").exists()


async def test_no_rule_allows_a_line_whose_programs_an_exported_path_made_others(
    store: Store, workspace: Path
) -> None:
    need_bubblewrap()
    (workspace / "tools").mkdir()
    program = workspace / "tools" / "ls"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    exports = calls(
        "run_command", {"command": "export PATH=$PWD/tools:$PATH"}, tier="parent", last="^export"
    )
    runs = calls("run_command", {"command": "ls"}, tier="parent", last="^run")
    given = config(workspace, ALLOW, toolsets=["file", "terminal"])
    async with gateway([exports, runs, ANSWER], store=store, config=given) as g:
        await g.chat.press(await question_of(g, "export"), "Once")
        await g.hears("exit code: 0")
        await g.chat.say("run")
        question = await asked(g, "An earlier command exported PATH")
        assert "PATH=" in question.text
    assert not (workspace / "ran").exists()


async def test_a_rule_without_a_condition_allows_it_still(store: Store, workspace: Path) -> None:
    need_bubblewrap()
    exports = calls(
        "run_command", {"command": "export PATH=/x:$PATH"}, tier="parent", last="^export"
    )
    runs = calls("run_command", {"command": "touch ran"}, tier="parent", last="^run")
    given = config(workspace, rule("allow", tool="run_command"), toolsets=["terminal"])
    async with gateway([exports, runs, ANSWER], store=store, config=given) as g:
        await g.chat.say("export")
        await g.hears("exit code: 0")
        await g.chat.say("run")
        await g.hears("exit code: 0", count=2)
    assert (workspace / "ran").exists()
