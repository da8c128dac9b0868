"""One command, from its start to its end: it is started, heard, watched, and ended with all that it
began. Whatever it does, nothing of it is left when `run` returns, or is cancelled."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from agent.errors import ToolError
from agent.fairness import FairThreads
from agent.tools.base import Changed
from agent.tools.terminal.sandbox import usage
from agent.tools.terminal.sandbox.cache import MOST_FILES, too_large
from agent.tools.terminal.sandbox.cgroup import Group, free_memory, free_processes, own
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.quota import Quotas, Stored

TOLD_LIMIT = 262_144
"""Bytes that are read of what a command says of its end."""
BEGAN = b"began\0"
"""What it says first, once its own shell runs."""

WATCH_EVERY = 0.25
CACHE_EVERY = 8
"""Looks at a command for each one at its cache, which takes longer."""
_WATCH_SOON = 0.05
_FASTEST = 4e9
"""Bytes a second that commands together write at most: what they write goes to memory first."""
_GROWS = 1 << 20
"""Bytes by which a workspace over its quota may grow: folders, and files without content."""
_FEWER = 100
"""Files that it may make then."""
_TRUSTED = 60.0
"""Seconds for which a look at a workspace is trusted, while a command runs there."""
_DISKS = ThreadPoolExecutor(2, thread_name_prefix="bough-disks")
"""Looks at disks. Its own threads: a look that waits for a shared one comes too late."""
WATCH_CLOSELY = 0.05
"""Seconds between looks; the second while memory is getting short."""
_CHUNK = 65_536
_FAST = 20_000_000
"""Bytes a second that are taken from a command: one that says more waits."""
_PAUSE = 0.05
"""Seconds between looks at what a command says of its end, once that is too much."""
_INFO_LIMIT = 65_536
_STARTING = 1.0
"""Seconds that bubblewrap may take until it says which process is the first."""
_LAST_WAIT = 5.0
"""Seconds for the last output of what was killed."""
_WATCHES = FairThreads(4, "commands that are watched")
"""Of their own: whatever else waits, a command that takes too much is seen."""


class SandboxError(ToolError):
    """The command could not begin: the sandbox cannot be set up. The text says why."""


@dataclass(frozen=True, slots=True)
class Started:
    """A process that waits for the word to begin."""

    process: asyncio.subprocess.Process
    info: int
    """To read which process is the first of the command's."""
    told: int
    """To read what the command says of itself."""
    go: int
    group: Group | None = None


class Launcher(Protocol):
    def start(self, order: "Order") -> AbstractAsyncContextManager[Started]:
        """Start it; the descriptors are closed behind the block."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run."""

    line: str
    arguments: tuple[str, ...]
    """Of the line, as $1 and so on."""
    directory: Path
    environment: dict[str, str]
    seconds: float
    workspace: Path
    cache: Path | None = None
    stored: Stored = field(default_factory=Stored)
    """What the workspace takes before it begins."""
    changed: Callable[[], tuple[str, ...]] | None = None
    """Asked right before the command begins: what it was approved with, and is another by now.
    Blocks."""


@dataclass(frozen=True, slots=True)
class Ended:
    status: int | None
    """Exit status, 128 and the signal's number where a signal ended it; None where we did."""
    why: str
    """Why it was ended, "" where it ended by itself."""
    seconds: float
    told: bytes
    """What it said of its end; see agent.tools.terminal.shell."""
    full: bool = False
    """It was ended because of what it stored."""


@dataclass
class Running:
    """A command that runs. `run` is called once; the rest may be called while it does."""

    order: Order
    limits: Limits
    output: Output
    quotas: Quotas = field(default_factory=lambda: Quotas(None))
    given: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the word to begin was given."""
    _why: str = field(default="", init=False)
    _full: bool = field(default=False, init=False)
    _killed: bool = field(default=False, init=False)
    _ask: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _changed: tuple[str, ...] = field(default=(), init=False)

    def end(self, why: str) -> None:
        """Ask it to end, and end it soon after."""
        self._why = self._why or why
        self._ask.set()

    async def run(self, launcher: Launcher) -> Ended:
        """Raises SandboxError, and Changed. Cancelled, the command is killed first."""
        began = time.monotonic()
        async with launcher.start(self.order) as started:
            told, first = _Collected(TOLD_LIMIT), _Collected(_INFO_LIMIT)
            told.known.set()  # the command writes it: it names no process, and is not read for one
            async with _reading(started.told, told), _reading(started.info, first):
                await self._to_its_end(started, first)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_WAIT):
                        await told.ended.wait()
            if started.group is not None and not self._why:
                self._why = await asyncio.to_thread(started.group.out_of_memory)
        if self._changed:
            raise Changed(self._changed)
        self._refuse_unless_begun(bytes(told.data), started.process.returncode)
        status = None if self._why else started.process.returncode
        seconds = time.monotonic() - began
        return Ended(status, self._why, seconds, bytes(told.data), self._full)

    def _refuse_unless_begun(self, told: bytes, status: int | None) -> None:
        if told.startswith(BEGAN) or self._why:
            return
        said = self.output.whole()[:2_000].decode(errors="replace").strip()
        raise SandboxError(
            f"the command was not run, because its sandbox could not be set up "
            f"({said or f'exit status {status}'}); whoever runs the gateway can ask `bough doctor`"
        )

    async def _to_its_end(self, started: Started, first: "_Collected") -> None:
        """Until the process and all output have ended, or it had to be ended."""
        process = started.process
        assert process.stdout is not None
        hearing = asyncio.create_task(self._hear(process.stdout))
        ending = asyncio.create_task(_ending(process, hearing))
        asked = asyncio.create_task(self._ask.wait())
        others = [
            asyncio.create_task(self._begin(started, first)),
            asyncio.create_task(self._watch(first, started.group)),
            asyncio.create_task(self._watch_disk(first)),
            asyncio.create_task(self._watch_workspace(first)),
        ]
        try:
            await asyncio.wait(
                [ending, asked],
                timeout=self.order.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not ending.done() and not asked.done():
                self.end(f"its time of {self.order.seconds:g} s was over")
            if self._why and not self._full and first.process is not None:
                await _asked_to_end(first.process, ending, self.limits.grace)
        finally:
            self._killed = True
            await asyncio.shield(_kill(process, first))
            await asyncio.shield(asyncio.wait([ending], timeout=_LAST_WAIT))
            results = await _put_away(hearing, ending, asked, *others)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _begin(self, started: Started, first: "_Collected") -> None:
        """Give the word once it is known whom to end: from then on, nothing outlives us."""
        await first.known.wait()
        if first.process is not None:
            if self.order.changed is not None:
                self._changed = await asyncio.to_thread(self.order.changed)
                if self._changed:
                    return self.end(str(Changed(self._changed)))
            with suppress(BrokenPipeError):
                os.write(started.go, b"go\n")
            self.given.set()

    async def _hear(self, stream: asyncio.StreamReader) -> None:
        """To the end: what is too much is thrown away, for the pipe must be empty at the end."""
        while data := await stream.read(_CHUNK):
            if self.output.total <= self.limits.output:
                self.output.add(data)
            if self.output.total > self.limits.output:
                self.end(f"it said more than {self.limits.output:,} bytes")
            if self.output.total > self.limits.kept and not self._killed:
                await asyncio.sleep(len(data) / _FAST)

    async def _watch(self, first: "_Collected", group: Group | None) -> None:
        await first.known.wait()
        looks = 0
        while first.process is not None:
            whose = str(self.order.workspace)
            free = await _WATCHES.run(whose, _free_memory)
            why = await _WATCHES.run(whose, partial(self._too_much, first.process, group, free))
            if not why and looks % CACHE_EVERY == 0:
                why = await _WATCHES.run(whose, self._too_much_kept)
            if why:
                return self.end(why)
            looks += 1
            ample = free > 8 * self.limits.free_memory
            await asyncio.sleep(WATCH_EVERY if ample else WATCH_CLOSELY)

    def _too_much_kept(self) -> str:
        most = self.limits.cache
        if self.order.cache is None or not too_large(self.order.cache, most):
            return ""
        return f"it kept more than {most >> 20:,} MB, or {MOST_FILES:,} files, in its cache"

    def _too_much(self, process: int, group: Group | None, free: int) -> str:
        limits = self.limits
        if free < limits.free_memory:
            return "the machine ran short of memory"
        if usage.free_connections() < limits.free_connections:
            return "the machine ran short of memory for connections"
        if free_processes(own()) < limits.free_processes:
            return "the machine ran short of processes"
        if group is None and (why := self._too_much_itself(process)):
            return why
        return ""

    def _too_much_itself(self, process: int) -> str:
        """What the kernel sees to where the command has a cgroup."""
        limits = self.limits
        found = usage.usage(process, limits.memory)
        if found.memory > limits.memory:
            return f"it took more than {limits.memory >> 20:,} MB of memory"
        if found.processes > limits.processes + 16:
            return f"it had more than {limits.processes} processes"
        if found.descriptors > limits.all_descriptors:
            return f"it had more than {limits.all_descriptors:,} files and sockets open"
        return ""

    async def _watch_disk(self, first: "_Collected") -> None:
        """Looked at the more often the less room there is: a command fills a disk in a moment."""
        await first.known.wait()
        best = most_files = 0
        while first.process is not None:
            free, files = await asyncio.get_running_loop().run_in_executor(_DISKS, self._room)
            best, most_files = max(best, free), max(most_files, files)
            if self.limits.file == 0 and (free < best - _GROWS or files < most_files - _FEWER):
                # It began on a full disk: what was freed since then is for others.
                return self._end_at_once("the disk is almost full and it took some of the rest")
            if free < self.limits.free_disk:
                return self._end_at_once("the machine ran short of disk space")
            if files < self.limits.free_files:
                return self._end_at_once(
                    "the machine ran short of room for files: there are too many"
                )
            pause = (free - self.limits.free_disk) / _FASTEST
            await asyncio.sleep(min(max(pause, _WATCH_SOON), WATCH_EVERY))

    def _room(self) -> tuple[int, int]:
        return usage.free_disk(self.order.workspace), usage.free_files(self.order.workspace)

    async def _watch_workspace(self, first: "_Collected") -> None:
        """Ends what makes its workspace larger than it may be. One that was too large before may be
        worked in, so that there is a way to make it smaller."""
        await first.known.wait()
        before = self.order.stored
        was_over = bool(self.quotas.why_over(before))
        while first.process is not None and self.quotas.most is not None:
            with suppress(OSError):  # a workspace that its owner closed: it is opened again
                stored = await self.quotas.stored(self.order.workspace, trusted=_TRUSTED)
                why = self.quotas.why_over(stored)
                if why and not (was_over and stored.size <= before.size + _GROWS):
                    return self._end_at_once(why)
            await asyncio.sleep(WATCH_EVERY)

    def _end_at_once(self, why: str) -> None:
        """Without the time that it would use to store more."""
        self._full = True
        self.end(why)


def _free_memory() -> int:
    """Bytes that are left to the gateway: of the machine's, and of what its cgroups may have."""
    return min(usage.free_memory(), free_memory(own()))


class _Collected(asyncio.Protocol):
    """What comes through a pipe, up to a limit: what is more is thrown away, slowly."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pipe: asyncio.ReadTransport | None = None
        self.data = bytearray()
        self.ended = asyncio.Event()
        self.known = asyncio.Event()
        """What bubblewrap says of the first process is there, or never will be."""
        self.process: int | None = None
        self.handle: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._pipe = transport

    def data_received(self, data: bytes) -> None:
        self.data += data[: self._limit - len(self.data)]
        if len(self.data) == self._limit and self._pipe is not None:
            self._pipe.pause_reading()
            asyncio.get_running_loop().call_later(_PAUSE, self._pipe.resume_reading)
        if not self.known.is_set() and b"}" in data:
            self._look()

    def connection_lost(self, _: Exception | None) -> None:
        self.known.set()
        self.ended.set()

    def _look(self) -> None:
        with suppress(ValueError, KeyError, TypeError, ProcessLookupError):
            process = int(json.loads(bytes(self.data))["child-pid"])
            self.handle = os.pidfd_open(process)
            self.process = process
            self.known.set()


@asynccontextmanager
async def _reading(descriptor: int, into: _Collected) -> AsyncIterator[None]:
    pipe = os.fdopen(os.dup(descriptor), "rb", 0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: into, pipe)
    try:
        yield
    finally:
        transport.close()
        if into.handle is not None:
            os.close(into.handle)
            into.handle = None


async def _ending(process: asyncio.subprocess.Process, hearing: asyncio.Task[None]) -> None:
    """Once it has ended and its output is heard, unless something that got away holds that open."""
    await process.wait()
    await asyncio.wait([hearing], timeout=_LAST_WAIT)


async def _put_away(*tasks: asyncio.Task[Any]) -> list[object]:
    for task in tasks:
        task.cancel()
    return list(await asyncio.gather(*tasks, return_exceptions=True))


async def _asked_to_end(process: int, ending: asyncio.Task[None], seconds: float) -> None:
    """SIGTERM to the command's own: what holds the sandbox would end them all at once."""
    for each in await _WATCHES.run("", partial(_own, process)):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGTERM)
    await asyncio.wait([ending], timeout=seconds)


def _own(process: int) -> list[int]:
    """Blocks."""
    found = usage.descendants(process)
    return [each for each in found if each != process and not usage.is_bubblewrap(each)]


async def _kill(process: asyncio.subprocess.Process, first: _Collected) -> None:
    """All of it: with the first process of a sandbox, the kernel ends the others. The supervisor
    is asked, because what it looks after would outlive it."""
    with suppress(TimeoutError):
        await asyncio.wait_for(first.known.wait(), _STARTING)
    if first.process == process.pid:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _LAST_WAIT)
    elif first.handle is not None:
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(first.handle, signal.SIGKILL)
        # Bubblewrap does not wait for what its first process leaves behind.
        with suppress(TimeoutError):
            await asyncio.wait_for(_gone(first.handle), _LAST_WAIT)
    await kill_group(process)


async def _gone(handle: int) -> None:
    """Once a process has ended; of a sandbox's first, all others have by then."""
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(handle)


async def kill_group(process: asyncio.subprocess.Process) -> None:
    """The process and those of its group: bubblewrap's second waits for the first, and would for
    ever, until it is the first of its sandbox."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=_LAST_WAIT)
