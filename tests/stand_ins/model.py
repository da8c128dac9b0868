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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self, assert_never

from aiohttp import web

from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.scripted import Rule, ScriptedModel
from storage.records.entries import Json
from tests.stand_ins.serving import listen
from tests.support.undated import undated

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


@dataclass(frozen=True, slots=True)
class Events:
    """Begin a stream with these bytes, piece by piece, and then end it, or do this."""

    pieces: Sequence[bytes]
    then: Literal["end", "cut", "hang"] = "end"


Fault = Status | Body | Cut | Hang | Slow | Events

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
        """As they came, but for the lines that say when messages were received."""
        self.dated: list[Received] = []
        """As they came."""
        self.faults: deque[Fault] = deque()
        self.arrived = asyncio.Event()
        """Set when a chat request has come in."""
        self.hung_up = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=LARGEST_REQUEST)
        for path in ("/v1/chat/completions", "/v1/messages"):  # of Claude's, for faults only
            app.router.add_post(path, self._chat)
        app.router.add_get("/v1/models", self._models)
        # Handlers are cancelled when their client goes, so that Hang can tell.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        self.url = f"http://127.0.0.1:{await listen(self._runner, self._port)}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
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
        self.dated.append(received)
        self.requests.append(replace(received, messages=undated(received.messages)))
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
            case Events() as events:
                return await self._send(request, events)
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

    async def _send(self, request: web.Request, events: Events) -> web.StreamResponse:
        response = await _begun(request)
        for piece in events.pieces:
            await response.write(piece)
        match events.then:
            case "cut":
                assert request.transport is not None
                request.transport.close()
            case "hang":
                await self._hang()
            case "end":
                await response.write_eof()
        return response

    async def _answer(self, request: web.Request, received: Received) -> web.StreamResponse:
        if received.body.get("stream"):
            return await self._stream(request, received)
        try:
            reply = await self._model.complete(_asked(received))
        except ModelError as error:
            return _failure(error)
        return web.json_response(_completion(received, reply))

    async def _stream(self, request: web.Request, received: Received) -> web.StreamResponse:
        """The same answer as server-sent events, as the rules say it: word by word where they have
        a pace. What fails after the first word is cut, or says why within the stream."""
        words: asyncio.Queue[str] = asyncio.Queue()
        asked = replace(_asked(received), heard=words.put_nowait)
        answering = asyncio.create_task(self._model.complete(asked))
        try:
            first = await _next_word(words, answering)
            if first is None and answering.exception() is not None:
                await answering
            response = await _begun(request)
            head = _chunk(received, {"role": "assistant", "content": ""})
            await _write(response, head)
            text = ""
            word: str | None = first
            while word is not None:
                text += word
                for piece in _pieces(word):
                    await _write(response, _chunk(received, {"content": piece}))
                word = await _next_word(words, answering)
            reply = await answering
        except ModelError as error:
            if not error.partial:
                return _failure(error)
            await _break_off(request, response, error)
            return response
        finally:
            answering.cancel()
        for event in _last_events(received, reply, text):
            await _write(response, event)
        await response.write(b"data: [DONE]\n\n")
        return response

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


_FAILURES = {
    ModelErrorKind.AUTH: (401, "invalid_api_key"),
    ModelErrorKind.RATE_LIMIT: (429, "rate_limit_exceeded"),
    ModelErrorKind.CONTEXT_LENGTH: (400, "context_length_exceeded"),
    ModelErrorKind.BAD_REQUEST: (400, "invalid_request_error"),
    ModelErrorKind.UNAVAILABLE: (503, "server_error"),
}


def _failure(error: ModelError) -> web.Response:
    """A scripted error as OpenAI's server would put it."""
    if error.kind is ModelErrorKind.BAD_REPLY:
        return web.Response(text=HTML.body, content_type=HTML.content_type)
    status, code = _FAILURES[error.kind]
    headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
    text = _error_body(str(error), code)
    return web.Response(status=status, text=text, headers=headers, content_type="application/json")


async def _break_off(request: web.Request, response: web.StreamResponse, error: ModelError) -> None:
    """The same in the middle of a stream: "unavailable" is a cut connection."""
    match error.kind:
        case ModelErrorKind.UNAVAILABLE:
            assert request.transport is not None
            request.transport.close()
        case ModelErrorKind.BAD_REPLY:
            await response.write(b'data: {"choices": [{"del\n\n')
        case kind:
            await response.write(
                f"data: {_error_body(str(error), _FAILURES[kind][1])}\n\n".encode()
            )


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


def _asked(received: Received) -> Request:
    spec = ModelSpec(name=received.model, model=received.model)
    return Request(spec, received.messages, received.tools)


async def _next_word(words: asyncio.Queue[str], answering: asyncio.Task[Reply]) -> str | None:
    """None where the answer is over."""
    if words.empty() and not answering.done():
        word = asyncio.create_task(words.get())
        try:
            await asyncio.wait({word, answering}, return_when=asyncio.FIRST_COMPLETED)
            if word.done():
                return word.result()
        finally:
            word.cancel()
    return None if words.empty() else words.get_nowait()


async def _begun(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


async def _write(response: web.StreamResponse, event: Json) -> None:
    await response.write(f"data: {json.dumps(event)}\n\n".encode())


def _pieces(text: str) -> list[str]:
    return [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]


def _chunk(received: Received, delta: Json, **more: Any) -> Json:
    choice = {"index": 0, "finish_reason": None, "delta": delta} | more
    return {
        "id": "chatcmpl-stand-in",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": received.model,
        "choices": [choice],
    }


def _last_events(received: Received, reply: Reply, told: str) -> list[Json]:
    """What is left of the text, each call of a tool in two halves, the end, the usage."""
    whole = _completion(received, reply)
    deltas: list[Json] = [{"content": piece} for piece in _pieces(reply.content[len(told) :])]
    for index, call in enumerate(reply.raw.get("tool_calls", [])):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        first = {**call, "function": {**call["function"], "arguments": arguments[:half]}}
        rest = {"function": {"arguments": arguments[half:]}}
        deltas += [{"tool_calls": [{"index": index, **part}]} for part in (first, rest)]
    events = [_chunk(received, delta) for delta in deltas]
    finish = whole["choices"][0]["finish_reason"]
    events.append(_chunk(received, {}, finish_reason=finish))
    options = received.body.get("stream_options") or {}
    if options.get("include_usage"):
        events.append({**_chunk(received, {}), "choices": [], "usage": whole["usage"]})
    return events


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
