"""Real MCP servers for tests, and what reaches them as a gateway does."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.settings import McpConfig
from agent.tools.base import Call, Done, Setting, Tool
from agent.tools.files.workspace import Workspace
from agent.tools.mcp.server import State
from agent.tools.mcp.servers import Servers
from storage.records.entries import Json

ROOT = Path(__file__).parents[2]
LIAR = ROOT / "tests" / "stand_ins" / "mcp_liar.py"
PATIENCE = 60.0


def stdio_server(**fields: Any) -> McpConfig:
    """The stand-in that is made with the SDK, as a program."""
    command = {"command": sys.executable, "args": ("-m", "tests.stand_ins.mcp_server")}
    env = {"env": {"PYTHONPATH": str(ROOT)}}
    return McpConfig.model_validate({**command, **env, **fields})


def liar(fault: str, **fields: Any) -> McpConfig:
    """The stand-in that does one thing wrong."""
    args = ("-I", "-S", str(LIAR), fault)
    return McpConfig.model_validate({"command": sys.executable, "args": args, **fields})


@asynccontextmanager
async def http_server(*options: str) -> AsyncIterator[str]:
    """Its URL, without a path."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.stand_ins.mcp_server", "--http", *options),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Bench:
    """One server, called as a model calls it."""

    def __init__(self, servers: Servers, root: Path) -> None:
        self.servers = servers
        self.root = root

    @property
    def state(self) -> State:
        return self.servers.states()[0]

    def tools(self, *, child: bool = False, window: int | None = None) -> dict[str, Tool]:
        setting = Setting(1, "telegram:1", child=child, window=window)
        made = self.servers.tools(setting, lambda session: Workspace(self.root / str(session)))
        return {tool.name.partition("__")[2]: tool for tool in made}

    async def call(self, name: str, *, child: bool = False, **arguments: Any) -> Done:
        outcome = await self.tools(child=child)[name].run(made_call(arguments))
        assert isinstance(outcome, Done)
        return outcome

    async def until(self, holds: Callable[[State], bool]) -> State:
        async with asyncio.timeout(PATIENCE):
            while not holds(self.state):
                await asyncio.sleep(0.01)
        return self.state

    def file(self, path: str) -> bytes:
        return (self.root / "1" / path).read_bytes()


@asynccontextmanager
async def serving(config: McpConfig, root: Path, pause: float = 0.05) -> AsyncIterator[Bench]:
    """The server "one", once it was tried for the first time. `pause`: seconds until it is tried
    again, the first time."""
    servers = Servers({"one": config}, first_pause=pause)
    servers.start()
    try:
        await servers.ready({"mcp:one"}, PATIENCE)
        yield Bench(servers, root)
    finally:
        await servers.close()


def made_call(arguments: Json) -> Call:
    return Call("c1", arguments, 1, 7, "telegram:1", "telegram:1")
