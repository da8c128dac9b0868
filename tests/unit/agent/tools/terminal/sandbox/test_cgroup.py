"""What the gateway's own cgroup leaves, and a cgroup for each command where that is delegated.

Those that need one are skipped elsewhere. To run them where systemd is:

    systemd-run --user --pty --working-directory=$PWD -p Delegate='cpu memory pids' \\
        .venv/bin/python -m pytest tests/unit/agent/tools/terminal/sandbox/test_cgroup.py
"""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent.tools.terminal.sandbox import cgroup
from agent.tools.terminal.sandbox.cgroup import (
    UNLIMITED,
    Delegated,
    Group,
    NotDelegatedError,
    free_memory,
    free_processes,
    own,
    take,
)
from agent.tools.terminal.sandbox.launcher import Bubblewrap, Unconfined
from agent.tools.terminal.sandbox.probe import try_groups
from agent.tools.terminal.sandbox.process import Launcher
from tests.support.sandboxes import SMALL, alive, confined, ran, unconfined

MEMORY = "it took more than 256 MB of memory"
MOUNTS = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
31 24 0:26 {root} {at} ro,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate
"""


def process(folder: Path, line: str, root: str = "/") -> Path:
    """What the kernel says of a process, in a folder."""
    about = folder / "self"
    about.mkdir()
    (about / "cgroup").write_text(f"4:memory:/elsewhere\n{line}\n")
    (about / "mountinfo").write_text(MOUNTS.format(root=root, at=folder / "fs"))
    return about


def level(folder: Path, **files: str) -> Path:
    """A group with what the kernel says of it; of its memory 100 bytes can be taken back."""
    folder.mkdir(parents=True, exist_ok=True)
    stat = "anon 700\nfile 300\ninactive_file 60\nactive_file 30\nslab_reclaimable 10\nshmem 210\n"
    given = {"cgroup.procs": "", "memory.stat": stat} | files
    for name, text in given.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("line", "root", "expected"),
    [
        ("0::/system.slice/bough.service", "/", "system.slice/bough.service"),
        ("0::/", "/", ""),
        ("0::/docker/a1/below", "/docker/a1", "below"),
        ("0::/docker/b2", "/docker/a1", None),
        ("3:cpu:/x", "/", None),
    ],
)
def test_the_gateways_own_group_is_found(
    tmp_path: Path, line: str, root: str, expected: str | None
) -> None:
    found = own(process(tmp_path, line, root))
    assert found == (tmp_path / "fs" / expected if expected is not None else None)


def test_the_tightest_limit_of_all_levels_says_what_is_left(tmp_path: Path) -> None:
    above = level(tmp_path / "fs", memory_max="max\n", pids_max="max\n", pids_current="9\n")
    unit = level(
        above / "unit",
        memory_max="5000\n",
        memory_high="max\n",
        memory_current="1000\n",
        pids_max="40\n",
        pids_current="15\n",
    )
    group = level(unit / "gateway", memory_max="max\n", memory_current="400\n", pids_max="max\n")
    assert free_memory(above) == UNLIMITED and free_processes(above) > 1 << 60
    assert (free_memory(group), free_processes(group)) == (5_000 - 1_000 + 100, 25)
    (unit / "memory.high").write_text("1200\n")
    assert free_memory(group) == 1_200 - 1_000 + 100
    assert (free_memory(None), free_processes(None)) == (UNLIMITED, UNLIMITED)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"cgroup_controllers": "cpu io\n"}, "no memory and pids controller"),
        ({"cgroup_controllers": "memory pids\n"}, "is not delegated"),
        (
            {"cgroup_controllers": "memory pids\n", "cgroup_subtree_control": ""},
            "is not delegated",
        ),
    ],
)
def test_a_group_that_is_not_the_gateways_is_left_alone(
    tmp_path: Path, files: dict[str, str], why: str
) -> None:
    group = level(level(tmp_path / "fs") / "session.scope", **files)
    before = {path: path.read_text() for path in group.iterdir()}
    with pytest.raises(NotDelegatedError, match=why):
        take(group)
    assert {path: path.read_text() for path in group.iterdir()} == before
    with pytest.raises(NotDelegatedError, match="no cgroup of version 2"):
        take(None)


async def test_what_is_left_in_a_group_ends_with_it() -> None:
    group = Group((own() or Path("/nowhere")) / f"bough-test-{os.getpid()}")
    try:
        group.path.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup of version 2 can be made here: {error}")
    left = await asyncio.create_subprocess_exec("sleep", "60")
    group.enter(left.pid)
    closing = asyncio.create_task(asyncio.to_thread(group.close))
    assert await left.wait() == -9
    await closing
    assert not group.path.exists()


async def test_the_doctor_says_whether_commands_have_groups() -> None:
    probed = await try_groups()
    found = await asyncio.to_thread(cgroup.delegated)
    assert probed.ok
    if isinstance(found, Delegated):
        assert "each command has a cgroup" in probed.text
    else:
        assert f"have no cgroup ({found})" in probed.text and "Delegate=" in probed.text
        assert probed.warns


@pytest.fixture
def delegated() -> Delegated:
    found = cgroup.delegated()
    if not isinstance(found, Delegated):
        pytest.skip(f"{found}; see the top of this file")
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture(params=["bubblewrap", "none"])
def grouped(request: pytest.FixtureRequest, workspace: Path, delegated: Delegated) -> Launcher:
    made = confined(workspace) if request.param == "bubblewrap" else unconfined(workspace)
    assert isinstance(made, Bubblewrap | Unconfined)
    return replace(made, delegated=delegated)


async def python(launcher: Launcher, program: str, workspace: Path) -> tuple[str, str]:
    """Why a program was ended, and what it said."""
    (workspace / "program.py").write_text(program)
    ended, said = await ran(launcher, "python3 program.py", workspace, seconds=120)
    return ended.why, said


def test_commands_together_may_have_less_than_the_gateway(delegated: Delegated) -> None:
    top = delegated.commands.parent
    limit = (top / "memory.max").read_text().strip()
    together = int((delegated.commands / "memory.max").read_text())
    assert limit == "max" or together < int(limit)
    assert (delegated.commands / "cpu.weight").read_text() == "20\n"
    assert f"{os.getpid()}" in (top / "gateway" / "cgroup.procs").read_text().split()
    assert take(top / "gateway") == delegated


async def test_each_command_has_a_group_which_goes_with_it(
    grouped: Launcher, workspace: Path, delegated: Delegated
) -> None:
    ended, said = await ran(grouped, "echo out; setsid sleep 613 >&- 2>&- & exit 3", workspace)
    assert (ended.status, ended.why, said) == (3, "", "out\n")
    assert alive("613") == [] and not [*delegated.commands.glob("*-*")]


@pytest.mark.parametrize(
    "program",
    [
        """
import mmap
while True: kept.append(mmap.mmap(-1, 1 << 20)); kept[-1].write(bytes(1 << 20))
""",
        """
import os, socket, time
for _ in range(4): os.fork()
for _ in range(400):
    kept.append(socket.socketpair())
    for end in kept[-1]:
        end.setblocking(False)
        try:
            while True: end.send(bytes(10_000))
        except BlockingIOError: pass
time.sleep(60)
""",
        """
import os, time
for _ in range(5): os.fork()
kept = b"x" * (20 << 20)
time.sleep(60)
""",
    ],
    ids=["shared", "sockets", "processes"],
)
async def test_the_kernel_ends_what_takes_too_much(
    grouped: Launcher, workspace: Path, program: str
) -> None:
    why, said = await python(grouped, f"kept = []\n{program}", workspace)
    assert why == MEMORY, said


async def test_the_kernel_holds_the_number_of_processes(
    grouped: Launcher, workspace: Path, delegated: Delegated
) -> None:
    line = "bomb() { bomb | bomb & }; bomb; sleep 60"
    task = asyncio.create_task(ran(grouped, line, workspace, seconds=3))
    most = 0
    while not task.done():
        for group in delegated.commands.glob("*-*"):
            most = (
                max(most, int((group / "pids.peak").read_text().split()[0]))
                if (group / "pids.peak").exists()
                else max(most, len((group / "cgroup.procs").read_text().split()))
            )
        await asyncio.sleep(0.05)
    await task
    assert 0 < most <= SMALL.processes + 16
    assert not [*delegated.commands.glob("*-*")]
