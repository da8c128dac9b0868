"""A command tries to get out, or to see what is none of its business."""

import os
import socket
import stat
from pathlib import Path

import pytest

from agent.tools.terminal.sandbox.launcher import look
from agent.tools.terminal.sandbox.scoped import can_scope
from tests.support.sandboxes import confined, ran

SECRET = "the-database-and-the-token"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspaces" / "7"
    folder.mkdir(parents=True)
    (tmp_path / "bough.toml").write_text(SECRET)
    (tmp_path / "workspaces" / "8").mkdir()
    (tmp_path / "workspaces" / "8" / "other.txt").write_text(SECRET)
    return folder


async def says(workspace: Path, line: str) -> str:
    _, said = await ran(confined(workspace), line, workspace)
    return said


async def test_the_workspace_is_there_and_can_be_written(workspace: Path) -> None:
    (workspace / "in.txt").write_text("from outside")
    said = await says(workspace, "pwd; cat in.txt; echo changed >in.txt; echo new >out.txt")
    assert said == f"{workspace}\nfrom outside"
    assert (workspace / "in.txt").read_text() == "changed\n"
    assert (workspace / "out.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    "line",
    [
        "cat ../../bough.toml",
        "cat {tmp}/bough.toml",
        "cat ../8/other.txt",
        "ln -s {tmp}/bough.toml link; cat link",
        "ln {tmp}/bough.toml hard; cat hard",
        "cat /proc/1/root{tmp}/bough.toml",
        "cat /proc/self/root{tmp}/bough.toml",
        "for fd in /proc/1/fd/* /proc/self/fd/*; do cat $fd/../../bough.toml; done",
        "cd /proc/1/cwd && cat .{tmp}/bough.toml",
        "find / -name bough.toml -exec cat {{}} + ; find / -name other.txt -exec cat {{}} +",
        "mount --bind / /mnt; mkdir m; mount -t ext4 /dev/vda m; cat m{tmp}/bough.toml",
        "mkdir m; mount --rbind / m; unshare -rm mount --bind / m; cat m{tmp}/bough.toml",
        "umount -l {tmp}/workspaces/7; cat {tmp}/bough.toml",
        "mount -o remount,rw /; mount -o remount,rw,suid /usr; cat {tmp}/bough.toml",
        "nsenter -t 1 -a cat {tmp}/bough.toml",
        "chroot / cat {tmp}/bough.toml",
        "mknod disk b 254 0; dd if=disk bs=1M count=1 | strings",
    ],
)
async def test_nothing_outside_the_workspace_can_be_read(workspace: Path, line: str) -> None:
    said = await says(workspace, line.format(tmp=workspace.parents[1]))
    assert SECRET not in said


async def test_what_a_link_leads_to_outside_is_not_changed(workspace: Path) -> None:
    outside = workspace.parents[1] / "bough.toml"
    await says(
        workspace, f"ln -s {outside} link; echo stolen >link; echo x >{outside}; rm -f {outside}"
    )
    assert outside.read_text() == SECRET


async def test_the_environment_holds_nothing_of_ours(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOUGH_TELEGRAM__TOKEN", SECRET)
    line = "env; cat /proc/*/environ; cat /proc/*/cmdline; export -p"
    said = await says(workspace, line)
    assert SECRET not in said
    names = {row.partition("=")[0] for row in said.splitlines() if "=" in row[:12]}
    assert names >= {"PATH", "HOME", "LANG", "TERM"}


async def test_no_descriptor_of_ours_is_inherited(workspace: Path) -> None:
    with (workspace.parents[1] / "bough.toml").open("rb") as secret:
        os.set_inheritable(secret.fileno(), True)
        said = await says(
            workspace, "ls /proc/self/fd | tr '\\n' ' '; ls -l /proc/*/fd; cat <&3 <&4"
        )
    assert said.startswith("0 1 2 3 ")  # the last is ls's own
    assert "bough.toml" not in said and SECRET not in said


async def test_it_has_no_rights_and_cannot_get_any(workspace: Path) -> None:
    said = await says(
        workspace, "grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status; id -u"
    )
    rights = dict(line.split() for line in said.splitlines() if ":" in line)
    assert {rights[f"Cap{name}:"] for name in ("Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert rights["NoNewPrivs:"] == "1"
    assert int(said.split()[-1]) != 0


async def test_programs_that_run_as_root_run_as_everybody_else(workspace: Path) -> None:
    said = await says(workspace, "find /usr/bin -perm -4000 | head -1; su -c id; sudo -n id; mount")
    assert "uid=0" not in said


async def test_no_file_that_runs_as_its_owner_can_be_left_behind(workspace: Path) -> None:
    lines = [
        "cp /usr/bin/id a; chmod u+s a; chmod 6755 a",
        "python3 -c \"import os; os.chmod('a', 0o4755)\"",
        "python3 -c \"import os; os.close(os.open('b', os.O_CREAT | os.O_WRONLY, 0o4777))\"",
        "install -m 4755 /usr/bin/id c",
    ]
    await says(workspace, "; ".join(lines))
    modes = [path.stat().st_mode for path in workspace.iterdir()]
    assert modes and not any(mode & (stat.S_ISUID | stat.S_ISGID) for mode in modes)


async def test_files_are_not_roots_even_where_the_gateway_is(workspace: Path) -> None:
    (workspace / "given.txt").write_text("x")
    await says(workspace, "echo y >made.txt; echo z >>given.txt")
    made = (workspace / "made.txt").stat()
    assert made.st_uid != 0
    assert (workspace / "given.txt").read_text() == "xz\n"


async def test_the_kernel_cannot_be_changed(workspace: Path) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    line = (
        "echo '|/tmp/x' >/proc/sys/kernel/core_pattern; echo 1 >/proc/sys/kernel/sysrq; "
        "echo b >/proc/sysrq-trigger; ls /sys; head -c 10 /proc/kcore /proc/kmsg; dmesg; exit 0"
    )
    said = await says(workspace, line)
    assert Path("/proc/sys/kernel/core_pattern").read_text() == pattern
    assert "kernel:" not in said


async def test_other_processes_are_neither_seen_nor_signalled(workspace: Path) -> None:
    said = await says(
        workspace, f"kill -9 {os.getpid()} {os.getppid()}; ls -d /proc/[0-9]* | wc -l"
    )
    assert int(said.split()[-1]) < 12


async def test_there_is_no_network(workspace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"""
import socket
for family, address in ((2, ("127.0.0.1", {port})), (2, ("1.1.1.1", 53))):
    try:
        socket.create_connection(address, 2); print("REACHED")
    except OSError as error: print(error)
for family in (40, 17, 38):
    try:
        socket.socket(family, 3 if family == 17 else 1); print("OPENED")
    except OSError as error: print(error)
"""
        (workspace / "net.py").write_text(program)
        said = await says(workspace, "python3 net.py; cat /proc/net/dev")
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "REACHED" not in said and "OPENED" not in said
    assert "eth0" not in said


async def test_the_network_is_there_where_it_is_allowed(workspace: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('in')"
        line = f'python3 -c "{program}"'
        _, said = await ran(confined(workspace, network=True), line, workspace)
    assert said == "in\n"


async def test_with_the_network_the_machines_abstract_sockets_stay_out_of_reach(
    workspace: Path,
) -> None:
    launcher = confined(workspace, network=True)
    if not can_scope(look().bubblewrap):
        pytest.skip("Linux is older than 6.12")
    program = (
        "import socket; own = socket.socket(socket.AF_UNIX); own.bind('\\0own'); own.listen()\n"
        "socket.socket(socket.AF_UNIX).connect('\\0own'); print('OWN', flush=True)\n"
        "socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('CONNECTED')"
    )
    with socket.socket(socket.AF_UNIX) as server:
        name = f"bough-{os.getpid()}"
        server.bind(f"\0{name}")
        server.listen()
        line = f'python3 -c "{program.format(name=name)}"'
        _, said = await ran(launcher, line, workspace)
    assert said.startswith("OWN\n") and "Operation not permitted" in said
    assert "CONNECTED" not in said.split("\n")


async def test_devices_are_few_and_the_terminal_is_none(workspace: Path) -> None:
    said = await says(workspace, "ls /dev | tr '\\n' ' '; echo; echo x >/dev/tty")
    devices = set(said.splitlines()[0].split())
    known = {"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr"}
    assert devices <= known | {"stdin", "stdout", "tty", "urandom", "zero"}
    assert "/dev/tty" in said.splitlines()[1]


async def test_namespaces_and_keys_are_refused(workspace: Path) -> None:
    program = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in (272, 250, 248, 321, 425, 435):
    print(number, libc.syscall(number, 0x10000000, 0, 0, 0, 0), ctypes.get_errno())
import fcntl, os
try: fcntl.ioctl(os.open("/dev/ptmx", os.O_RDWR), 0x5412, b"x")
except OSError as error: print("push", error.errno)
"""
    (workspace / "calls.py").write_text(program)
    said = await says(workspace, "python3 calls.py; unshare -r id; unshare -U true && echo MADE")
    if os.uname().machine == "x86_64":
        rows = [line.split() for line in said.splitlines() if line[0].isdigit()]
        assert len(rows) == 6 and all(row[1] == "-1" and row[2] in ("1", "38") for row in rows)
        assert "push 1" in said
    assert "MADE" not in said and "uid=0" not in said


async def test_room_on_a_disk_is_not_taken_without_being_written(workspace: Path) -> None:
    program = """
import ctypes, fcntl, os, struct
file = os.open("big", os.O_RDWR | os.O_CREAT)
number = {"x86_64": 285, "aarch64": 47}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)
for mode in (0, 1, 0x10):
    size = ctypes.c_long(4 << 20)
    print(libc.syscall(number, file, mode, ctypes.c_long(0), size), ctypes.get_errno())
room = struct.pack("=hhxxxxqqiI16x", 0, 0, 0, 4 << 20, 0, 0)
for call in (0x40305828, 0x4030582A, 0x40305839, 0x4030580A, 0x40305824, 0x402C5828):
    try: fcntl.ioctl(file, call, room); print("TAKEN", hex(call))
    except OSError as error: print(-1, error.errno)
print(os.fstat(file).st_blocks)
os.posix_fallocate(file, 0, 1 << 20)
print(os.fstat(file).st_size)
"""
    (workspace / "calls.py").write_text(program)
    said = (await says(workspace, "python3 calls.py")).splitlines()
    assert said == ["-1 95"] * 9 + ["0", str(1 << 20)]


async def test_what_lies_in_a_folder_of_the_system_can_be_hidden(workspace: Path) -> None:
    hidden = Path("/usr/share/doc/bubblewrap")
    if not hidden.is_dir():
        pytest.skip("no folder of the system to hide")
    launcher = confined(workspace, secret=(hidden / "copyright",))
    _, said = await ran(launcher, f"ls {hidden} | wc -l; ls /usr/share/doc | wc -l", workspace)
    assert said.split()[0] == "0" and int(said.split()[1]) > 1
