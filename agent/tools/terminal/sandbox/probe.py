"""Tries whether commands can be run here, and whether the sandbox holds what it promises."""

import asyncio
import platform
import shutil
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ToolError
from agent.tools.files.workspace import WorkspaceError
from agent.tools.terminal.sandbox import seccomp
from agent.tools.terminal.sandbox.cgroup import Delegated, delegated, groups
from agent.tools.terminal.sandbox.launcher import Bubblewrap, Unconfined, look, without
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.place import Place, prepare
from agent.tools.terminal.sandbox.process import Launcher, Order, Running
from agent.tools.terminal.sandbox.scoped import can_scope

_SECONDS = 20.0
_OUTSIDE = "readable"
UNCONFINED = (
    'tools.sandbox is "none": commands are not confined. They can read and change what the '
    "gateway's user can, its tokens and keys too"
)
_TRY = """\
echo written >probe && echo writes
cat "$1" 2>/dev/null
(exec 5<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null && echo connects
[ "$(id -u)" = 0 ] && echo root
(echo 0 >/proc/self/oom_score_adj) 2>/dev/null && echo lowers
"""
GROUPED = (
    "each command has a cgroup, in which the kernel holds its memory, its processes and its share "
    "of the processors"
)
UNGROUPED = (
    "commands started from here have no cgroup ({why}). Bough measures their memory a few times a "
    "second; a faster command can use up the machine's. Set Delegate= in the systemd unit (see "
    "deploy/README.md). A service logs at its first command what it has"
)


@dataclass(frozen=True, slots=True)
class Probed:
    ok: bool
    text: str
    warns: bool = False
    """Commands run, and less is held than could be."""


async def try_sandbox(*, network: bool) -> Probed:
    """A real command in a real sandbox, in a folder of its own."""

    def make(place: Place) -> Launcher:
        return Bubblewrap(look(), place, Limits(), network, delegated=groups())

    said = await _said(make)
    if isinstance(said, Probed):
        return said
    return await asyncio.to_thread(_judged, said, network)


async def try_without() -> Probed:
    """A real command without a sandbox."""

    def make(place: Place) -> Launcher:
        return Unconfined(without(), place, Limits(), delegated=groups())

    said = await _said(make)
    if isinstance(said, Probed):
        return said
    if "writes" not in said:
        return Probed(False, "commands cannot write their workspace")
    return Probed(True, UNCONFINED, warns=True)


async def try_groups() -> Probed:
    """Whether the kernel counts for each command what it takes. Without, commands are run all the
    same: no fault."""
    found = await asyncio.to_thread(delegated)
    if isinstance(found, Delegated):
        return Probed(True, GROUPED)
    return Probed(True, UNGROUPED.format(why=found), warns=True)


async def _said(make: Callable[[Place], Launcher]) -> list[str] | Probed:
    """The words of a command that tries things; else why it could not be run."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="bough-probe-"))
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return (await _tried(make, folder, server.getsockname()[1])).split()
    except (ToolError, WorkspaceError) as error:
        return Probed(False, str(error))
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _tried(make: Callable[[Place], Launcher], folder: Path, port: int) -> str:
    secret = folder / "secret"
    await asyncio.to_thread(secret.write_text, f"{_OUTSIDE}\n")
    await asyncio.to_thread(folder.chmod, 0o711)
    place = await asyncio.to_thread(prepare, folder / "workspace", (), ())
    launcher = await asyncio.to_thread(make, place)
    order = Order(_TRY, (str(secret), str(port)), place.root, {}, _SECONDS, place.root)
    running = Running(order, Limits(), Output(Limits().kept))
    ended = await running.run(launcher)
    if ended.why:
        raise ToolError(f"a command was ended, because {ended.why}")
    return running.output.whole().decode(errors="replace")


def _judged(said: list[str], network: bool) -> Probed:
    faults = []
    if "writes" not in said:
        faults.append("the workspace cannot be written")
    if _OUTSIDE in said:
        faults.append("files outside the workspace can be read")
    if "root" in said:
        faults.append("commands run as root")
    if "lowers" in said:
        faults.append("commands can have others ended in their place where memory runs out")
    if ("connects" in said) is not network:
        faults.append("there is no network" if network else "there is a network")
    if faults:
        return Probed(False, f"the sandbox does not hold what it promises: {', '.join(faults)}")
    reach = "with the network" if network else "without a network"
    if network and not can_scope(look().bubblewrap):
        reach += " and the machine's abstract Unix sockets (only Linux 6.12 withholds those)"
    text = f"commands run in bubblewrap, {reach}; nothing outside the workspace was readable"
    if seccomp.program(platform.machine()) is None:
        text += f"; no system calls are refused: there is no filter for {platform.machine()}"
    return Probed(True, text)
