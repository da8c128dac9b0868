"""Starts a command: in bubblewrap, or without a sandbox where the operator says so."""

import asyncio
import json
import os
import platform
import shutil
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent.tools.terminal.sandbox import bubblewrap, seccomp
from agent.tools.terminal.sandbox.bubblewrap import BASE, ETC, ETC_OF_NETWORK, Pipes, System
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.place import SYSTEM, Owner, Place
from agent.tools.terminal.sandbox.process import NICE, Order, SandboxError, Started, kill_group
from agent.tools.terminal.sandbox.shown import outermost

SUPERVISOR = Path(__file__).with_name("supervisor.py")
SCOPED = Path(__file__).with_name("scoped.py")
INSTALL = (
    "Commands are not run, because bubblewrap, which confines them, is not there: whoever runs the "
    'gateway should install it (apt-get install bubblewrap), or set [tools] sandbox = "none", with '
    "which commands can read and change whatever the gateway's user can"
)


def look() -> System:
    """What there is. Raises SandboxError where something is missing. Blocks."""
    if sys.platform != "linux":
        raise SandboxError("commands are not run: their sandbox needs Linux")
    found = {name: shutil.which(name) for name in ("bwrap", "setpriv", "bash")}
    if found["bwrap"] is None:
        raise SandboxError(INSTALL)
    if found["bash"] is None:
        raise SandboxError("commands are not run, because bash is not there: install it")
    if os.geteuid() == 0 and found["setpriv"] is None:
        raise SandboxError(
            "commands are not run, because setpriv, with which root's rights are given up, is not "
            "there: install util-linux, or run the gateway as another user"
        )
    shown = [Path(name) for name in SYSTEM if name != "/etc" and os.path.lexists(name)]
    layout = tuple((str(at), str(at.readlink()) if at.is_symlink() else "") for at in shown)
    etc = tuple(name for name in (*ETC, *ETC_OF_NETWORK) if Path("/etc", name).exists())
    return System(found["bwrap"], found["setpriv"] or "", found["bash"], layout, etc)


def without() -> str:
    """The shell for commands without a sandbox. Raises SandboxError where there is none."""
    bash = shutil.which("bash")
    if sys.platform != "linux" or bash is None:
        raise SandboxError("commands are not run: they need Linux, and bash")
    return bash


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    system: System
    place: Place
    limits: Limits
    network: bool
    base: Mapping[str, str] = field(default_factory=lambda: BASE)
    """What every command finds in its environment."""

    @asynccontextmanager
    async def start(self, order: Order) -> AsyncIterator[Started]:
        """See Launcher."""
        with ExitStack() as kept, ExitStack() as handed:
            info, said = _pipe(kept, handed)
            told, tells = _pipe(kept, handed)
            waits, go = _pipe(handed, kept)
            owner = self.place.owner or Owner(os.geteuid(), os.getegid())
            filter_ = seccomp.program(platform.machine())
            pipes = Pipes(
                arguments=_file(handed),
                inner_arguments=_file(handed),
                users=_file(handed, bubblewrap.users(owner).encode()),
                groups=_file(handed, bubblewrap.groups(owner).encode()),
                filter=_file(handed, filter_) if filter_ is not None else None,
                info=said,
            )
            self._write_arguments(pipes, order)
            inside = self._inside(order, waits, tells)
            command = bubblewrap.command_line(self.system, pipes, inside, self.place.owner)
            if self.network:
                command = [sys.executable, "-I", "-S", str(SCOPED), *command]
            passed = [*_numbers(pipes, inner=self.place.owner is not None), waits, tells]
            started = Started(await _process(command, passed), info, told, go)
            handed.close()
            yield started

    def _write_arguments(self, pipes: Pipes, order: Order) -> None:
        inner = self.place.owner is not None
        outer = bubblewrap.arguments(
            self.system, pipes, self.place, self.limits, network=self.network
        )
        last = bubblewrap.last_arguments(pipes, {**self.base, **order.environment}, inner=inner)
        _fill(pipes.arguments, _joined(outer if inner else [*outer, *last]))
        _fill(pipes.inner_arguments, _joined(last if inner else []))

    def _inside(self, order: Order, waits: int, tells: int) -> list[str]:
        script = bubblewrap.script(waits, tells, self.limits)
        return _shell(self.system.bash, script, order, counted=True)


@dataclass(frozen=True, slots=True)
class Unconfined:
    """As much of it as there is without a sandbox: a clean environment, limits, and an end for all
    that a command begins."""

    bash: str
    place: Place
    limits: Limits
    base: Mapping[str, str] = field(default_factory=lambda: BASE)

    @asynccontextmanager
    async def start(self, order: Order) -> AsyncIterator[Started]:
        """See Launcher."""
        with ExitStack() as kept, ExitStack() as handed:
            info, said = _pipe(kept, handed)
            told, tells = _pipe(kept, handed)
            waits, go = _pipe(handed, kept)
            script = bubblewrap.script(waits, tells, self.limits)
            inside = _shell(self.bash, script, order, counted=False)
            owner = self.place.owner
            user, group = (str(owner.user), str(owner.group)) if owner else ("-", "-")
            given = _file(handed, self._given(order))
            about = [str(said), str(os.getpid()), user, group, str(given)]
            program = [sys.executable, "-I", "-S", str(SUPERVISOR), *about]
            process = await _process([*program, *inside], [said, waits, tells, given])
            started = Started(process, info, told, go)
            handed.close()
            yield started

    def _given(self, order: Order) -> bytes:
        """Through a file: all users read a program's arguments, and an environment is private."""
        place = self.place
        given = {
            "environment": {**self.base, **order.environment},
            "writable": [str(path) for path in (place.root, place.cache) if path is not None],
            "shown": [str(path) for path in outermost(place.shown)],
        }
        return json.dumps(given).encode()


def _shell(bash: str, script: str, order: Order, *, counted: bool) -> list[str]:
    told = [order.line, str(order.directory), str(order.workspace), "1" if counted else ""]
    return [bash, "-c", script, "bash", *told, *order.arguments]


async def _process(command: list[str], passed: Iterable[int]) -> asyncio.subprocess.Process:
    making = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=tuple(passed),
            env={"PATH": BASE["PATH"]},
            cwd="/",
            start_new_session=True,
        )
    )
    try:
        process = await asyncio.shield(making)
    except asyncio.CancelledError:
        # Else asyncio would kill the process, but not what that has begun.
        with suppress(OSError):
            await kill_group(await making)
        raise
    except OSError as error:
        raise SandboxError(f"the command was not run: {command[0]}: {error.strerror}") from error
    with suppress(ProcessLookupError, PermissionError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
    return process


def _numbers(pipes: Pipes, *, inner: bool) -> list[int]:
    """Those that somebody reads or writes, and closes: others the command would inherit."""
    every = [pipes.arguments, pipes.users, pipes.groups, pipes.info]
    every += [pipes.inner_arguments] if inner else []
    return every + ([pipes.filter] if pipes.filter is not None else [])


def _pipe(reads: ExitStack, writes: ExitStack) -> tuple[int, int]:
    """A pipe, each end closed with its stack."""
    ends = os.pipe2(os.O_CLOEXEC)
    reads.callback(os.close, ends[0])
    writes.callback(os.close, ends[1])
    return ends


def _file(kept: ExitStack, data: bytes = b"") -> int:
    """A file in memory, read from its beginning."""
    number = os.memfd_create("bough", os.MFD_CLOEXEC)
    kept.callback(os.close, number)
    _fill(number, data)
    return number


def _fill(number: int, data: bytes) -> None:
    os.pwrite(number, data, 0)


def _joined(arguments: list[str]) -> bytes:
    return b"".join(os.fsencode(argument) + b"\0" for argument in arguments)
