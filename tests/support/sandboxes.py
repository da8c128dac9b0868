"""Real commands in a real sandbox, for tests."""

import asyncio
import concurrent.futures.thread  # noqa: F401 - a user that a test becomes may not read these
import encodings.ascii  # noqa: F401
import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from agent.tools.terminal.sandbox.bubblewrap import environment
from agent.tools.terminal.sandbox.launcher import Bubblewrap, Unconfined, look, without
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.place import prepare
from agent.tools.terminal.sandbox.process import Ended, Launcher, Order, Running, SandboxError

HOW_TO_INSTALL = "apt-get install -y bubblewrap"
MISSING = f"bubblewrap is missing or cannot be used here: {HOW_TO_INSTALL}"
_fork = multiprocessing.get_context("fork")
SMALL = Limits(
    processes=64, memory=256 << 20, file=8 << 20, temporary=8 << 20, output=20_000_000, grace=0.3
)


def need_bubblewrap() -> None:
    """Skips where bubblewrap is missing, but not in CI."""
    try:
        look()
    except SandboxError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{MISSING} ({error})")
        pytest.skip(f"{MISSING} ({error})")


def confined(
    workspace: Path,
    limits: Limits = SMALL,
    *,
    network: bool = False,
    secret: tuple[Path, ...] = (),
    read_only: tuple[Path, ...] = (),
) -> Launcher:
    need_bubblewrap()
    place = prepare(workspace, (), secret, read_only)
    base = environment(place, {}, confined=True)
    return Bubblewrap(look(), place, limits, network, base)


def unconfined(
    workspace: Path, limits: Limits = SMALL, read_only: tuple[Path, ...] = ()
) -> Launcher:
    place = prepare(workspace, (), (), read_only)
    return Unconfined(without(), place, limits, environment(place, {}, confined=False))


def running(
    line: str, workspace: Path, limits: Limits = SMALL, *, seconds: float = 30.0
) -> Running:
    order = Order(line, (), workspace.resolve(), {}, seconds, workspace.resolve())
    return Running(order, limits, Output(limits.kept))


async def ran(
    launcher: Launcher,
    line: str,
    workspace: Path,
    limits: Limits = SMALL,
    *,
    seconds: float = 30.0,
) -> tuple[Ended, str]:
    """How a command ended, and what it said."""
    command = running(line, workspace, limits, seconds=seconds)
    ended = await command.run(launcher)
    return ended, command.output.whole().decode(errors="replace")


def ran_as(
    user: int,
    line: str,
    workspace: Path,
    limits: Limits = SMALL,
    read_only: tuple[Path, ...] = (),
) -> tuple[int | None, str]:
    """Exit status and output of a command that a gateway of an ordinary user runs. For tests that
    run as root."""
    need_bubblewrap()
    receiving, sending = _fork.Pipe(duplex=False)
    given = (user, line, workspace, limits, read_only, sending)
    process = _fork.Process(target=_as, args=given)
    process.start()
    sending.close()
    try:
        found: tuple[int | None, str] = receiving.recv()
    finally:
        process.join()
    return found


def _as(
    user: int,
    line: str,
    workspace: Path,
    limits: Limits,
    read_only: tuple[Path, ...],
    sending: Connection,
) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    launcher = confined(workspace, limits, read_only=read_only)
    ended, said = asyncio.run(ran(launcher, line, workspace, limits))
    sending.send((ended.status, said))


def alive(word: str) -> list[str]:
    """The command lines of other processes with this word in them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if word in line and int(folder.name) != os.getpid():
            found.append(line)
    return found
