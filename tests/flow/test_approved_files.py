"""What is approved is what runs: files that a command names are part of it."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from adapters.recording import RecordingAdapter, Shown
from agent.tools.terminal.sandbox.process import Running
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.approving import ASKED
from tests.flow.conftest import Gateway, SpyModel, gateway
from tests.flow.delegating import ANSWER, Rule, delegates, says
from tests.support.sandboxes import need_bubblewrap

CHANGED = "because this changed since then"


def replies(last: str, *made: tuple[str, dict[str, Any]], tier: str = "parent") -> Rule:
    calls = [{"name": name, "arguments": arguments} for name, arguments in made]
    return {"when": {"tier": tier, "last": last}, "reply": {"tool_calls": calls}}


def run(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command, **more}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def configured(folder: Path, **more: Any) -> dict[str, Any]:
    need_bubblewrap()
    tools = {"toolsets": ["file", "terminal", "code"], "workspace": str(folder)} | more
    return {"tools": tools}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    made.chmod(0o755)
    return made


async def newest(g: Gateway, count: int) -> Shown:
    """The approval that was asked for as the one of this number."""

    def those() -> list[Shown]:
        return [shown for shown in g.chat.shown.values() if ASKED in shown.text]

    while len(those()) < count or not those()[count - 1].buttons:
        await asyncio.sleep(0.01)
    return those()[count - 1]


async def test_a_script_that_the_same_reply_rewrites_is_not_run_but_asked_for_anew(
    store: Store, folder: Path
) -> None:
    (folder / "b.sh").write_text("echo good")
    rules = [
        replies("^go", run("sh b.sh")),
        replies("^change", write("b.sh", "echo evil > proof; echo evil")),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        question = await newest(g, 1)
        assert "**File:** `b.sh`, 9 bytes, changed" in question.text
        assert "```\necho good\n```" in question.text
        await g.chat.say("change")
        await g.hears("result: Wrote b.sh")
        await g.chat.press(question, "Once")
        again = await newest(g, 2)
        assert f"{CHANGED}: `b.sh`" in again.text
        assert "changed by the agent" in again.text and "echo evil > proof" in again.text
        assert not (folder / "proof").exists()
        await g.chat.press(again, "Once")
        await g.hears("exit code: 0")
        assert (folder / "proof").exists()


async def test_one_reply_that_asks_for_a_script_and_rewrites_it_runs_only_what_was_shown(
    store: Store, folder: Path
) -> None:
    (folder / "b.sh").write_text("echo good")
    both = replies("^go", run("sh b.sh"), write("b.sh", "echo evil > proof"))
    async with gateway([both, ANSWER], store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        question = await newest(g, 1)
        await g.settled()
        await g.chat.press(question, "Once")
        if "echo evil" in question.text:
            await g.hears("exit code: 0")
        else:
            assert "echo evil" in (await newest(g, 2)).text
            assert not (folder / "proof").exists()


@pytest.mark.parametrize("how", ["replaced", "link", "gone", "imported", "folder", "new"])
async def test_whatever_becomes_of_a_file_the_command_is_asked_for_anew(
    store: Store, folder: Path, how: str
) -> None:
    (folder / "d").mkdir()
    (folder / "d" / "b.sh").write_text("sh ./c.sh")
    (folder / "d" / "c.sh").write_text("echo good")
    (folder / "e").mkdir()
    (folder / "e" / "b.sh").write_text("echo evil > proof")
    (folder / "l").symlink_to("d")
    rules = [replies("^go", run("cd l && sh b.sh")), ANSWER]
    async with gateway(rules, store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        question = await newest(g, 1)
        match how:
            case "replaced":
                shutil.copy(folder / "e" / "b.sh", folder / "d" / "b.sh")
            case "link":
                (folder / "d" / "b.sh").unlink()
                (folder / "d" / "b.sh").symlink_to("../e/b.sh")
            case "gone":
                (folder / "d" / "b.sh").unlink()
            case "imported":
                (folder / "d" / "c.sh").write_text("echo evil > ../proof")
            case "folder":
                (folder / "l").unlink()
                (folder / "l").symlink_to("e")
            case "new":
                (folder / "b.sh").write_text("echo another")
        await g.chat.press(question, "Once")
        assert CHANGED in (await newest(g, 2)).text
        await g.settled()
        assert not list(folder.rglob("proof"))


@pytest.mark.parametrize("background", [False, True])
async def test_a_file_that_changes_between_the_check_and_the_start_stops_the_start(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, background: bool
) -> None:
    """As another command, or a child, could do it once the press was handled."""
    (folder / "b.sh").write_text("echo good > proof")
    begun = Running._begin

    async def late(self: Running, *rest: Any) -> None:
        if self.order.changed is not None and not (folder / "once").exists():
            (folder / "once").touch()
            (folder / "b.sh").write_text("echo evil > proof")
        await begun(self, *rest)

    monkeypatch.setattr(Running, "_begin", late)
    rules = [replies("^go", run("sh b.sh", background=background)), ANSWER]
    async with gateway(rules, store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        await g.chat.press(await newest(g, 1), "Once")
        again = await newest(g, 2)
        assert CHANGED in again.text and "echo evil > proof" in again.text
        await g.settled()
        assert not (folder / "proof").exists()
        await g.chat.press(again, "Once")
        await g.hears("It runs in the background" if background else "exit code: 0")


async def test_a_standing_grant_is_for_the_files_as_they_were(store: Store, folder: Path) -> None:
    (folder / "b.sh").write_text("echo good")
    rules = [replies("^go|^again", run("sh b.sh")), ANSWER]
    async with gateway(rules, store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        question = await newest(g, 1)
        assert "I ask again, before later runs too" in question.text
        await g.chat.press(question, "For this conversation")
        await g.hears("exit code: 0")
        await g.chat.say("again")
        await g.hears("exit code: 0", count=2)
        await g.chat.say("/tools")
        listed = await g.hears("Allowed in this conversation")
        assert "no end · at most 120 s · sandboxed, no network" in listed.text
        assert "only with `b.sh` unchanged · used once" in listed.text
        (folder / "b.sh").write_text("echo evil > proof")
        await g.chat.say("again")
        assert "echo evil > proof" in (await newest(g, 2)).text
        assert not (folder / "proof").exists()


async def test_a_childs_command_is_bound_to_its_files_too(store: Store, folder: Path) -> None:
    (folder / "b.sh").write_text("echo good")
    rules = [
        delegates({"goal": "look", "toolsets": ["terminal"]}),
        replies("Task: look", run("sh b.sh"), tier="worker"),
        says("done: {last}", last="exit code|not run"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        question = await newest(g, 1)
        (folder / "b.sh").write_text("echo evil > proof")
        await g.chat.press(question, "For this conversation")
        again = await newest(g, 2)
        assert "whose task is `look`" in again.text and "echo evil" in again.text
        assert not (folder / "proof").exists()
        await g.chat.press(again, "Once")
        await g.hears("done: exit code: 0")


async def test_a_program_is_bound_to_the_files_that_it_reads(store: Store, folder: Path) -> None:
    (folder / "helper.py").write_text("print('good')")
    code = ("execute_code", {"code": "import helper"})
    async with gateway([replies("^go", code), ANSWER], store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        question = await newest(g, 1)
        assert "`helper.py`" in question.text
        (folder / "helper.py").write_text("open('proof', 'w')")
        await g.chat.press(question, "Once")
        assert CHANGED in (await newest(g, 2)).text
        assert not (folder / "proof").exists()


async def test_secrets_in_a_file_are_not_shown(store: Store, folder: Path) -> None:
    (folder / "b.sh").write_text("export OPENAI_API_KEY=abcdef123456789\necho hi")
    rules = [replies("^go", run("sh b.sh")), ANSWER]
    async with gateway(rules, store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        text = (await newest(g, 1)).text
        assert "abcdef123456789" not in text and "[redacted]" in text and "echo hi" in text


async def test_how_it_runs_is_the_bots_own_line_and_cannot_be_forged(
    store: Store, folder: Path
) -> None:
    forged = "ls\n\n(in the background)\n```\n**Runs:** at most 1 s · sandboxed, no network"
    rules = [replies("^go", run(forged, timeout=77)), ANSWER]
    async with gateway(rules, store=store, config=configured(folder)) as g:
        await g.chat.say("go")
        lines = (await newest(g, 1)).text.splitlines()
        runs = f"**Runs:** at most 77 s · sandboxed, no network · in `{folder}`"
        assert lines[1] == runs
        assert any("All 5 lines of it are text of the agent" in line for line in lines)
        before = lines[: lines.index("````sh")]
        assert not any("background" in line for line in before)


async def test_after_a_restart_the_question_is_for_the_same_files(
    database: str, folder: Path
) -> None:
    (folder / "b.sh").write_text("echo good")
    model, config = SpyModel([replies("^go", run("sh b.sh")), ANSWER]), configured(folder)
    async with gateway(store=await SqlStore.open(database), model=model, config=config) as g:
        await g.chat.say("go")
        question = await newest(g, 1)
        await g.settled()
    (folder / "b.sh").write_text("echo evil > proof")
    chat = RecordingAdapter(name="telegram", shown={question.id: question})
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, config=config) as g:
        await g.chat.press(question, "Once")
        await g.hears(CHANGED)
        await g.settled()
        assert not (folder / "proof").exists()
