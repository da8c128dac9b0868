"""Work on a long session in a process of its own, so that nobody waits for the interpreter that it
keeps busy. What it gives comes in frames, each with its length before it; what it says besides, of
faults, stands in our log."""

import asyncio
import logging
import os
import resource
import struct
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import BinaryIO

log = logging.getLogger(__name__)

PATIENCE = 600.0
"""Seconds until the next frame, at most."""
MEMORY = 4_000_000_000
"""Bytes of address space. Of a file with 20 MB the worst needs less."""
CPU_SECONDS = 300
_POLITE = 10
_PIECE = 262_144
"""Bytes that are handed over at once."""
_LENGTH = struct.Struct(">I")
_SAID = 4_000
"""Bytes that are kept of what it says of faults, the last ones."""


class ChildFailed(Exception):
    """It ended before it was done."""


class Frames:
    """What a child gives."""

    def __init__(self, output: asyncio.StreamReader) -> None:
        self._output = output

    async def next(self) -> bytes:
        """ChildFailed where no other comes."""
        try:
            async with asyncio.timeout(PATIENCE):
                (length,) = _LENGTH.unpack(await self._output.readexactly(_LENGTH.size))
                return await self._output.readexactly(length)
        except (asyncio.IncompleteReadError, TimeoutError) as error:
            raise ChildFailed from error


@asynccontextmanager
async def child(
    module: str, given: bytes, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Frames]:
    """Run a module as a program that is given this on its standard input. It ends with the block,
    and where this process does: it finds its pipes closed then. Nothing of our environment is
    passed on but what is named: there are secrets in it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-W", "ignore", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment or {}),
        start_new_session=True,  # Ctrl-C is for the gateway alone
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stderr is not None
    said = asyncio.create_task(_end_of(process.stderr), name=f"what {module} says")
    try:
        with suppress(ConnectionError):  # it ended early, which is noticed by its frames
            for at in range(0, len(given), _PIECE):
                process.stdin.write(given[at : at + _PIECE])
                await process.stdin.drain()
        process.stdin.close()
        yield Frames(process.stdout)
    finally:
        # As in agent.tools.web.reading.process: to signal a process that ends by itself could take
        # its exit status away from asyncio.
        if not process.stdout.at_eof():
            with suppress(ProcessLookupError):
                process.kill()
            while await process.stdout.read(_PIECE):
                pass  # what is left must be taken out, or the end is not seen
        status = await process.wait()
        if faults := await said:
            log.warning("%s (status %d) says: %s", module, status, faults)


async def _end_of(output: asyncio.StreamReader) -> str:
    """All is taken out, so that nobody waits to say more."""
    kept = b""
    while piece := await output.read(_PIECE):
        kept = (kept + piece)[-_SAID:]
    return kept.decode(errors="replace").strip()


def bounded() -> None:
    """In the child: give way to conversations, and come to an end."""
    os.nice(_POLITE)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def write_frame(out: BinaryIO, data: bytes | bytearray) -> None:
    out.write(_LENGTH.pack(len(data)))
    out.write(data)
