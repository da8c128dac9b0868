"""A server that is a program: its process, and its lines as the SDK's messages.

Only `sdk` imports this, late. The SDK's own transport is not used: it holds lines of any length,
gives the server our HOME, USER and SHELL, and leaves it behind where the gateway is killed.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from anyio import BrokenResourceError, ClosedResourceError, create_memory_object_stream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)

from agent.tools.mcp.wire.lines import LineSplitter, TooLong
from agent.tools.mcp.wire.pace import MOST_BYTES, MOST_VALUES, Pace, cost, values

MOST_SKIPPED = 256 * 1024 * 1024
"""Of a line that is too long: a server that goes on after that is ended."""
_CHUNK = 64 * 1024
_QUEUE = 64
"""Messages that wait for a server that does not read."""
_ENDING = 2.0
"""Seconds for a server to end by itself once its input is closed."""
_FORCED = 6.0
"""Seconds more for the guardian, which ends it by force, to be done."""
_FATE = 1.0
"""Seconds for a server that closed its output to end."""
_STDERR_LINE = 500
"""Characters."""
_SEEN = 8
"""Lines at either end of what comes at once that are looked at."""
_KEPT = ("PATH", "LANG")
_GUARDIAN = Path(__file__).with_name("guardian.py")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*[,}]')
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID.pattern)
_ID_LAST = re.compile(
    rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
)

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")

Received = SessionMessage | Exception


@dataclass(frozen=True, slots=True)
class Running:
    received: MemoryObjectReceiveStream[Received]
    send: MemoryObjectSendStream[SessionMessage]
    process: asyncio.subprocess.Process

    async def fate(self) -> str:
        """How it ended, once it closed its output; in words."""
        await _gone(self.process, _FATE)
        match self.process.returncode:
            case None:
                return "it closed its output"
            case 127:
                return "its command was not found"
            case status if status > 128:
                return f"it was ended by signal {status - 128}"
            case status:
                return f"it ended with exit status {status}"


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What a server's process gets: where programs and its home are, its language, and what the
    configuration names. Nothing of ours."""
    found = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"PATH": _PATH, "LANG": "C.UTF-8", "HOME": str(Path.home())} | found | dict(given)


@asynccontextmanager
async def stdio_streams(
    command: Sequence[str], env: Mapping[str, str], said: Callable[[str], None]
) -> AsyncIterator[Running]:
    """The server runs for as long as the context does. `said` is told each line it writes to its
    standard error, cut. OSError where no process can be started."""
    process, life = await _started(command, environment(env))
    received, receive = create_memory_object_stream[Received](0)
    send, to_send = create_memory_object_stream[SessionMessage](_QUEUE)
    server = _Process(process, received, to_send)
    tasks = [
        asyncio.create_task(server.read(), name="mcp-read"),
        asyncio.create_task(server.write(), name="mcp-write"),
        asyncio.create_task(_listen(process, said), name="mcp-stderr"),
    ]
    try:
        yield Running(receive, send, process)
    finally:
        await _ended(process, life, tasks)
        for stream in (received, receive, send, to_send):
            stream.close()


async def _started(
    command: Sequence[str], env: dict[str, str]
) -> tuple[asyncio.subprocess.Process, int]:
    """The guardian, and our end of the pipe by which it sees that we are there."""
    theirs, ours = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", str(_GUARDIAN), str(theirs), *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return process, ours


async def _ended(
    process: asyncio.subprocess.Process, life: int, tasks: Sequence[asyncio.Task[None]]
) -> None:
    """Ask, then insist. Whatever cancels us meanwhile waits until the process is gone."""
    ending = asyncio.create_task(_end(process, life, tasks[:2]), name="mcp-end")
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await ending
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # asyncio has no other way to let go of pipes that somebody else may still hold open.
        transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
        transport.close()
        await asyncio.sleep(0)


async def _end(
    process: asyncio.subprocess.Process, life: int, pipes: Sequence[asyncio.Task[None]]
) -> None:
    for task in pipes:
        task.cancel()
    await asyncio.gather(*pipes, return_exceptions=True)
    assert process.stdin is not None
    process.stdin.close()
    drained = asyncio.create_task(_drain(process), name="mcp-drain")
    try:
        if not await _gone(process, _ENDING):
            os.close(life)
            life = -1
            if not await _gone(process, _FORCED):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
    finally:
        if life >= 0:
            os.close(life)
        drained.cancel()
        await asyncio.gather(drained, return_exceptions=True)


async def _drain(process: asyncio.subprocess.Process) -> None:
    """A server that is stuck writing cannot see that its input was closed."""
    assert process.stdout is not None
    pace, loop = Pace(), asyncio.get_running_loop()
    while True:
        data = await process.stdout.read(_CHUNK)
        if not data:
            return
        await asyncio.sleep(pace.spend(cost(len(data)), loop.time()))


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether it ends in time. Its pipes may stay open: others may hold them."""
    try:
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110  (wait() waits for the pipes too)
                await asyncio.sleep(0.01)
    except TimeoutError:
        return False
    return True


async def _listen(process: asyncio.subprocess.Process, said: Callable[[str], None]) -> None:
    assert process.stderr is not None
    lines, pace = LineSplitter(_STDERR_LINE * 4), Pace()
    loop = asyncio.get_running_loop()
    while data := await process.stderr.read(_CHUNK):
        found = lines.feed(data)
        # A flood is thrown away, so that a server which writes much is not held up by us.
        for line in [*found[:_SEEN], *found[_SEEN:][-_SEEN:]]:
            raw = line.head if isinstance(line, TooLong) else line
            if text := raw[: _STDERR_LINE * 4].decode("utf-8", "replace").strip()[:_STDERR_LINE]:
                said(text)
        await asyncio.sleep(pace.spend(cost(len(data)), loop.time()))


@dataclass(slots=True)
class _Process:
    process: asyncio.subprocess.Process
    received: MemoryObjectSendStream[Received]
    to_send: MemoryObjectReceiveStream[SessionMessage]
    asked: set[RequestId] = field(default_factory=set)
    """Requests of ours that have no answer yet."""

    async def read(self) -> None:
        """Until the server closes its output, floods us, or nobody listens any more."""
        output = self.process.stdout
        assert output is not None
        lines, pace = LineSplitter(MOST_BYTES), Pace()
        loop = asyncio.get_running_loop()
        with suppress(ClosedResourceError, BrokenResourceError):
            async with self.received:
                while data := await output.read(_CHUNK):
                    found = lines.feed(data)
                    for line in found:
                        for message in self._messages(line):
                            await self.received.send(message)
                    if lines.skipped > MOST_SKIPPED:
                        return
                    await asyncio.sleep(pace.spend(cost(len(data), len(found)), loop.time()))

    def _messages(self, line: bytes | TooLong) -> list[SessionMessage]:
        """What a line says; nothing where it is no message."""
        if isinstance(line, TooLong):
            text = (
                f"the server's answer has {line.size:,} bytes; at most {MOST_BYTES:,} are taken. "
                "Ask it for less"
            )
            return [_refusal(request, text) for request in self._meant(line)]
        if values(line) > MOST_VALUES:
            ends = TooLong(line[:_CHUNK], line[-_CHUNK:], len(line))
            text = "the server's answer has too many parts. Ask it for less"
            return [_refusal(request, text) for request in self._meant(ends)]
        if not line.strip():
            return []
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return self._unreadable(line)
        return self._taken(message)

    def _taken(self, message: JSONRPCMessage) -> list[SessionMessage]:
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self.asked.discard(message.id)
        if isinstance(message, JSONRPCRequest) and self._is_full():
            return []  # a server that asks and does not listen would make us hold every answer
        return [SessionMessage(message)]

    def _is_full(self) -> bool:
        return self.to_send.statistics().current_buffer_used >= _QUEUE

    def _unreadable(self, line: bytes) -> list[SessionMessage]:
        """Nothing, for a library's greeting or a debug print, as many servers write some; what
        answers a request without being an answer ends that."""
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            return []
        request = given.get("id") if isinstance(given, dict) else None
        if not isinstance(request, str | int) or request not in self.asked:
            return []
        if _HALF.search(line):
            # Half a character, where a text was cut: other parsers take it, ours does not.
            whole = json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")
            with suppress(ValueError):
                return self._taken(jsonrpc_message_adapter.validate_json(whole, by_name=False))
        self.asked.discard(request)
        return [_refusal(request, "the server's answer is not as the protocol has it")]

    def _meant(self, line: TooLong) -> list[RequestId]:
        """The request that a line answers which was thrown away: its id stands first or last.
        Every open request where it cannot be told, so that none waits for ever."""
        found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
        every = list(self.asked)
        if found is not None:
            text = found[1].decode("ascii", "replace")
            known: RequestId = text[1:-1] if text.startswith('"') else int(text)
            every = [known] if known in self.asked else []
        self.asked.difference_update(every)
        return every

    async def write(self) -> None:
        """Until nobody sends any more. Where the server takes nothing, the end of its output is
        what tells of it."""
        target = self.process.stdin
        assert target is not None
        with suppress(ClosedResourceError, BrokenResourceError, ConnectionError):
            async with self.to_send:
                async for sent in self.to_send:
                    if isinstance(sent.message, JSONRPCRequest):
                        self.asked.add(sent.message.id)
                    text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                    target.write(text.encode() + b"\n")
                    await target.drain()


def _refusal(request: RequestId, text: str) -> SessionMessage:
    error = ErrorData(code=INTERNAL_ERROR, message=text)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))
