"""Streams that are cut, fall silent, or say something that nobody can read."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.models.base import ModelErrorKind, ModelSpec, Request
from agent.models.litellm import streaming
from agent.models.scripted import Answer, Rule
from tests.stand_ins.model import Body, Events, Fault, ModelServer
from tests.support.model_streams import (
    DONE,
    MODEL,
    STOP,
    USER,
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


@pytest.mark.parametrize("then", ["end", "cut"])
async def test_a_cut_in_the_middle_says_what_was_heard(server: ModelServer, then: Any) -> None:
    data = sse(chunk(content="Once "), chunk(content="upon"))
    for pieces in ([data], [data, sse(chunk(content="lost"))[:40]]):
        error = await broken(server, Events(pieces, then))
        assert (error.kind, error.partial) == (ModelErrorKind.UNAVAILABLE, "Once upon")


async def test_a_cut_after_the_last_word_loses_nothing(server: ModelServer) -> None:
    data = sse(chunk(content="All"), chunk("stop"))
    assert (await ask(server, Events([data], "cut"))).content == "All"


async def test_half_a_call_is_no_answer(server: ModelServer) -> None:
    data = sse(chunk(content="Let me"), call(0, id="a", function=named("f", '{"x": ')))
    error = await broken(server, Events([data], "cut"))
    assert error.partial == "Let me"


async def test_a_silence_is_given_up_before_the_first_word_and_after_it(
    server: ModelServer,
) -> None:
    for pieces, partial in (([], ""), ([b": alive\n\n"], ""), ([sse(chunk(content="Hm"))], "Hm")):
        server.hung_up.clear()
        error = await broken(server, Events(pieces, "hang"), stall_seconds=0.2)
        assert (error.kind, error.partial) == (ModelErrorKind.UNAVAILABLE, partial)
        assert "said nothing for 0.2 s" in str(error)
        async with asyncio.timeout(60):
            await server.hung_up.wait()


async def test_the_time_of_the_whole_call_bounds_a_stream_too(server: ModelServer) -> None:
    error = await broken(server, Events([sse(chunk(content="Hm"))], "hang"), timeout=0.3)
    assert (error.kind, error.partial) == (ModelErrorKind.UNAVAILABLE, "Hm")
    assert "no answer within 0.3 s" in str(error)


async def test_nobody_waits_for_the_usage_for_ever(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "AFTER_THE_END", 0.1)
    events = Events([sse(chunk(content="All"), chunk("stop"))], "hang")
    assert (await ask(server, events)).content == "All"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "overloaded", "code": 529}, ModelErrorKind.UNAVAILABLE),
        ({"message": "slow down", "code": "429"}, ModelErrorKind.RATE_LIMIT),
        ({"message": "slow down", "type": "rate_limit_error"}, ModelErrorKind.RATE_LIMIT),
        ({"message": "prompt is too long"}, ModelErrorKind.CONTEXT_LENGTH),
        ("something", ModelErrorKind.UNAVAILABLE),
    ],
)
async def test_an_error_within_a_stream_is_one(
    server: ModelServer, error: object, kind: ModelErrorKind
) -> None:
    for before, partial in (([], ""), ([chunk(content="Hm")], "Hm")):
        found = await broken(server, stream(*before, {"error": error}))
        assert (found.kind, found.partial) == (kind, partial)


async def test_an_event_that_cannot_be_read_may_have_been_a_word(server: ModelServer) -> None:
    data = (
        sse(chunk(content="Hm"))
        + b'data: {"choices": [{"delta\n\n'
        + sse(chunk(content="!"))
        + STOP
    )
    error = await broken(server, Events([data]))
    assert (error.kind, error.partial) == (ModelErrorKind.BAD_REPLY, "Hm")


@pytest.mark.parametrize(
    "fault",
    [
        Body("<html>welcome</html>", "text/html"),
        Body(""),
        Body('{"object": "list", "data": []}'),
        Body('{"choices": []}'),
        Events([]),
        Events([DONE]),
        Events([b"data: hello\n\n"]),
        Events([sse({"choices": []}) + DONE]),
    ],
)
async def test_what_is_no_answer_is_a_bad_reply(server: ModelServer, fault: Fault) -> None:
    error = await broken(server, fault)
    assert error.kind is ModelErrorKind.BAD_REPLY
    assert error.partial == ""


async def test_a_cancelled_stream_closes_its_connection(server: ModelServer) -> None:
    first = asyncio.Event()
    server.faults.append(Events([sse(chunk(content="Hm"))], "hang"))
    spec = ModelSpec("parent", "m", api_base=server.url)
    request = Request(spec, [USER], heard=lambda _: first.set())
    task = asyncio.create_task(MODEL.complete(request))
    async with asyncio.timeout(60):
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.hung_up.wait()
