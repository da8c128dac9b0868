"""An MCP server made with the official SDK: over stdio, or HTTP on a free port, which it prints.

    python -m tests.stand_ins.mcp_server [--http] [--json] [--sse] [--key KEY] [--slow SECONDS]

Its tools do one thing each: answer, fail, draw, link, change the list, wait, fill the line.
"""

import argparse
import asyncio
import base64
import os
import signal
import socket
import sys
import time
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
READS = ToolAnnotations(read_only_hint=True)

server = MCPServer("stand-in", version="1.0")


@server.tool(annotations=READS)
def look(path: str, depth: int = 1) -> str:
    """Look something up."""
    return f"{path} at depth {depth}"


@server.tool()
def post(text: str) -> str:
    """Say something in public."""
    print(f"posted {text}", file=sys.stderr, flush=True)
    return f"posted: {text}"


@server.tool()
def environment() -> dict[str, str]:
    """Everything in the environment."""
    return dict(os.environ)


@server.tool()
def fail(reason: str) -> CallToolResult:
    """Say that it failed."""
    return CallToolResult(content=[TextContent(type="text", text=reason)], is_error=True)


@server.tool()
def draw() -> CallToolResult:
    """A picture, which claims to be something else, and resources."""
    image = base64.b64encode(PIXEL).decode()
    blob = base64.b64encode(b"%PDF-1.7 of a sort").decode()
    return CallToolResult(
        content=[
            TextContent(type="text", text="here"),
            ImageContent(type="image", data=image, mime_type="text/html"),
            EmbeddedResource(
                type="resource",
                resource=TextResourceContents(
                    uri="note://1", text="a note", mime_type="text/plain"
                ),
            ),
            EmbeddedResource(
                type="resource", resource=BlobResourceContents(uri="file:///x.pdf", blob=blob)
            ),
            ResourceLink(type="resource_link", name="the page", uri="https://example.org/page"),
        ],
    )


@server.tool()
async def grow(tool: str, ctx: Context) -> str:
    """Another tool from now on."""

    def added() -> str:
        """It was added."""
        return f"I am {tool}"

    server.add_tool(added, name=tool)
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
async def wait(seconds: float, mark: str) -> str:
    """Wait; the file `mark` says so, and where it is cancelled, that."""
    Path(mark).write_text("waiting", encoding="utf-8")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        Path(mark).write_text("cancelled", encoding="utf-8")
        raise
    return "waited"


@server.tool()
async def climb(steps: int, pause: float, ctx: Context) -> str:
    """Report each step."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        await asyncio.sleep(pause)
    return "climbed"


@server.tool()
def fill(size: int) -> str:
    """So many bytes."""
    return "x" * size


@server.tool()
def die() -> str:
    """End at once, by force."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


class _Keyed:
    """Takes requests with the key alone; what is wrong with the others, the status says."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        answer: Response | None = None
        if request.url.path == "/away":
            answer = RedirectResponse("http://127.0.0.2:9/mcp", status_code=307)
        elif request.url.path == "/moved":
            answer = RedirectResponse("/mcp", status_code=307)
        elif self._key and request.headers.get("authorization") != f"Bearer {self._key}":
            answer = PlainTextResponse("who are you?", status_code=401)
        elif request.url.path == "/zipped":
            answer = Response(
                b"\x1f\x8b", headers={"content-encoding": "gzip"}, media_type="application/json"
            )
        await (answer or self._app)(scope, receive, send)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--json", action="store_true", help="answers as JSON, not as events")
    parser.add_argument("--sse", action="store_true", help="the transport of 2024, at /sse")
    parser.add_argument("--slow", type=float, default=0.0, help="seconds until it reads")
    parser.add_argument("--key", default="")
    given = parser.parse_args()
    time.sleep(given.slow)
    if not given.http:
        server.run("stdio")
        return
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    made = server.sse_app() if given.sse else None
    made = made or server.streamable_http_app(json_response=given.json)
    app = _Keyed(made, given.key)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
