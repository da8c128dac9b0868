"""`bough run` as people run it: a real process, to be stopped, killed and started again.

In tests:

    config = write_config(folder, telegram={...}, models={...})
    async with GatewayProcess(config) as gateway:
        ...
        await gateway.kill()
        await gateway.start()
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.forked_process import ForkedProcess

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
"""Seconds until a process that is waited for is a failure."""


class GatewayFailed(Exception):
    """The process ended, or took too long, instead of getting ready. The text is its log."""


class GatewayProcess:
    """One gateway at a time, with one configuration. Whatever runs at the end of the block is
    killed, and its log printed where the block failed."""

    def __init__(
        self,
        config: Path,
        *arguments: str,
        forked: bool = False,
        module: str = "gateway",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`arguments` come after the command's name, as in `run --verbose`. `forked`: it does not
        import everything anew, and is ready much sooner. `module`: what is run instead of
        Bough's own, where it is not forked. `environment` comes on top of that of the tests."""
        self.config = config
        self._arguments = ("run", "--config", str(config), *arguments)
        self._forked = forked
        self._module = module
        self._environment = environment or {}
        self._process: asyncio.subprocess.Process | ForkedProcess | None = None
        self._reader: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[bool] | None = None
        """False where it ended before."""
        self.log: list[str] = []
        """The lines that were logged, by all processes so far."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.running:
            await self.kill()
        if error is not None:
            print("\n".join(self.log))

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it and wait until it is ready to receive. GatewayFailed where it does not get so
        far."""
        await self.launch()
        assert self._ready is not None
        try:
            async with asyncio.timeout(PATIENCE):
                ready = await self._ready
        except TimeoutError:
            await self.kill()
            raise GatewayFailed("\n".join(self.log)) from None
        if not ready:
            await self.wait()
            raise GatewayFailed("\n".join(self.log))

    async def launch(self) -> None:
        """Start it without waiting for anything."""
        assert not self.running
        self._ready = asyncio.get_running_loop().create_future()
        environment = {name: text for name, text in os.environ.items() if name[:6] != "BOUGH_"}
        environment |= {"PYTHONPATH": str(ROOT), **self._environment}
        begin = ForkedProcess.start if self._forked else partial(_execute, self._module)
        self._process = await begin(self._arguments, self.config.parent, environment)
        reading = self._read(self._process, self._ready)
        self._reader = asyncio.create_task(reading, name="gateway's log")

    async def kill(self) -> None:
        """SIGKILL."""
        self._signal(signal.SIGKILL)
        await self.wait()

    def terminate(self) -> None:
        """SIGTERM. `wait` gives the exit status."""
        self._signal(signal.SIGTERM)

    def freeze(self) -> None:
        """SIGSTOP: it stands still until `thaw`, and does not know of it."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    async def wait(self, patience: float = PATIENCE) -> int:
        """The exit status, once it has ended and its log is read. TimeoutError after `patience`
        seconds."""
        assert self._process is not None and self._reader is not None
        async with asyncio.timeout(patience):
            status = await self._process.wait()
            await self._reader
        return status

    def hang_up(self) -> None:
        """SIGHUP."""
        self._signal(signal.SIGHUP)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    async def _read(
        self, process: asyncio.subprocess.Process | ForkedProcess, ready: asyncio.Future[bool]
    ) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.log.append(line.decode().rstrip())
            if "Ready: " in self.log[-1] and not ready.done():
                ready.set_result(True)
        if not ready.done():
            ready.set_result(False)


async def _execute(
    module: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


def write_config(folder: Path, **sections: Mapping[str, Any]) -> Path:
    """A bough.toml of these sections. The database is in the same folder, where none is named."""
    storage = {"storage": {"url": f"sqlite:///{folder}/bough.db"}}
    lines = [f"{name} = {_toml(value)}" for name, value in (storage | sections).items()]
    path = folder / "bough.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_rules(folder: Path, rules: list[dict[str, Any]]) -> str:
    """The name of a model that follows these rules (see agent.models.scripted)."""
    path = folder / "rules.yaml"
    path.write_text(json.dumps({"rules": rules}), encoding="utf-8")  # JSON is YAML too
    return f"scripted:{path}"


def _toml(value: object) -> str:
    match value:
        case Mapping():
            pairs = (f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return json.dumps(value)  # strings, numbers and booleans are written alike
