"""A command and all that it begins ends: by itself, at its limits, or when nobody waits for it."""

import asyncio
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import ToolError
from agent.tools.files.workspace import WorkspaceError
from agent.tools.terminal.sandbox.launcher import Bubblewrap, Unconfined, look
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.place import NOBODY, Place, prepare
from agent.tools.terminal.sandbox.probe import try_sandbox, try_without
from agent.tools.terminal.sandbox.process import TOLD_LIMIT, Launcher, Running, SandboxError
from tests.support.sandboxes import (
    SMALL,
    alive,
    confined,
    need_bubblewrap,
    ran,
    ran_as,
    running,
    unconfined,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture(params=["bubblewrap", "none"])
def launcher(request: pytest.FixtureRequest, workspace: Path) -> Launcher:
    return confined(workspace) if request.param == "bubblewrap" else unconfined(workspace)


@pytest.fixture
def mark(workspace: Path) -> Iterator[str]:
    """A word that stands in the command lines of what a test begins, which must all be gone."""
    word = f"{uuid.uuid4().int}"[:12]
    yield word
    assert alive(word) == []


@asynccontextmanager
async def begun(
    command: Running, launcher: Launcher, said: str
) -> AsyncIterator[asyncio.Task[None]]:
    """A command that runs, once it has said something."""

    async def run() -> None:
        await command.run(launcher)

    task = asyncio.create_task(run())
    async with asyncio.timeout(30):
        while said.encode() not in command.output.whole():
            assert not task.done(), command.output.whole()
            await asyncio.sleep(0.01)
    yield task


async def test_it_says_how_it_ended_and_what_it_left(launcher: Launcher, workspace: Path) -> None:
    line = "echo out; echo err >&2; mkdir -p a/b; cd a/b; export NAME='two words'; exit 3"
    ended, said = await ran(launcher, line, workspace)
    assert (ended.status, ended.why, said) == (3, "", "out\nerr\n")
    told = ended.told.split(b"\0")
    assert told[:2] == [b"began", f"{workspace}/a/b".encode()]
    assert b"NAME=two words" in told


async def test_it_finds_a_clean_environment_and_no_keyboard(
    launcher: Launcher, workspace: Path
) -> None:
    ended, said = await ran(launcher, "env | grep -v '^_=' ; cat; read x; echo $?", workspace)
    names = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    assert isinstance(launcher, Bubblewrap | Unconfined)
    assert names.keys() <= {*launcher.base, "PWD", "SHLVL", "OLDPWD"} and names["HOME"] == "/tmp"
    assert said.splitlines()[-1] == "1" and ended.status == 0


async def test_a_mistake_in_the_command_is_the_commands(
    launcher: Launcher, workspace: Path
) -> None:
    for line, status in (("echo 'open", 2), ("no-such-program", 127), ("kill -9 $$", 137)):
        ended, _ = await ran(launcher, line, workspace)
        assert (ended.status, ended.why) == (status, "")


@pytest.mark.parametrize(
    "line",
    [
        "sleep {mark}",
        "trap '' TERM INT HUP; while :; do sleep 0.1 {mark} ; done",
        "(trap '' TERM; setsid sh -c 'sleep {mark}' & ) ; exec sleep {mark}",
        "exec >&- 2>&-; sleep {mark}",
        "python3 -c 'input()'; sleep {mark}",
    ],
)
async def test_it_ends_when_its_time_is_over(
    launcher: Launcher, workspace: Path, mark: str, line: str
) -> None:
    line = line.replace("0.1 {mark}", "0.1; : {mark}").format(mark=mark)
    ended, _ = await ran(launcher, line, workspace, seconds=0.5)
    assert ended.status is None and ended.why == "its time of 0.5 s was over"


async def test_who_is_asked_to_end_may_put_things_in_order(
    launcher: Launcher, workspace: Path
) -> None:
    line = "trap 'echo bye; exit' TERM; echo go; while :; do sleep 0.05; done"
    command = running(line, workspace)
    async with begun(command, launcher, "go") as task:
        command.end("enough")
        await task
    assert command.output.whole().endswith(b"bye\n")


@pytest.mark.parametrize(
    "line",
    [
        "sleep {mark} & disown",
        "setsid sleep {mark} >/dev/null 2>&1 &",
        "(setsid sh -c 'trap \"\" TERM HUP; sleep {mark} & sleep {mark}' >/dev/null 2>&1 &)",
        "python3 -c 'import os; os.fork() or os.setsid() or os.fork() or "
        'os.execlp("sleep", "sleep", "{mark}")\'',
    ],
)
async def test_what_it_leaves_behind_ends_with_it(
    launcher: Launcher, workspace: Path, mark: str, line: str
) -> None:
    ended, _ = await ran(launcher, line.format(mark=mark) + "\n sleep 0.1; echo", workspace)
    assert ended.status == 0


async def test_cancelled_it_is_gone_at_once(launcher: Launcher, workspace: Path, mark: str) -> None:
    line = f"trap '' TERM; setsid sleep {mark} & echo go; sleep {mark}; sleep {mark}"
    command = running(line, workspace)
    async with begun(command, launcher, "go") as task:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    assert alive(mark) == []


async def test_cancelled_while_it_starts_nothing_is_left(
    launcher: Launcher, workspace: Path, mark: str
) -> None:
    for delay in (0.0, 0.001, 0.005, 0.01, 0.02, 0.04):
        task = asyncio.create_task(ran(launcher, f"sleep {mark}", workspace))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task])
    assert alive(mark) == []


async def test_a_flood_is_heard_in_part_and_ended(launcher: Launcher, workspace: Path) -> None:
    limits = replace(SMALL, kept=100_000, output=3_000_000)
    command = running("yes flood", workspace, limits)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    ended = await command.run(launcher)
    ticking.cancel()
    assert ended.why == "it said more than 3,000,000 bytes"
    assert len(command.output.whole()) < 300_000
    assert ticks > 3  # the loop went on


async def test_a_fork_bomb_is_held_and_ended(workspace: Path, mark: str) -> None:
    line = f"bomb() {{ bomb | bomb & }}; : {mark}; bomb; sleep 60"
    before = len(list(Path("/proc").glob("[0-9]*")))
    command = running(line, workspace, seconds=1.5)
    task = asyncio.create_task(command.run(confined(workspace)))
    most = 0
    while not task.done():
        most = max(most, len(list(Path("/proc").glob("[0-9]*"))))
        await asyncio.sleep(0.05)
    assert (await task).status is None
    assert most - before < SMALL.processes + 100
    # another command at the same time is not held up by the first one's limit
    assert (await ran(confined(workspace), "true; echo", workspace))[0].status == 0


async def test_one_that_forks_without_end_is_ended_without_a_sandbox_too(
    workspace: Path, mark: str
) -> None:
    line = f"for i in $(seq 200); do sleep {mark} & done; sleep {mark}"
    ended, _ = await ran(unconfined(workspace), line, workspace)
    assert ended.why == "it had more than 64 processes"


@pytest.mark.parametrize("processes", [1, 4])
async def test_memory_is_bounded_for_one_and_for_all(
    launcher: Launcher, workspace: Path, processes: int, mark: str
) -> None:
    size = 400 if processes == 1 else 120
    program = f"import time; kept = b'x' * ({size} << 20); time.sleep(20)  # {mark}"
    line = " & ".join([f'python3 -c "{program}"'] * processes) + "; wait"
    ended, said = await ran(launcher, line, workspace)
    if processes == 1:
        assert "MemoryError" in said
    else:
        assert ended.why == "it took more than 256 MB of memory"


async def test_memory_that_processes_share_counts_once(launcher: Launcher, workspace: Path) -> None:
    program = (
        "import os, time; kept = b'x' * (100 << 20); [os.fork() for _ in range(3)]; time.sleep(1)"
    )
    ended, _ = await ran(launcher, f'python3 -c "{program}"', workspace)
    assert (ended.status, ended.why) == (0, "")


async def test_files_are_bounded(workspace: Path) -> None:
    lines = "; ".join(
        f"head -c 30M /dev/zero >{name} && echo WROTE"
        for name in ("big", "/tmp/big", "/dev/shm/big")
    )
    _, said = await ran(confined(workspace), lines, workspace)
    assert "WROTE" not in said
    assert (workspace / "big").stat().st_size <= SMALL.file


async def test_the_machine_is_left_something(workspace: Path) -> None:
    for limits, what in (
        (replace(SMALL, free_disk=1 << 60), "disk space"),
        (replace(SMALL, free_files=1 << 61), "room for files: there are too many"),
        (replace(SMALL, free_memory=1 << 63), "memory"),
        (replace(SMALL, free_connections=1 << 63), "memory for connections"),
        (replace(SMALL, free_processes=1 << 63), "processes"),
    ):
        command = running("sleep 20", workspace, limits)
        ended = await command.run(confined(workspace, limits))
        assert ended.why == f"the machine ran short of {what}"


async def test_a_hundred_run_side_by_side(workspace: Path) -> None:
    launcher = confined(workspace)
    done = await asyncio.gather(
        *(ran(launcher, f"echo {number}", workspace) for number in range(100))
    )
    assert [said for _, said in done] == [f"{number}\n" for number in range(100)]


async def test_a_sandbox_that_cannot_be_set_up_is_said(workspace: Path) -> None:
    need_bubblewrap()
    place = Place(workspace / "gone", None, ())
    launcher = Bubblewrap(look(), place, SMALL, network=False)
    with pytest.raises(SandboxError, match=r"could not be set up \(bwrap: .*gone.*bough doctor"):
        await ran(launcher, "echo x", workspace)


@pytest.mark.parametrize("make", ["true", "mkdir there; ln -s there elsewhere"])
async def test_nothing_runs_in_another_directory_than_that_which_was_shown(
    launcher: Launcher, workspace: Path, make: str
) -> None:
    await ran(launcher, make, workspace)
    command = running("echo RUN; touch made", workspace)
    command.order = replace(command.order, directory=workspace / "elsewhere")
    ended = await command.run(launcher)
    said = command.output.whole().decode()
    assert said.startswith(f"[nothing was run: {workspace}/elsewhere is gone") and "RUN" not in said
    assert ended.status == 125 and ended.told.startswith(b"began\0%s\0" % bytes(workspace))
    assert not [*workspace.rglob("made")]


async def test_a_workspace_that_a_command_closed_is_open_for_the_next(
    launcher: Launcher, workspace: Path
) -> None:
    await ran(launcher, "echo kept >file; chmod 0 .", workspace)
    _, said = await ran(launcher, "cat file", workspace)
    assert said == "kept\n"


async def test_who_says_too_much_of_its_end_is_heard_slowly(
    launcher: Launcher, workspace: Path
) -> None:
    program = (
        "import os, time; end = time.monotonic() + 1; n = 0\n"
        "while time.monotonic() < end: n += os.write(1, bytes(65536))\n"
        "os.write(2, str(n).encode())"
    )
    ended, said = await ran(launcher, f"python3 -c '{program}' >&10", workspace)
    assert int(said) < 50_000_000
    assert (ended.status, len(ended.told)) == (0, TOLD_LIMIT)
    much = "for i in 1 2 3 4 5 6; do declare -x V$i=$(printf %0100000d 1); done"
    ended, _ = await ran(launcher, much, workspace)
    assert (ended.status, len(ended.told)) == (0, TOLD_LIMIT)


async def test_nothing_starts_without_bubblewrap(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(workspace))
    with pytest.raises(ToolError, match="apt-get install bubblewrap"):
        look()


def test_an_ordinary_users_gateway_confines_as_well() -> None:
    if os.geteuid() != 0:
        pytest.skip("all the other tests run as an ordinary user")
    with tempfile.TemporaryDirectory() as folder:
        workspace, secret = Path(folder) / "w", Path(folder) / "bough.toml"
        Path(folder).chmod(0o755)
        workspace.mkdir()
        secret.write_text("SECRET")
        os.chown(workspace, 4_321, 4_321)
        lines = [
            "id -u; touch made; cat ../bough.toml; cat /proc/1/root/etc/shadow /etc/shadow",
            "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status; unshare -U true && echo MADE",
            "ls /proc/self/fd | tr '\\n' ' '; cat /proc/1/environ; ulimit -u",
            "for i in $(seq 100); do sleep 1 & done 2>/dev/null; jobs -p | wc -l; exit 4",
        ]
        status, said = ran_as(4_321, "; ".join(lines), workspace)
        assert (workspace / "made").stat().st_uid == 4_321
    assert status in (4, 254) and said.startswith("4321\n")
    assert "SECRET" not in said and "root:" not in said and "MADE" not in said
    assert said.count("0" * 16) == 3 and "0 1 2 3 " in said
    assert "\x0064\n" in said


def test_a_folder_of_root_is_given_away_without_following_links(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    outside, folder = tmp_path / "outside", tmp_path / "w"
    (folder / "below").mkdir(parents=True)
    outside.write_text("x")
    (folder / "link").symlink_to(outside)
    os.link(outside, folder / "hard")
    (folder / "below" / "file").write_text("x")
    place = prepare(folder, (), ())
    assert place.owner is not None and place.owner.user == NOBODY
    assert (folder / "below" / "file").stat().st_uid == folder.stat().st_uid == NOBODY
    assert (folder / "link").lstat().st_uid == NOBODY
    assert outside.stat().st_uid == 0


@pytest.mark.parametrize("root", ["/", "/etc", "/usr/share", "/tmp", "/proc/self"])
def test_a_folder_of_the_system_is_no_workspace(root: str) -> None:
    with pytest.raises(WorkspaceError, match="a folder of the system"):
        prepare(Path(root), (), ())


def test_a_workspace_with_the_gateways_own_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bough.toml").write_text("")
    with pytest.raises(
        WorkspaceError, match=r"holds bough\.toml of the gateway.*\[tools\] workspace"
    ):
        prepare(tmp_path, [tmp_path / "bough.toml"], ())


@pytest.mark.parametrize(
    ("network", "said"), [(False, "without a network"), (True, "with the network")]
)
async def test_the_doctor_tries_a_real_sandbox(network: bool, said: str) -> None:
    need_bubblewrap()
    probed = await try_sandbox(network=network)
    assert probed.ok and probed.text.startswith(f"commands run in bubblewrap, {said}")


async def test_the_doctor_tries_a_command_where_nothing_is_to_confine_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = await try_without()
    assert probed.ok and probed.warns
    monkeypatch.setenv("PATH", str(tmp_path))
    probed = await try_without()
    assert not probed.ok and "bash" in probed.text


async def test_the_doctor_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    probed = await try_sandbox(network=False)
    assert not probed.ok and "apt-get install bubblewrap" in probed.text


def test_limits_leave_room_for_real_work() -> None:
    assert Limits().memory >= 1 << 30 and Limits().processes >= 128
