"""Programs under measurement, each in a process of its own."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
"""Seconds until something that never comes is a fault."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed afterwards. In the project, because /tmp is memory on many
    machines, where what is measured here, a flush to the disk, costs nothing."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=PROJECT) as folder:
        yield Path(folder)


def environment() -> dict[str, str]:
    """Ours, except that compiled bytecode is kept and no key of a configuration is set."""
    dropped = ("PYTHONDONTWRITEBYTECODE",)
    return {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and not name.startswith("BOUGH_")
    }


@asynccontextmanager
async def running(*command: str | Path) -> AsyncIterator[None]:
    """A program that runs as long as the block; what it logs is shown where the block fails."""
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=PROJECT,
            env=environment(),
        )
        try:
            yield
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace"))
            raise
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def gateway(config: Path) -> tuple[str, ...]:
    """The command that serves a configuration."""
    return sys.executable, "-m", "gateway", "run", "--config", str(config)


def write_config(file: Path, sections: Mapping[str, Mapping[str, Any]]) -> Path:
    """TOML of sections of texts, numbers and lists, whose JSON is the same."""
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file
