"""A streamed answer through litellm: its first words, and what each piece costs."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import median

import httpx

from agent.models.base import ModelSpec, Request
from agent.models.litellm.model import LitellmModel
from storage.records.entries import message
from tests.benchmarks.figures import Figure

ROUNDS = 60
PIECES = 5_000
END = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def _piece(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode()


class _Server:
    """Answers every request with the same bytes, and notes when."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.url = ""
        self.sent = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
        lines = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        self.sent = time.perf_counter()
        writer.write(lines + self._answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def _serving(answer: bytes) -> AsyncIterator[_Server]:
    served = _Server(answer)
    async with await asyncio.start_server(served.serve, "127.0.0.1") as server:
        served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield served


async def _cpu(work: Callable[[], Awaitable[object]], rounds: int = 5) -> float:
    """Seconds of it, in the median."""
    spent: list[float] = []
    for _ in range(rounds):
        before = time.process_time()
        await work()
        spent.append(time.process_time() - before)
    return median(spent)


async def run() -> list[Figure]:
    model = LitellmModel()

    async def ask(server: _Server) -> float:
        """Seconds from the server's first byte to the first words."""
        heard: list[float] = []
        spec = ModelSpec("parent", "openai/m", api_base=server.url, api_key="none")
        told = lambda _: heard.append(time.perf_counter())  # noqa: E731
        await model.complete(Request(spec, [message("user", "hi")], heard=told))
        return heard[0] - server.sent

    async def bare(server: _Server) -> None:
        async with (
            httpx.AsyncClient() as client,
            client.stream("POST", f"{server.url}/chat/completions", json={}) as response,
        ):
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    json.loads(line.removeprefix("data: "))

    async with _serving(_piece("Hello") + END) as server:
        first = [await ask(server) for _ in range(ROUNDS)][10:]
    async with _serving(_piece("four") * PIECES + END) as server:
        ours, peer = await _cpu(lambda: ask(server)), await _cpu(lambda: bare(server))
    return [
        Figure("litellm, streamed: first byte → first words", 1e3 * median(first), "ms", bar=50.0),
        Figure(
            "litellm, streamed: CPU for each piece",
            1e6 * ours / PIECES,
            "µs",
            peer=1e6 * peer / PIECES,
            peer_name="httpx and json",
        ),
    ]
