"""A stream in Claude's own protocol, which litellm reads: thinking, signatures, calls, faults."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, Reply, Request
from storage.records.entries import Json, message
from tests.stand_ins.model import Body, Events, ModelServer
from tests.support.model_streams import MODEL, Heard

USER = message("user", "What is the weather?")
TOOL: Json = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


def event(type_: str, **more: Any) -> bytes:
    return f"event: {type_}\ndata: {json.dumps({'type': type_, **more})}\n\n".encode()


def block(index: int, start: Json, *deltas: Json) -> bytes:
    return b"".join(
        [
            event("content_block_start", index=index, content_block=start),
            *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
            event("content_block_stop", index=index),
        ]
    )


def text(index: int, *pieces: str) -> bytes:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def tool(index: int, id_: str, *pieces: str) -> bytes:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": id_, "name": "f", "input": {}}, *deltas)


START = event(
    "message_start",
    message={
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-sonnet-4-5",
        "usage": {"input_tokens": 30, "output_tokens": 1},
    },
)
THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Let me "},
    {"type": "thinking_delta", "thinking": "see."},
    {"type": "signature_delta", "signature": "c2ln"},
)


def end(reason: str) -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return event("message_delta", delta=delta, usage={"output_tokens": 12}) + event("message_stop")


def request(server: ModelServer, heard: Heard | None, *messages: Json) -> Request:
    spec = ModelSpec(
        "parent",
        "anthropic/claude-sonnet-4-5",
        api_base=server.url.removesuffix("/v1"),
        api_key="sk-ant-test",
        reasoning_effort="low",
        stall_seconds=0.5,
    )
    told = heard.pieces.append if heard is not None else None
    return Request(spec, messages or (USER,), [TOOL], heard=told)


async def ask(server: ModelServer, heard: Heard, *pieces: bytes, then: Any = "end") -> Reply:
    server.faults.append(Events(pieces, then))
    return await MODEL.complete(request(server, heard))


async def test_thinking_and_calls_are_kept_and_only_text_is_heard(server: ModelServer) -> None:
    heard = Heard()
    reply = await ask(
        server,
        heard,
        START,
        THINKING,
        text(1, "I will ", "look."),
        tool(2, "toolu_1", '{"city"', ': "Oslo"}'),
        tool(3, "toolu_2", "{}"),
        end("tool_use"),
    )
    assert heard.pieces == ["I will ", "look."]
    assert reply.content == "I will look."
    calls = [(call.id, json.loads(call.arguments)) for call in reply.tool_calls]
    assert calls == [("toolu_1", {"city": "Oslo"}), ("toolu_2", {})]
    (thought,) = reply.raw["thinking_blocks"]
    assert (thought["thinking"], thought["signature"]) == ("Let me see.", "c2ln")
    assert (reply.usage.input, reply.usage.output) == (30, 12)


async def test_what_was_streamed_is_replayed_as_what_was_not(server: ModelServer) -> None:
    streamed = await ask(
        server, Heard(), START, THINKING, text(1, "Look."), tool(2, "t1", "{}"), end("tool_use")
    )
    content = [
        {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
        {"type": "text", "text": "Look."},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
    ]
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 30, "output_tokens": 12},
    }
    server.faults.append(Body(json.dumps(whole)))
    plain = await MODEL.complete(request(server, None))
    sent: list[Any] = []
    for reply in (streamed, plain):
        result = message("tool", "21 °C", tool_call_id="t1", name="f")
        server.faults.append(Body(json.dumps(whole)))
        await MODEL.complete(request(server, None, USER, reply.raw, result))
        sent.append(server.requests[-1].body["messages"])
    assert sent[0] == sent[1]
    assert [part["type"] for part in sent[0][1]["content"]] == ["thinking", "text", "tool_use"]


@pytest.mark.parametrize("then", ["end", "cut", "hang"])
async def test_a_stream_that_breaks_off_says_what_was_heard(server: ModelServer, then: str) -> None:
    heard = Heard()
    begun = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    delta = {"type": "text_delta", "text": "Once upon"}
    half = event("content_block_delta", index=0, delta=delta)
    with pytest.raises(ModelError) as caught:
        await ask(server, heard, START, begun, half, then=then)
    assert caught.value.kind is ModelErrorKind.UNAVAILABLE
    assert caught.value.partial == heard.text == "Once upon"


async def test_an_error_within_it_is_one(server: ModelServer) -> None:
    heard = Heard()
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    with pytest.raises(ModelError) as caught:
        await ask(server, heard, START, text(0, "Once"), error)
    assert caught.value.partial == "Once"
    assert caught.value.kind is ModelErrorKind.UNAVAILABLE
