"""A server of tools that all rounds use, which notes each time one of them is called."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Outside:
    url: str
    notes: Path

    def owner(self, name: str) -> str:
        """A word by which the calls of a round are told from those of others."""
        return f"of-{name}"

    def posted(self, name: str) -> list[str]:
        """What was posted in a round, each time."""
        begin = f"posted {self.owner(name)}-"
        lines = self.notes.read_text(errors="replace").splitlines()
        return [line.removeprefix("posted ") for line in lines if line.startswith(begin)]


@asynccontextmanager
async def outside(folder: Path) -> AsyncIterator[Outside]:
    notes = folder / "outside.log"
    with notes.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.stand_ins.mcp_server", "--http"),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=file,
        )
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        yield Outside(f"http://127.0.0.1:{port}/mcp", notes)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
