"""A command takes what no list of processes shows, or would have the gateway ended in its place."""

import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from agent.tools.terminal.sandbox.launcher import Unconfined
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.process import Launcher, Order, Running
from tests.support.sandboxes import SMALL, alive, confined, ran, ran_as, unconfined

MEMORY = "it took more than 256 MB of memory"
CALLS = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *arguments):
    found = libc.syscall(number, *arguments)
    print(name, "made" if found >= 0 else errno.errorcode[ctypes.get_errno()])
SHM, SEM, MSG, MEMFD = {numbers}
call("memfd_create", MEMFD, b"x", 0)
call("memfd_secret", 447, 0)
call("msgget", MSG, 0, 0o1600)
call("shmget-much", SHM, 0, ctypes.c_size_t(65_537), 0o1600)
call("shmget-most", SHM, 0, ctypes.c_size_t(1 << 32), 0o1600)
call("semget-much", SEM, 0, 33, 0o1600)
"""
NUMBERS = {"x86_64": (29, 64, 68, 319), "aarch64": (194, 190, 186, 279)}
REFUSED = (
    "memfd_create ENOSYS\nmemfd_secret ENOSYS\nmsgget ENOSYS\n"
    "shmget-much EINVAL\nshmget-most EINVAL\nsemget-much EINVAL\n"
)
A_LITTLE = """
import ctypes
libc = ctypes.CDLL(None)
for made in (libc.shmget(0, ctypes.c_size_t(56), 0o1600), libc.semget(0, 17, 0o1600)):
    print(made >= 0)
"""
LOWERS = (
    "cat /proc/self/oom_score_adj; (echo 0 >/proc/self/oom_score_adj) 2>/dev/null && echo LOWERED; "
    "(echo -17 >/proc/self/oom_adj) 2>/dev/null && echo LOWERED; cat /proc/self/oom_score_adj"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture(params=["bubblewrap", "none"])
def launcher(request: pytest.FixtureRequest, workspace: Path) -> Launcher:
    return confined(workspace) if request.param == "bubblewrap" else unconfined(workspace)


async def python(launcher: Launcher, program: str, workspace: Path) -> tuple[str, str]:
    """Why a program was ended, and what it said."""
    (workspace / "program.py").write_text(program)
    ended, said = await ran(launcher, "exec python3 program.py", workspace)
    return ended.why, said


async def test_memory_that_no_process_holds_is_refused(launcher: Launcher, workspace: Path) -> None:
    numbers = NUMBERS[os.uname().machine]
    _, said = await python(launcher, CALLS.format(numbers=numbers), workspace)
    assert said == REFUSED


async def test_the_little_that_a_database_wants_of_it_is_there_and_goes_with_it(
    launcher: Launcher, workspace: Path
) -> None:
    if os.geteuid() != 0 and isinstance(launcher, Unconfined):
        pytest.skip("without a sandbox, only root's gateway keeps it apart")
    before = Path("/proc/sysvipc/sem").read_text()
    _, said = await python(launcher, A_LITTLE, workspace)
    assert said == "True\nTrue\n"
    assert Path("/proc/sysvipc/sem").read_text() == before


@pytest.mark.parametrize("network", [False, True])
async def test_its_oom_score_is_the_highest_and_stays(workspace: Path, network: bool) -> None:
    _, said = await ran(confined(workspace, network=network), LOWERS, workspace)
    assert said == "1000\n1000\n"


def test_its_oom_score_stays_where_the_gateway_is_an_ordinary_users() -> None:
    if os.geteuid() != 0:
        pytest.skip("all the other tests run as an ordinary user")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "w"
        Path(folder).chmod(0o755)
        workspace.mkdir()
        os.chown(workspace, 4_321, 4_321)
        assert ran_as(4_321, LOWERS, workspace)[1] == "1000\n1000\n"


async def test_without_a_sandbox_its_oom_score_is_the_highest_too(workspace: Path) -> None:
    _, said = await ran(unconfined(workspace), "cat /proc/self/oom_score_adj", workspace)
    assert said == "1000\n"


async def test_all_of_it_gives_way_to_the_gateway(launcher: Launcher, workspace: Path) -> None:
    line = "cut -d' ' -f19,41 /proc/self/stat; (setsid cut -d' ' -f19,41 /proc/self/stat)"
    _, said = await ran(launcher, line, workspace)
    assert said == "10 3\n10 3\n"  # nice, and SCHED_BATCH


async def test_files_in_memory_count(workspace: Path) -> None:
    limits = replace(SMALL, temporary=200 << 20, file=200 << 20)
    line = "head -c 150M /dev/zero >/tmp/a; head -c 150M /dev/zero >/dev/shm/b; sleep 20"
    ended, _ = await ran(confined(workspace, limits), line, workspace, limits)
    assert ended.why == MEMORY


async def test_empty_files_in_memory_count(workspace: Path) -> None:
    limits = replace(SMALL, memory=48 << 20)
    line = "mkdir /tmp/{0..99}; for d in /tmp/*; do touch $d/{0..999}; done; sleep 20"
    ended, _ = await ran(confined(workspace, limits), line, workspace, limits)
    assert ended.why == "it took more than 48 MB of memory"


def test_files_in_memory_count_where_the_gateway_is_an_ordinary_users() -> None:
    if os.geteuid() != 0:
        pytest.skip("all the other tests run as an ordinary user")
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "w"
        Path(folder).chmod(0o755)
        workspace.mkdir()
        os.chown(workspace, 4_321, 4_321)
        limits = replace(SMALL, memory=128 << 20, temporary=100 << 20, file=100 << 20)
        fill = "head -c 80M /dev/zero"
        assert ran_as(4_321, f"{fill} >/tmp/a; sleep 1", workspace, limits)[0] == 0
        line = f"{fill} >/tmp/a; {fill} >/dev/shm/b; sleep 20"
        assert ran_as(4_321, line, workspace, limits)[0] is None


async def test_memory_that_is_only_shared_counts(launcher: Launcher, workspace: Path) -> None:
    program = """
import mmap, time
kept = mmap.mmap(-1, 400 << 20)
for _ in range(400): kept.write(bytes(1 << 20))
time.sleep(20)
"""
    why, _ = await python(launcher, program, workspace)
    assert why == MEMORY


async def test_tables_of_pages_count(launcher: Launcher, workspace: Path) -> None:
    program = """
import mmap, time
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
kept = mmap.mmap(-1, 1 << 38, flags, mmap.PROT_READ)
for at in range(0, 1 << 38, 2 << 20): kept[at]
print(open("/proc/self/status").read())
time.sleep(20)
"""
    why, said = await python(launcher, program, workspace)
    assert why == MEMORY, said


async def test_what_pipes_and_sockets_hold_is_bounded_by_their_number(
    launcher: Launcher, workspace: Path
) -> None:
    program = """
import os, time
for _ in range(3): os.fork()
kept = [os.pipe() for _ in range(400)]
time.sleep(20)
"""
    (workspace / "program.py").write_text(program)
    limits = replace(SMALL, all_descriptors=4_000)
    ended, _ = await ran(launcher, "python3 program.py", workspace, limits)
    assert ended.why == "it had more than 4,000 files and sockets open"


async def test_its_text_stands_in_no_list_of_processes(launcher: Launcher, workspace: Path) -> None:
    line = f": {workspace.name}-in-the-line; echo go; while :; do sleep 0.05; done"
    order = Order(
        line,
        ("in-an-argument",),
        workspace.resolve(),
        {"NAME": "in-a-variable"},
        30.0,
        workspace.resolve(),
    )
    command = Running(order, SMALL, Output(SMALL.kept))
    task = asyncio.create_task(command.run(launcher))
    async with asyncio.timeout(30):
        while b"go" not in command.output.whole():
            assert not task.done(), command.output.whole()
            await asyncio.sleep(0.01)
    found = [alive(f"in-{what}") for what in ("the-line", "an-argument", "a-variable")]
    task.cancel()
    await asyncio.wait([task])
    assert found == [[], [], []]


async def test_a_long_command_arrives_whole(launcher: Launcher, workspace: Path) -> None:
    word = "x" * 99_000
    ended, said = await ran(launcher, f'echo {word} | wc -c; echo "$#"', workspace)
    assert (ended.status, said) == (0, "99001\n0\n")


def test_limits_bound_what_is_counted_nowhere() -> None:
    assert Limits().all_descriptors <= 64 * Limits().descriptors
