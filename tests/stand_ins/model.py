"""An OpenAI-compatible model server whose replies follow the rules of agent.models.scripted.

In tests:

    async with ModelServer([Rule(reply=Answer(text="hi"))]) as server:
        ...  # server.url is the api_base
        server.faults.append(Status(429, {"Retry-After": "1"}))

By hand: python -m tests.stand_ins.model --port 8083 rules.yaml
"""

import argparse
import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, assert_never

from aiohttp import web

from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.scripted import Rule, ScriptedModel
from storage.records.entries import Json

LARGEST_REQUEST = 64 * 1024 * 1024
"""Bytes."""

CHUNK = 16
"""Characters in one event of a streamed answer."""


@dataclass(frozen=True, slots=True)
class Status:
    """Answer with an HTTP error in OpenAI's shape, or with `body` as it is."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "injected"
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """Answer 200 with this text, whatever it is."""

    body: str
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection without an answer."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer. `ModelServer.hung_up` is set once the client has gone."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Answer as the rules say, but this many seconds later."""

    seconds: float


Fault = Status | Body | Cut | Hang | Slow

HTML = Body("<html><body>Welcome to nginx!</body></html>", "text/html")
INVALID_JSON = Body('{"id": "chatcmpl-1", "choices": [{"mess')
WRONG_SHAPE = Body('{"object": "list", "data": []}')
NO_CHOICES = Body('{"id": "1", "object": "chat.completion", "model": "m", "choices": []}')


@dataclass(frozen=True, slots=True)
class Received:
    """One chat request as it arrived."""

    model: str
    messages: list[Json]
    tools: list[Json]
    headers: Mapping[str, str]
    body: Json


class ModelServer:
    """Listens on 127.0.0.1 while its `async with` block runs.

    `faults` are used up from the left, one for each chat request; without one the rules answer.
    With `api_key`, other bearer keys are refused in a message that repeats them, as real ones do.
    """

    def __init__(
        self,
        rules: Sequence[Rule] | str | Path = (),
        *,
        port: int = 0,
        api_key: str | None = None,
    ) -> None:
        self._model: Model = (
            ScriptedModel.load(rules) if isinstance(rules, str | Path) else ScriptedModel(rules)
        )
        self._port = port
        self._api_key = api_key
        self._runner: web.AppRunner | None = None
        self.url = ""
        self.requests: list[Received] = []
        self.faults: deque[Fault] = deque()
        self.arrived = asyncio.Event()
        """Set when a chat request has come in."""
        self.hung_up = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=LARGEST_REQUEST)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        # Handlers are cancelled when their client goes, so that Hang can tell.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        if refusal := self._refusal(request):
            return refusal
        return web.json_response({"object": "list", "data": [{"id": "any", "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        received = _parse(await request.json(), request.headers)
        self.requests.append(received)
        self.arrived.set()
        match self.faults.popleft() if self.faults else None:
            case Status() as fault:
                text = fault.body if fault.body is not None else _error_body(fault.message)
                return web.Response(
                    status=fault.status,
                    text=text,
                    headers=fault.headers,
                    content_type="application/json",
                )
            case Body(body, content_type):
                return web.Response(text=body, content_type=content_type)
            case Cut():
                assert request.transport is not None
                request.transport.close()
                return web.Response()
            case Hang():
                return await self._hang()
            case Slow(seconds):
                await asyncio.sleep(seconds)
                return await self._answer(request, received)
            case None:
                return await self._answer(request, received)
            case fault:
                assert_never(fault)

    async def _hang(self) -> web.Response:
        try:
            await asyncio.Event().wait()
        finally:
            self.hung_up.set()
        return web.Response()

    async def _answer(self, request: web.Request, received: Received) -> web.StreamResponse:
        spec = ModelSpec(name=received.model, model=received.model)
        try:
            reply = await self._model.complete(Request(spec, received.messages, received.tools))
        except ModelError as error:
            return _failure(error)
        if received.body.get("stream"):
            return await _stream(request, received, reply)
        return web.json_response(_completion(received, reply))

    def _refusal(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self._api_key is None or given == self._api_key:
            return None
        text = _error_body(f"Incorrect API key provided: {given}", "invalid_api_key")
        return web.Response(status=401, text=text, content_type="application/json")


def _parse(body: Any, headers: Mapping[str, str]) -> Received:
    return Received(
        body["model"], body["messages"], body.get("tools") or [], dict(headers), dict(body)
    )


def _failure(error: ModelError) -> web.Response:
    """A scripted error as OpenAI's server would put it."""
    status, code = {
        ModelErrorKind.AUTH: (401, "invalid_api_key"),
        ModelErrorKind.RATE_LIMIT: (429, "rate_limit_exceeded"),
        ModelErrorKind.CONTEXT_LENGTH: (400, "context_length_exceeded"),
        ModelErrorKind.BAD_REQUEST: (400, "invalid_request_error"),
        ModelErrorKind.UNAVAILABLE: (503, "server_error"),
        ModelErrorKind.BAD_REPLY: (200, ""),
    }[error.kind]
    if error.kind is ModelErrorKind.BAD_REPLY:
        return web.Response(text=HTML.body, content_type=HTML.content_type)
    headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
    text = _error_body(str(error), code)
    return web.Response(status=status, text=text, headers=headers, content_type="application/json")


def _error_body(message: str, code: str = "injected") -> str:
    return json.dumps({"error": {"message": message, "type": code, "param": None, "code": code}})


def _completion(received: Received, reply: Reply) -> Json:
    finish = "tool_calls" if reply.tool_calls else "stop"
    used = {
        "prompt_tokens": reply.usage.input,
        "completion_tokens": reply.usage.output,
        "total_tokens": reply.usage.input + reply.usage.output,
    }
    return {
        "id": "chatcmpl-stand-in",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": received.model,
        "choices": [{"index": 0, "finish_reason": finish, "message": reply.raw}],
        "usage": used,
    }


async def _stream(request: web.Request, received: Received, reply: Reply) -> web.StreamResponse:
    """The same answer as server-sent events: text in pieces, each tool call in one."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    whole = _completion(received, reply)
    pieces = range(0, len(reply.content), CHUNK)
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": reply.content[start : start + CHUNK]} for start in pieces]
    deltas += [
        {"tool_calls": [{"index": index, **call}]}
        for index, call in enumerate(reply.raw.get("tool_calls", []))
    ]
    choices: list[Json] = [{"index": 0, "finish_reason": None, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "finish_reason": whole["choices"][0]["finish_reason"], "delta": {}})
    head = {**whole, "object": "chat.completion.chunk", "usage": None}
    events: list[Json] = [{**head, "choices": [choice]} for choice in choices]
    events.append({**head, "choices": [], "usage": whole["usage"]})
    for event in events:
        await response.write(f"data: {json.dumps(event)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


async def _serve(rules: Path, port: int) -> None:
    async with ModelServer(rules, port=port) as server:
        print(f"listening on {server.url}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.stand_ins.model",
        description="An OpenAI-compatible model server that answers by rules.",
    )
    parser.add_argument("--port", type=int, default=8083)
    parser.add_argument("rules", type=Path, help="YAML, as for a scripted: model")
    arguments = parser.parse_args()
    try:
        asyncio.run(_serve(arguments.rules, arguments.port))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
