"""Servers that speak Anthropic's or Gemini's protocol, and say odd things about usage."""

import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.models.base import ModelSpec, Reply, Request
from agent.models.litellm.model import LitellmModel
from storage.records.entries import message

ODD = ["-5", "1e30", "NaN", "true", '"many"', "null", "[1]", '{"a": 1}']
NONE = "none"


async def ask(model: str, answer: dict[str, Any], usage: str, field: str) -> Reply:
    """What a server's reply with this usage, in JSON, comes to."""
    whole = answer if usage == NONE else answer | {field: "HERE"}

    async def reply(_: web.Request) -> web.Response:
        text = json.dumps(whole).replace('"HERE"', usage)
        return web.Response(text=text, content_type="application/json")

    app = web.Application()
    app.router.add_post("/{path:.*}", reply)
    async with TestServer(app) as server:
        base = str(server.make_url("")).rstrip("/")
        spec = ModelSpec("parent", model, api_base=base, api_key="key")
        return await LitellmModel().complete(Request(spec, (message("user", "hello"),)))


def estimated(reply: Reply) -> bool:
    return reply.content == "hi" and 1 < reply.usage.input < 100 and reply.usage.output == 1


def anthropic(odd: str) -> list[str]:
    return [
        f'{{"input_tokens": {odd}, "output_tokens": {odd}}}',
        f'{{"cache_read_input_tokens": {odd}}}',
        f'{{"server_tool_use": {odd}}}',
        f'{{"iterations": {odd}}}',
        odd,
    ]


@pytest.mark.parametrize("usage", [NONE, *(one for odd in ODD for one in anthropic(odd))])
async def test_an_odd_usage_of_anthropics_loses_no_reply(usage: str) -> None:
    answer = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
    }
    reply = await ask("anthropic/claude-x", answer, usage, "usage")
    assert reply.content == "hi"
    assert estimated(reply) or "true" in usage


def gemini(odd: str) -> list[str]:
    return [
        f'{{"promptTokenCount": {odd}, "candidatesTokenCount": {odd}, "totalTokenCount": {odd}}}',
        f'{{"promptTokensDetails": {odd}}}',
        odd,
    ]


@pytest.mark.parametrize("usage", [NONE, *(one for odd in ODD for one in gemini(odd))])
async def test_an_odd_usage_of_geminis_loses_no_reply(usage: str) -> None:
    content = {"role": "model", "parts": [{"text": "hi"}]}
    answer = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
    reply = await ask("gemini/gemini-x", answer, usage, "usageMetadata")
    assert reply.content == "hi"
    assert estimated(reply) or "true" in usage
