"""Commands as models run them: what they get back, what stays, and what is told later."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.models.base import ToolCall
from agent.settings import ToolsConfig
from agent.tools.base import Call, Describes, Done, Setting, run_call, toolbox
from agent.tools.terminal.terminal import Terminal
from agent.tools.terminal.tools import terminal_tools
from storage.records.delegations import DelegationDraft
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind
from storage.records.inbox_outbox import Event, InboxRow
from storage.records.speakers import happened, spoken
from storage.records.tools.commands import Command, CommandState, Shell
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.sandboxes import SMALL, alive, need_bubblewrap
from tests.support.stores import append, fresh_store, new_session, said

HELD = "until [ -e go ]; do sleep 0.05; done"
"""A command that runs until there is a file `go` in its workspace."""


class Bench:
    """The tools of one agent, called as a model calls them."""

    def __init__(self, terminal: Terminal, session: int, setting: Setting, entry: int) -> None:
        self.terminal = terminal
        self.session = session
        self.setting = setting
        self.entry = entry
        self.tools = toolbox(*terminal_tools(terminal, setting))

    async def call(self, name: str, *, same_reply: bool = False, **arguments: Any) -> str:
        self.entry += not same_reply
        done = await run_call(
            self.tools,
            ToolCall("c1", name, json.dumps(arguments)),
            session=self.session,
            entry=self.entry,
            address="telegram:1",
            person="telegram:7",
        )
        assert isinstance(done, Done)
        return done.text

    async def run(self, command: str, **more: Any) -> str:
        return await self.call("run_command", command=command, **more)

    async def said(self, command: str) -> str:
        """What a command said, without how it ended."""
        return (await self.run(command)).split("\n", 1)[1]

    async def rows(self) -> list[Command]:
        return await self.terminal.store.read(lambda tx: tx.commands.of([self.setting.home]))

    async def told(self) -> list[InboxRow]:
        return await self.terminal.store.read(lambda tx: tx.inbox.unfinished())


async def bench(store: SqlStore, tmp_path: Path, **config: object) -> Bench:
    workspace = str(tmp_path / "w" / "{session}")
    tools = ToolsConfig.model_validate({"workspace": workspace} | config)
    session = await new_session(store)
    (entry,) = await append(store, session.id, said("run it"))
    terminal = Terminal(store, tools, limits=SMALL)
    setting = Setting(session.id, "telegram:1", child=False, window=None)
    return Bench(terminal, session.id, setting, entry.id)


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    async with fresh_store() as made:
        yield made


@pytest.fixture
async def agent(store: SqlStore, tmp_path: Path) -> AsyncIterator[Bench]:
    need_bubblewrap()
    made = await bench(store, tmp_path)
    yield made
    await made.terminal.close()


async def child_of(agent: Bench) -> tuple[Bench, int]:
    """A child of the agent, and its delegation."""
    store, home = agent.terminal.store, agent.session

    def work(tx: Transaction) -> tuple[int, int]:
        journal = tx.tree.create(
            SessionDraft(SessionKind.SUBAGENT, parent_session=home, parent_entry=agent.entry)
        )
        session = tx.tree.create(SessionDraft(SessionKind.SUBAGENT, parent_session=journal.id))
        draft = DelegationDraft(
            home, "c", agent.entry, 0, journal.id, home, "telegram:1", "goal", "model"
        )
        return session.id, tx.delegations.create(draft).id

    session, delegation = await store.run(work)
    setting = replace(agent.setting, child=True)
    return Bench(agent.terminal, session, setting, agent.entry), delegation


def let_go(agent: Bench, folder: Path) -> None:
    (folder / "w" / str(agent.session) / "go").touch()


async def until_heard(agent: Bench) -> None:
    """Until what runs has said something."""
    async with asyncio.timeout(30):
        while not any(seen.last_line for seen in agent.terminal.seen(agent.session)):
            await asyncio.sleep(0.01)


async def until_over(agent: Bench) -> None:
    async with asyncio.timeout(30):
        while agent.terminal.seen(agent.session):
            await asyncio.sleep(0.02)


async def test_a_model_reads_the_exit_code_and_the_output(agent: Bench) -> None:
    answer = await agent.run("echo out; echo err >&2; exit 3")
    first, *rest = answer.split("\n")
    assert first.startswith("exit code: 3, after ")
    assert rest == ["out", "err"]
    assert (await agent.run("true")).endswith("\n[no output]")
    (silent, loud) = await agent.rows()
    assert (loud.line, loud.status, loud.state) == (
        "echo out; echo err >&2; exit 3",
        3,
        CommandState.ENDED,
    )
    assert (silent.output, loud.output) == ("", "")


async def test_directory_and_exports_stay_for_the_next_reply(agent: Bench) -> None:
    await agent.run("mkdir -p src/app; cd src; export NAME='two words'; local=1; alias x=y")
    root = agent.terminal.workspace(agent.session).root
    assert await agent.said("pwd; echo $NAME; echo ${local-none}") == f"{root}/src\ntwo words\nnone"
    await agent.run("cd app; unset NAME")
    assert await agent.said("pwd; echo ${NAME-none}") == f"{root}/src/app\nnone"


async def test_they_stay_after_a_restart(agent: Bench) -> None:
    await agent.run("mkdir src; cd src; export NAME=kept")
    await agent.terminal.close()
    again = Terminal(agent.terminal.store, agent.terminal._config, limits=SMALL)
    await again.recover()
    next_one = Bench(again, agent.session, agent.setting, agent.entry)
    assert (await next_one.said("pwd; echo $NAME")).endswith("/src\nkept")


async def test_calls_of_one_reply_start_in_the_same_directory(agent: Bench, tmp_path: Path) -> None:
    await agent.run("mkdir a b")
    agent.entry += 1
    first = agent.call("run_command", same_reply=True, command="cd a; pwd")
    second = agent.call("run_command", same_reply=True, command=f"{HELD}; cd b; pwd")
    later = asyncio.create_task(second)
    assert (await first).rsplit("/", 1)[1] == "a"
    let_go(agent, tmp_path)
    assert (await later).rsplit("/", 1)[1] == "b"
    assert (await agent.said("pwd")).endswith("/b")


async def test_nobody_gets_out_of_the_workspace_for_the_next_command(agent: Bench) -> None:
    root = agent.terminal.workspace(agent.session).root
    answer = await agent.run("cd /usr")
    assert "the next command starts where this one did: cd led out of the workspace" in answer
    await agent.run("ln -s /usr link; cd link")
    assert await agent.said("pwd") == str(root)
    many = await agent.run("for i in $(seq 300); do export V$i=1; done")
    assert "what was exported is not kept: it is too much" in many
    assert await agent.said("echo ${V1-none}") == "none"


async def test_what_would_run_before_the_limits_is_not_kept(agent: Bench) -> None:
    await agent.run("echo 'echo EVIL' >e; export BASH_ENV=$PWD/e ENV=$PWD/e LD_PRELOAD=/x PS4=x")
    assert await agent.said("echo ${BASH_ENV-none}${LD_PRELOAD-none}; bash -c true") == "nonenone"


async def test_where_the_directory_is_gone_people_are_asked_about_the_workspace(
    agent: Bench,
) -> None:
    tool = agent.tools["run_command"]
    assert isinstance(tool, Describes)
    root = agent.terminal.workspace(agent.session).root
    await agent.run("mkdir -p other build; cd build; export TMOUT=1")
    agent.entry += 1
    call = Call("c", {"command": "ls"}, agent.session, agent.entry, "telegram:1", "telegram:7")
    assert (await tool.requested(call)).where == "build in the workspace"
    (root / "build").rmdir()
    (root / "build").symlink_to("other")
    assert (await tool.requested(call)).where == "the workspace"
    answer = await agent.run("pwd; echo ${TMOUT-none}")
    assert answer.endswith(f"; build is gone: it ran in the workspace\n{root}\nnone")


async def test_parent_and_children_have_terminals_of_their_own(agent: Bench) -> None:
    child, _ = await child_of(agent)
    other, _ = await child_of(agent)
    await agent.run("mkdir a b; cd a; export WHO=parent")
    await child.run("cd b; export WHO=child")
    asked = "basename $PWD; echo ${WHO-nobody}"
    assert await agent.said(asked) == "a\nparent"
    assert await child.said(asked) == "b\nchild"
    assert (await other.said(asked)).endswith("\nnobody")


async def test_long_output_is_kept_as_a_file_and_its_ends_are_shown(agent: Bench) -> None:
    small = Bench(agent.terminal, agent.session, replace(agent.setting, window=4_000), agent.entry)
    answer = await small.run("seq 5000")
    assert len(answer) < 2_300
    assert "\n1\n2\n" in answer and answer.endswith("\n4999\n5000")
    assert "bytes left out; all of it is in .outputs/command-" in answer
    (row,) = await small.rows()
    kept = agent.terminal.workspace(agent.session).read(row.output).data
    assert kept == b"".join(b"%d\n" % number for number in range(1, 5_001))


async def test_output_cannot_be_written_through_a_link(agent: Bench, tmp_path: Path) -> None:
    await agent.run(f"mkdir x; ln -s {tmp_path} .outputs; ln -s x y")
    answer = await agent.run("seq 100000")
    assert "its output could not be kept: .outputs/command-" in answer
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


async def test_colours_and_what_hides_text_are_not_shown(agent: Bench) -> None:
    answer = await agent.said(r"printf '\e[31mred\e[0m \e]0;title\a 10%%\r100%%\n\u202eevil\0\n'")
    assert answer == "100%\nevil"


async def test_a_command_that_takes_too_long_is_ended_and_its_output_stays(agent: Bench) -> None:
    answer = await agent.run("echo begun; sleep 60", timeout=3)
    first, rest = answer.split("\n", 1)
    assert first.startswith("exit code: not known, after ")
    assert "ended because its time of 3 s was over" in first
    assert rest.startswith("begun")


async def test_a_cancelled_command_is_gone_and_written_down(agent: Bench) -> None:
    task = asyncio.create_task(agent.run("echo go; sleep 60"))
    async with asyncio.timeout(30):
        while not any(seen.last_line for seen in agent.terminal.seen(agent.session)):
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    (row,) = await agent.rows()
    assert (row.state, row.why) == (CommandState.ENDED, "it was interrupted")
    assert agent.terminal.seen(agent.session) == []


async def test_what_runs_is_shown_with_its_last_line(agent: Bench, tmp_path: Path) -> None:
    line = "echo one; printf '\\e[1mtwo\\e[0m'; " + HELD
    task = asyncio.create_task(agent.run(line))
    async with asyncio.timeout(30):
        while not (seen := agent.terminal.seen(agent.session)) or seen[0].last_line != "two":
            await asyncio.sleep(0.01)
    assert not seen[0].background
    let_go(agent, tmp_path)
    await task


async def test_the_agent_is_told_once_when_a_command_in_the_background_ends(
    agent: Bench, tmp_path: Path
) -> None:
    answer = await agent.run(f"{HELD}; echo done; exit 2", background=True)
    (row,) = await agent.rows()
    assert answer == (f"It runs in the background as command {row.id}. You are told when it ends.")
    running = await agent.call("command_output", id=row.id)
    assert running == f"[command {row.id} runs since 0 s]\n[no output yet]"
    let_go(agent, tmp_path)
    ended = await agent.call("command_output", id=row.id, wait=20)
    assert ended.startswith("exit code: 2, after ") and ended.endswith("\ndone")
    (event,) = await agent.told()
    text = Event(**event.payload)
    assert (event.session, event.address) == (agent.session, "telegram:1")
    assert (text.person, text.private) == ("telegram:7", True)
    assert text.title == f"command {row.id} ended"
    assert "; echo done" in text.text and text.text.endswith("It said:\ndone")


async def test_in_a_group_it_is_told_as_in_a_group(agent: Bench) -> None:
    said_by = {"role": "user", **spoken("telegram:7", "Ada", "", "run it")}
    event = {"role": "user", **happened("a time came", "run it")}
    drafts = [Draft(Kind.MESSAGE, said_by), Draft(Kind.MESSAGE, event), said("so be it")]
    *_, last = await append(agent.terminal.store, agent.session, *drafts)
    agent.entry = last.id - 1
    await agent.run("true", background=True)
    await until_over(agent)
    (event_row,) = await agent.told()
    assert not Event(**event_row.payload).private


async def test_a_command_in_the_background_changes_no_terminal(agent: Bench) -> None:
    await agent.run("mkdir a; cd a; export X=1", background=True)
    await until_over(agent)
    assert await agent.said("basename $PWD; echo ${X-none}") == f"{agent.session}\nnone"


async def test_who_ends_a_command_is_not_told_that_it_ended(agent: Bench) -> None:
    await agent.run("echo up; sleep 60", background=True)
    (row,) = await agent.rows()
    await until_heard(agent)
    answer = await agent.call("stop_command", id=row.id)
    assert "ended because stop_command ended it" in answer and answer.endswith("up")
    assert await agent.call("stop_command", id=row.id) == answer
    assert await agent.told() == []
    await agent.run("sleep 60", background=True)
    assert agent.terminal.stop(agent.session) == 1
    await until_over(agent)
    assert await agent.told() == []


async def test_only_the_own_chats_commands_are_seen_and_of_children_their_own(
    agent: Bench, tmp_path: Path
) -> None:
    child, _ = await child_of(agent)
    other = await bench(agent.terminal.store, tmp_path)  # type: ignore[arg-type]
    await agent.run("sleep 60", background=True)
    await child.run("sleep 60", background=True)
    by_child, by_parent = await agent.rows()
    for who, row in ((other, by_parent), (child, by_parent), (other, by_child)):
        for name in ("command_output", "stop_command"):
            text = await who.call(name, id=row.id)
            assert text == (
                f"Error: there is no command {row.id} in the background here; nothing was done"
            )
    assert "runs since" in await agent.call("command_output", id=by_child.id)
    assert "runs since" in await child.call("command_output", id=by_child.id)


async def test_what_a_child_began_ends_with_the_child(agent: Bench) -> None:
    child, delegation = await child_of(agent)
    answer = await child.run("sleep 60", background=True)
    assert "told" not in answer
    await agent.terminal.store.run(lambda tx: tx.delegations.update(delegation, state="completed"))
    await until_over(agent)
    (row,) = await agent.rows()
    assert row.why == "the agent that began it has ended"
    assert await agent.told() == []


async def test_what_ran_when_the_gateway_ended_is_told_once(agent: Bench) -> None:
    child, _ = await child_of(agent)
    await agent.run("sleep 60", background=True)
    await child.run("sleep 60", background=True)
    await agent.terminal.close()
    again = Terminal(agent.terminal.store, agent.terminal._config, limits=SMALL)
    await again.recover()
    await again.recover()
    assert {row.state for row in await agent.rows()} == {CommandState.LOST}
    (event,) = await agent.told()
    assert "the gateway ended first; nobody knows what came of it" in Event(**event.payload).text
    lost = Bench(again, agent.session, agent.setting, agent.entry)
    assert "nobody knows" in await lost.call("command_output", id=(await agent.rows())[1].id)


async def test_only_so_many_run_at_once(agent: Bench) -> None:
    for _ in range(16):
        await agent.run("sleep 60", background=True)
    answer = await agent.run("true")
    assert answer.startswith("Error: too many commands run in this chat; nothing was done.")


async def test_one_chat_leaves_room_for_the_commands_of_others(
    agent: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.tools.terminal.terminal.MOST_IN_ALL", 4)
    session = await new_session(agent.terminal.store)
    (entry,) = await append(agent.terminal.store, session.id, said("run it"))
    setting = Setting(session.id, "telegram:2", child=False, window=None)
    other = Bench(agent.terminal, session.id, setting, entry.id)
    for _ in range(2):
        await agent.run("sleep 60", background=True)
    answer = await agent.run("true")
    assert answer.startswith("Error: too many commands run in all chats together; nothing was done")
    assert await other.said("echo there is room") == "there is room"


async def test_a_program_in_python_runs_in_the_same_directory(agent: Bench) -> None:
    await agent.run("mkdir a; cd a; export NAME=x")
    show = "print(os.path.basename(os.getcwd()), os.environ['NAME'], \"it's\")"
    code = f"import os, sys\n{show}\nsys.exit(4)"
    answer = await agent.call("execute_code", code=code)
    assert answer.startswith("exit code: 4, ") and answer.endswith("\na x it's")


async def test_people_are_asked_about_the_command_as_it_will_run(agent: Bench) -> None:
    await agent.run("mkdir src; cd src")
    run, code = agent.tools["run_command"], agent.tools["execute_code"]
    assert isinstance(run, Describes) and isinstance(code, Describes)
    assert run.traits.needs_approval and not run.traits.repeatable

    def call(**arguments: object) -> Call:
        return Call("c", arguments, agent.session, agent.entry + 1, "telegram:1", "")

    wanted = await run.requested(call(command="make\ntest", background=True))
    assert (wanted.line, wanted.syntax) == ("make\ntest", "shell")
    assert wanted.shown == "make\ntest"
    assert wanted.runs == "in the background, at most 86,400 s · sandboxed, no network"
    assert wanted.folder.endswith(f"/w/{agent.session}/src")
    assert wanted.where == "src in the workspace"
    await agent.run("export TARGET='/ a'")
    set_up = await run.requested(call(command="rm -r $TARGET"))
    assert set_up.where == 'src in the workspace, with TARGET="/ a"'
    program = await code.requested(call(code="print(1)"))
    assert (program.line, program.shown, program.syntax) == ("print(1)", "print(1)", "python")


async def test_broken_calls_are_refused_before_anybody_is_asked(agent: Bench) -> None:
    broken: tuple[dict[str, Any], ...] = (
        {"command": "  "},
        {"command": "x" * 200_000},
        {"command": "x", "cwd": "/"},
    )
    for arguments in broken:
        assert (await agent.call("run_command", **arguments)).startswith("Error: ")
    assert await agent.rows() == []


async def test_a_workspace_with_files_of_the_gateway_is_refused(
    store: SqlStore, tmp_path: Path
) -> None:
    config = ToolsConfig(workspace=str(tmp_path))
    (tmp_path / "bough.toml").write_text("")
    terminal = Terminal(store, config, ours=[tmp_path / "bough.toml"])
    session = await new_session(store)
    agent = Bench(terminal, session.id, Setting(session.id, "telegram:1", False, None), 1)
    assert "set [tools] workspace to a folder of its own; nothing was done" in await agent.run("ls")


async def test_without_bubblewrap_the_way_out_is_said(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await bench(store, tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    answer = await agent.run("ls")
    assert "apt-get install bubblewrap" in answer and '[tools] sandbox = "none"' in answer
    assert await agent.rows() == []


async def test_a_command_in_the_background_that_never_began_is_told_of(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_bubblewrap()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "setpriv"):
        (programs / name).symlink_to(str(shutil.which(name)))
    (programs / "bwrap").write_text("#!/bin/sh\necho no namespaces here; exit 1\n")
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    agent = await bench(store, tmp_path)
    assert "You are told when it ends" in await agent.run("true", background=True)
    await until_over(agent)
    (event,) = await agent.told()
    assert "no namespaces here" in Event(**event.payload).text
    assert "the command was not run" in (await agent.rows())[0].why
    await agent.terminal.close()


async def test_without_a_sandbox_where_the_operator_says_so(
    store: SqlStore, tmp_path: Path
) -> None:
    agent = await bench(store, tmp_path, sandbox="none")
    await agent.run("export A=1; mkdir x; cd x")
    said = await agent.said("id -u; echo $A; basename $PWD; echo ${BOUGH_X-none}")
    user = "65525" if os.geteuid() == 0 else str(os.geteuid())
    assert said == f"{user}\n1\nx\nnone"


@pytest.mark.skipif(os.geteuid() != 0, reason="others run commands as themselves")
async def test_without_a_sandbox_a_folder_of_root_above_the_workspace_shows_nothing_but_the_way(
    store: SqlStore, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    closed.joinpath("other").write_text("not theirs")
    agent = await bench(store, closed / "deeper", sandbox="none")
    said = await agent.said(
        f"echo 1 >a; /bin/cat $PWD/a; cat {closed}/other {closed}/*/*/a; echo 2 >{closed}/b"
    )
    assert said.splitlines()[0] == "1" and "not theirs" not in said
    assert sorted(file.name for file in closed.iterdir()) == ["deeper", "other"]


async def shell_of(agent: Bench) -> Shell:
    return await agent.terminal.store.read(lambda tx: tx.commands.shell(agent.session, agent.entry))


async def test_commands_find_what_the_operator_set_and_cannot_lose_it(
    store: SqlStore, tmp_path: Path
) -> None:
    need_bubblewrap()
    toolchain = tmp_path / "toolchain"
    (toolchain / "bin").mkdir(parents=True)
    (toolchain / "bin" / "tool").write_text("#!/bin/sh\necho the tool runs: $COLOUR\n")
    (toolchain / "bin" / "tool").chmod(0o755)
    set_by_us = {"PATH": f"{toolchain}/bin:$PATH", "COLOUR": "green"}
    for sandbox in ("bubblewrap", "none"):
        more = {"sandbox": sandbox, "read_only": [str(toolchain)], "environment": set_by_us}
        agent = await bench(store, tmp_path, **more)
        assert await agent.said("tool; ls -d /") == "the tool runs: green\n/"
        await agent.said("export COLOUR=red MINE=1; unset PATH")
        assert await agent.said("tool; echo $MINE") == "the tool runs: red\n1"
        await agent.said("unset COLOUR MINE")
        assert await agent.said("tool") == "the tool runs: green"
        kept = await shell_of(agent)
        assert "PATH" not in kept.environment and "COLOUR" not in kept.environment
        await agent.terminal.close()


async def test_a_command_line_of_the_host_shows_no_variable(
    store: SqlStore, tmp_path: Path
) -> None:
    """Every user of the machine reads the arguments of every program."""
    for sandbox in ("bubblewrap", "none"):
        if sandbox == "bubblewrap":
            need_bubblewrap()
        more = {"sandbox": sandbox, "environment": {"INDEX_TOKEN": "value-of-a-variable"}}
        agent = await bench(store, tmp_path, **more)
        running = asyncio.create_task(agent.run(f"touch begun; {HELD}"))
        workspace = agent.terminal.workspace(agent.session).root
        while not (workspace / "begun").exists():
            await asyncio.sleep(0.01)
        seen = alive("value-of-a-variable")
        (workspace / "go").touch()
        await running
        assert seen == []
        await agent.terminal.close()


async def test_git_commits_and_what_was_fetched_is_kept(agent: Bench) -> None:
    lines = (
        "git init -q . && touch a && git add a && git commit -qm one && git log --format='%an %ae'"
    )
    assert await agent.said(lines) == "Bough agent agent@localhost"
    await agent.said("mkdir -p $PIP_CACHE_DIR && echo wheel >$PIP_CACHE_DIR/x")
    assert await agent.said("cat $XDG_CACHE_HOME/pip/x; ls -A") == "wheel\n.git\na"


async def test_a_cache_that_grows_too_large_ends_the_command(
    store: SqlStore, tmp_path: Path
) -> None:
    need_bubblewrap()
    agent = await bench(store, tmp_path)
    agent.terminal._limits = replace(SMALL, cache=1 << 20)
    said = await agent.run(f"head -c 4000000 /dev/zero >$XDG_CACHE_HOME/x; {HELD}")
    assert "it kept more than 1 MB" in said and "in its cache" in said
    assert await agent.said("ls -A $XDG_CACHE_HOME") == "[no output]"
    await agent.terminal.close()


async def test_no_command_runs_while_a_key_could_be_read(store: SqlStore, tmp_path: Path) -> None:
    need_bubblewrap()
    toolchain = tmp_path / "toolchain"
    toolchain.mkdir()
    agent = await bench(store, tmp_path, read_only=[str(toolchain)])
    assert await agent.said("echo ran") == "ran"
    toolchain.rename(tmp_path / "old")
    (tmp_path / ".ssh").mkdir()
    toolchain.symlink_to(tmp_path / ".ssh")
    said = await agent.run("echo ran")
    assert "never shown to commands" in said and "ran\n" not in said
    await agent.terminal.close()
