"""Streams as servers really send them: odd ones, or none at all, and what is made of them."""

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from agent.models.base import ModelErrorKind, ModelSpec, Request
from agent.models.litellm.model import LitellmModel
from agent.models.scripted import Answer, Rule
from storage.records.entries import Json, message
from tests.stand_ins.model import Body, Events, ModelServer, Status
from tests.support.model_streams import (
    DONE,
    STOP,
    USER,
    Heard,
    ask,
    broken,
    call,
    chunk,
    named,
    sse,
    stream,
)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer([Rule(reply=Answer(text="hello"))]) as server:
        yield server


# What is read right


@pytest.mark.parametrize(
    "events",
    [
        sse(chunk(content="a"), chunk(content="b"), line_break="\r\n") + STOP,
        sse(chunk(content="a"), chunk(content="b"), line_break="\r") + STOP,
        sse(chunk(content="a"), chunk(content="b"), name="data:") + STOP,
        b": hello\n\n" + sse(chunk(content="a")) + b":\n\n" + sse(chunk(content="b")) + STOP,
        sse(chunk(content="a")) + b"data:\n\ndata: ping\n\n" + sse(chunk(content="b")) + STOP,
        sse(chunk(content="a")) + b"what is this?\n\n" + sse(chunk(content="b")) + STOP,
        b"event: message\nid: 7\n" + sse(chunk(content="a"), chunk(content="b")) + STOP,
        b"\xef\xbb\xbf" + sse(chunk(content="a"), chunk(content="b")) + STOP,
        sse(chunk(content="a"), {"choices": []}, {}, chunk(content="b")) + STOP,
        sse(chunk(content="a"), {"choices": None}, chunk(content="b")) + STOP,
        sse(chunk(content="a"), chunk(content="b"), chunk("stop")),  # no [DONE]
        sse(chunk(content="a"), chunk(content="b")) + DONE,  # no finish
        sse(chunk(content="a"), chunk("stop", content="b")).rstrip(),
        sse(chunk(content="a", role="assistant", tool_calls=None), chunk(content="b")) + STOP,
        sse(chunk(content=[{"type": "text", "text": "a"}]), chunk(content="b")) + STOP,
        b'data: {"choices": [{"index": 0,\ndata: "delta": {"content": "ab"}}]}\n\n' + STOP,
        sse(
            chunk(content="a"),
            {**chunk(content="X"), "choices": [{"index": 1}]},
            chunk(content="b"),
        )
        + STOP,
    ],
)
async def test_every_way_to_write_a_stream_is_read(server: ModelServer, events: bytes) -> None:
    assert (await ask(server, Events([events]))).content == "ab"


async def test_a_text_may_say_that_it_is_done(server: ModelServer) -> None:
    text = "The last line is data: [DONE]\n\ndata: {}\n and that is no end."
    assert (await ask(server, stream(chunk(content=text)))).content == text


async def test_a_line_separator_of_unicode_ends_no_line(server: ModelServer) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf"
    data = f"data: {json.dumps(chunk(content=text), ensure_ascii=False)}\n\n".encode()
    assert (await ask(server, Events([data + STOP]))).content == text


async def test_a_hundred_pieces_may_be_alike(server: ModelServer) -> None:
    pieces = [chunk(content="----")] * 300
    assert (await ask(server, stream(*pieces))).content == "----" * 300


async def test_thinking_is_kept_and_not_heard(server: ModelServer) -> None:
    heard = Heard()
    events = stream(
        chunk(reasoning_content="Let me "),
        chunk(reasoning="see."),
        chunk(content="Yes."),
    )
    reply = await ask(server, events, heard=heard)
    assert heard.text == reply.content == "Yes."
    assert reply.raw["reasoning_content"] == "Let me see."


async def test_thinking_blocks_keep_their_signature(server: ModelServer) -> None:
    def block(**more: str) -> Json:
        return chunk(thinking_blocks=[{"type": "thinking", **more}])

    events = [block(thinking="Let "), block(thinking="me."), block(thinking="", signature="s1")]
    reply = await ask(server, stream(*events, chunk(content="Yes.")))
    whole = [{"type": "thinking", "thinking": "Let me.", "signature": "s1"}]
    assert reply.raw["thinking_blocks"] == whole


@pytest.mark.parametrize(
    "events",
    [
        [  # as OpenAI does
            call(0, id="a", function=named("f")),
            call(0, function={"arguments": '{"x"'}),
            call(1, id="b", function=named("g")),
            call(0, function={"arguments": ": 1}"}),
            call(1, function={"arguments": "{}"}),
        ],
        [  # whole, all with one number
            call(0, id="a", function=named("f", '{"x": 1}')),
            call(0, id="b", function=named("g", "{}")),
        ],
        [  # without numbers
            call(id="a", function=named("f", '{"x": 1}')),
            call(id="b", function=named("g")),
            call(function={"arguments": "{}"}),
        ],
        [  # name and id again each time
            call(0, id="a", function=named("f", '{"x": ')),
            call(0, id="a", function=named("f", "1}")),
            call(1, id="b", function=named("g", "{}")),
        ],
        [
            chunk(
                tool_calls=[
                    call(0, id="a", function=named("f", '{"x": 1}'))["choices"][0]["delta"][
                        "tool_calls"
                    ][0],
                    {"index": 1, "id": "b", "function": named("g", "{}")},
                ]
            )
        ],
    ],
)
async def test_calls_of_tools_grow_side_by_side(
    server: ModelServer, events: Sequence[Json]
) -> None:
    reply = await ask(server, stream(*events, then=sse(chunk("tool_calls")) + DONE))
    found = [(one.id, one.name, one.arguments) for one in reply.tool_calls]
    assert found == [("a", "f", '{"x": 1}'), ("b", "g", "{}")]
    assert reply.content == ""


async def test_the_usage_may_come_with_the_last_words_or_after_them(server: ModelServer) -> None:
    used = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    after = stream(chunk(content="a"), chunk("stop"), {"choices": [], "usage": used}, then=DONE)
    beside = stream(chunk(content="a"), {**chunk("stop"), "usage": used}, then=DONE)
    each = stream(
        {**chunk(content="a"), "usage": {"prompt_tokens": 1}}, {**chunk("stop"), "usage": used}
    )
    for events in (after, beside, each):
        usage = (await ask(server, events, input_cost=1.0, output_cost=10.0)).usage
        assert (usage.input, usage.output, usage.cost) == (30, 4, 70.0)


@pytest.mark.parametrize("used", [None, "many", {"prompt_tokens": -3}, [], {"total_tokens": "x"}])
async def test_a_usage_that_cannot_be_is_estimated(server: ModelServer, used: object) -> None:
    events = stream(chunk(content="a" * 40), {"choices": [], "usage": used})
    usage = (await ask(server, events, input_cost=1.0, output_cost=1.0)).usage
    assert usage.input > 0 and usage.output == 11
    assert usage.cost == usage.input + usage.output


@pytest.mark.parametrize("finish", ["length", "content_filter", "stop", "tool_calls", "eos"])
async def test_whatever_it_ended_for_its_words_are_the_answer(
    server: ModelServer, finish: str
) -> None:
    reply = await ask(server, stream(chunk(content="So far"), chunk(finish), then=DONE))
    assert reply.content == "So far"


async def test_a_filter_that_leaves_nothing_is_told(server: ModelServer) -> None:
    error = await broken(server, stream(chunk("content_filter"), then=DONE))
    assert error.kind is ModelErrorKind.BAD_REQUEST
    assert "content filter" in str(error)


async def test_a_server_may_answer_in_one_piece(server: ModelServer) -> None:
    whole = {
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": message("assistant", "whole")}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    for text in (json.dumps(whole), json.dumps(whole, indent=2)):
        heard = Heard()
        reply = await ask(server, Body(text), heard=heard)
        assert reply.content == heard.text == "whole"
        assert (reply.usage.input, reply.usage.output) == (3, 4)


# What is refused


@pytest.mark.parametrize(
    ("refusal", "sent"),
    [
        (Status(400, message="Unknown parameter: 'stream_options'."), [True, True]),
        (Status(422, body='{"detail": [{"loc": ["body", "stream_options"]}]}'), [True, True]),
        (Status(400, message="streaming is not supported by this model"), [True, None]),
    ],
)
async def test_what_is_refused_of_a_stream_is_left_out_from_then_on(
    server: ModelServer, refusal: Status, sent: list[object]
) -> None:
    server.faults.append(refusal)
    model = LitellmModel()
    heard = Heard()
    spec = ModelSpec("parent", "m", api_base=server.url)
    for _ in range(2):
        await model.complete(Request(spec, [USER], heard=heard.pieces.append))
    assert [received.body.get("stream") for received in server.requests] == [*sent, sent[-1]]
    options = [received.body.get("stream_options") for received in server.requests]
    assert options == [{"include_usage": True}, None, None]
    assert heard.text == "hellohello"


async def test_another_refusal_is_told_as_it_is(server: ModelServer) -> None:
    error = await broken(server, Status(400, message="no such model"))
    assert (error.kind, len(server.requests)) == (ModelErrorKind.BAD_REQUEST, 1)
    assert "no such model" in str(error)
