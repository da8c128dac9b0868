"""Prompt caches of providers, on the wire: which requests are marked, what their tokens cost."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.litellm.model import LitellmModel
from storage.records.entries import Json, message

TOOL: Json = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SYSTEM = message("system", "Be kind.")
ASKED = message("user", "hello")
SESSION = [
    SYSTEM,
    ASKED,
    message("assistant", "", tool_calls=[CALL]),
    message("tool", "found", tool_call_id="c1", name="f"),
]
MARK = {"type": "ephemeral"}
CLAUDE = "anthropic/claude-sonnet-4-5"


@dataclass
class Provider:
    """A server that answers as Anthropic's and as OpenAI's do."""

    usage: Json
    url: str = ""
    bodies: list[Any] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        if request.path.endswith("/messages"):
            content = [{"type": "text", "text": "hi"}]
            said: Json = {"type": "message", "role": "assistant", "model": "m", "content": content}
            return web.json_response({"id": "m", "stop_reason": "end_turn", **said, **self._used()})
        choice: Json = {"index": 0, "finish_reason": "stop", "message": message("assistant", "hi")}
        said = {"object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return web.json_response({"id": "m", **said, **self._used()})

    def _used(self) -> Json:
        return {"usage": self.usage}


@asynccontextmanager
async def provider(usage: Json) -> AsyncIterator[Provider]:
    app, found = web.Application(), Provider(usage)
    app.router.add_post("/{path:.*}", found.answer)
    async with TestServer(app) as server:
        found.url = str(server.make_url("")).rstrip("/")
        yield found


async def ask(
    found: Provider, model: str, messages: list[Json], tools: list[Json], **more: Any
) -> Reply:
    spec = ModelSpec("parent", model, api_base=found.url, api_key="key", **more)
    return await LitellmModel().complete(Request(spec, messages, tools))


ANTHROPIC_USAGE = {
    "input_tokens": 100,
    "output_tokens": 10,
    "cache_read_input_tokens": 800,
    "cache_creation_input_tokens": 100,
}
OPENAI_USAGE = {
    "prompt_tokens": 1_000,
    "completion_tokens": 10,
    "total_tokens": 1_010,
    "prompt_tokens_details": {"cached_tokens": 800},
}


async def test_claude_is_told_what_to_keep() -> None:
    async with provider(ANTHROPIC_USAGE) as found:
        await ask(found, CLAUDE, SESSION, [TOOL])
    sent = found.bodies[0]
    assert sent["system"][0]["cache_control"] == MARK
    first, called, last = sent["messages"]
    assert first["content"][-1]["cache_control"] == MARK
    assert "cache_control" not in json.dumps(called)
    assert last["content"][-1]["cache_control"] == MARK


async def test_but_for_marks_a_request_begins_with_the_one_before_it() -> None:
    """Marks move, what they stand on does not: what was kept is found again."""
    async with provider(ANTHROPIC_USAGE) as found:
        await ask(found, CLAUDE, SESSION[:2], [TOOL])
        await ask(found, CLAUDE, SESSION, [TOOL])
    earlier, later = map(without_marks, found.bodies)
    assert (earlier["system"], earlier["tools"]) == (later["system"], later["tools"])
    assert later["messages"][: len(earlier["messages"])] == earlier["messages"]


def without_marks(body: Any) -> Any:
    match body:
        case dict():
            return {k: without_marks(v) for k, v in body.items() if k != "cache_control"}
        case list():
            return [without_marks(item) for item in body]
        case _:
            return body


async def test_what_is_asked_only_once_is_not_kept() -> None:
    async with provider(ANTHROPIC_USAGE) as found:
        await ask(found, CLAUDE, SESSION[:2], [])
    assert "cache_control" not in json.dumps(found.bodies)


@pytest.mark.parametrize("model", ["openai/gpt-x", "mistral/mistral-large-latest", "claude-x"])
async def test_others_get_their_requests_as_ever(model: str) -> None:
    async with provider(OPENAI_USAGE) as found:
        api = "openai" if "/" not in model else None
        await ask(found, model, SESSION, [TOOL], api=api)
    assert "cache_control" not in json.dumps(found.bodies)
    assert found.bodies[0]["messages"][0] == SYSTEM


async def test_cached_tokens_have_their_own_price() -> None:
    prices = {"input_cost": 1.0, "output_cost": 10.0, "cached_input_cost": 0.25}
    async with provider(OPENAI_USAGE) as found:
        usage = (await ask(found, "openai/gpt-x", [ASKED], [], **prices)).usage
    assert (usage.input, usage.cached, usage.output) == (1_000, 800, 10)
    assert usage.cost == 200 + 800 * 0.25 + 10 * 10


async def test_without_one_the_list_says_how_much_cheaper_they_are() -> None:
    """Claude's: a tenth for what the cache had, a quarter more for what is put there."""
    async with provider(ANTHROPIC_USAGE) as found:
        usage = (await ask(found, CLAUDE, [ASKED], [], input_cost=1.0, output_cost=0.0)).usage
    assert (usage.input, usage.cached) == (1_000, 800)
    assert usage.cost == pytest.approx(100 + 800 * 0.1 + 100 * 1.25)


async def test_an_unknown_models_cached_tokens_cost_what_others_do() -> None:
    async with provider(OPENAI_USAGE) as found:
        usage = (await ask(found, "openai/mine", [ASKED], [], input_cost=1.0)).usage
    assert usage.cost == 1_000


@pytest.mark.parametrize("odd", [5_000, -1, "many", None, True])
async def test_more_than_all_cannot_be_cached(odd: object) -> None:
    usage = OPENAI_USAGE | {"prompt_tokens_details": {"cached_tokens": odd}}
    async with provider(usage) as found:
        used = (await ask(found, "openai/mine", [ASKED], [], input_cost=1.0)).usage
    assert 0 <= used.cached <= used.input == 1_000


async def test_a_models_own_timeout_counts() -> None:
    async def hang(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    app = web.Application()
    app.router.add_post("/{path:.*}", hang)
    async with TestServer(app) as server:
        spec = ModelSpec("worker", "m", api_base=str(server.make_url("")), api_key="k", timeout=0.2)
        with pytest.raises(ModelError) as caught:
            await LitellmModel().complete(Request(spec, [ASKED]))
    assert caught.value.kind is ModelErrorKind.UNAVAILABLE
    assert "within 0.2 s" in str(caught.value)


async def test_a_message_with_a_picture_is_marked_too() -> None:
    pixel = "data:image/png;base64,iVBORw0KGgo="
    parts = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": pixel}},
    ]
    session = [SYSTEM, message("user", "") | {"content": parts}]
    async with provider(ANTHROPIC_USAGE) as found:
        await ask(found, CLAUDE, session, [TOOL])
    (said,) = found.bodies[0]["messages"]
    assert [part["type"] for part in said["content"]] == ["text", "image"]
    assert [part.get("cache_control") for part in said["content"]] == [None, MARK]
    assert "cache_control" not in str(session)
