"""Processes that are forked off one which has imported everything: they start in a fraction of the
time, and are processes of their own otherwise."""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Self

from gateway.__main__ import main
from tests.support.moved_clock import follow

PATIENCE = 90.0
"""Seconds until a command that does not end is a failure."""

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.support.clock_first", "tests.support.preloaded"])

CLOCK = "CLOCK_OF_TESTS"
"""In its environment: the file that says how wrong its clock is; see tests.support.moved_clock."""


class ForkedProcess:
    """What `asyncio.subprocess.Process` is for a program, for `bough`'s command line."""

    def __init__(self, process: ForkServerProcess, output: asyncio.StreamReader) -> None:
        self.stdout = output
        self._process = process
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(process.sentinel, self._end)

    @classmethod
    async def start(
        cls, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> Self:
        receiving, sending = _context.Pipe(duplex=False)
        process = _context.Process(target=_run, args=(arguments, folder, environment, sending))
        await asyncio.to_thread(process.start)  # the first one waits for all the imports
        sending.close()
        output = asyncio.StreamReader()
        pipe = os.fdopen(os.dup(receiving.fileno()), "rb", 0)
        receiving.close()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), pipe
        )
        return cls(process, output)

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    async def wait(self) -> int:
        await self._ended.wait()
        status = self._process.exitcode
        assert status is not None
        return status

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self._ended.set()


async def finished(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str]:
    """A command's exit status, and all that it said, once it has ended by itself."""
    process = await ForkedProcess.start(arguments, folder, environment)
    try:
        async with asyncio.timeout(PATIENCE):
            said = await process.stdout.read()
            return await process.wait(), said.decode()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)


def _run(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], output: Connection
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(output.fileno(), number)
    output.close()
    if CLOCK in environment:
        follow(Path(os.environ.pop(CLOCK)))
    sys.exit(main(list(arguments)))
