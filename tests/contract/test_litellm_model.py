"""litellm over HTTP: what it sends, what it makes of odd answers, what it never tells."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.models.base import REQUIRED, ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.litellm.errors import LONGEST_ERROR
from agent.models.litellm.model import LitellmModel
from agent.models.retry import Retrying
from agent.models.scripted import Answer, Rule
from storage.records.entries import Json, message
from tests.stand_ins.model import (
    HTML,
    INVALID_JSON,
    NO_CHOICES,
    WRONG_SHAPE,
    Body,
    Cut,
    Fault,
    Hang,
    ModelServer,
    Slow,
    Status,
)

KEY = "sk-bough-1234567890-secret"
PROMPT = "the prompt is private"
USER = message("user", PROMPT)
TOOL: Json = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer([Rule(reply=Answer(text="hello"))]) as server:
        yield server


def spec(server: ModelServer, model: str = "some-model", **more: Any) -> ModelSpec:
    return ModelSpec("worker", model, **{"api_base": server.url, "api_key": KEY, **more})


async def ask(server: ModelServer, *messages: Json, **more: Any) -> Reply:
    return await LitellmModel().complete(Request(spec(server, **more), messages or (USER,)))


async def failure(server: ModelServer, *faults: Fault, **more: Any) -> ModelError:
    server.faults.extend(faults)
    with pytest.raises(ModelError) as caught:
        await ask(server, **more)
    return caught.value


def answer(finish: str = "stop", **fields: Any) -> Body:
    """A chat completion whose message has these fields."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **fields}}
    used = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return Body(json.dumps({**whole, "choices": [choice], "usage": used}))


def call(arguments: Any, **more: Any) -> Json:
    return {"type": "function", "function": {"name": "f", "arguments": arguments}, **more}


# What is sent


async def test_only_what_was_asked_for_is_sent(server: ModelServer) -> None:
    await ask(server, message("system", "Be kind."), USER)
    received = server.requests[0]
    assert received.body == {
        "model": "some-model",
        "messages": [message("system", "Be kind."), USER],
    }
    assert received.headers["Authorization"] == f"Bearer {KEY}"


async def test_tools_and_effort_are_sent_where_there_are_any(server: ModelServer) -> None:
    request = Request(spec(server, reasoning_effort="low"), [USER], [TOOL])
    await LitellmModel().complete(request)
    assert server.requests[0].tools == [TOOL]
    assert server.requests[0].body["reasoning_effort"] == "low"


@pytest.mark.parametrize(
    ("wish", "sent"),
    [
        ("none", "none"),
        (REQUIRED, "required"),
        ("f", {"type": "function", "function": {"name": "f"}}),
        ("", None),
    ],
)
async def test_a_wish_for_a_tool_or_none_is_sent(
    server: ModelServer, wish: str, sent: object
) -> None:
    request = Request(spec(server), [USER], [TOOL], tool_choice=wish)
    await LitellmModel().complete(request)
    assert server.requests[0].body.get("tool_choice") == sent


async def test_a_wish_that_is_refused_is_left_out_and_not_sent_again(server: ModelServer) -> None:
    model = LitellmModel()
    request = Request(spec(server), [USER], [TOOL], tool_choice="f")
    server.faults.append(Status(400, message="this model does not support this tool_choice"))
    for _ in range(2):
        await model.complete(request)
    assert ["tool_choice" in r.body for r in server.requests] == [True, False, False]


async def test_another_refusal_is_not_taken_for_one_of_the_wish(server: ModelServer) -> None:
    server.faults.append(Status(400, message="no such model"))
    with pytest.raises(ModelError):
        await LitellmModel().complete(Request(spec(server), [USER], [TOOL], tool_choice="f"))
    assert len(server.requests) == 1


async def test_an_effort_is_left_out_for_a_model_known_to_take_none(server: ModelServer) -> None:
    await ask(server, model="gpt-4o", reasoning_effort="low")
    assert "reasoning_effort" not in server.requests[0].body


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"model": "openai/gpt-x"}, "gpt-x"),
        ({"model": "gpt-4o"}, "gpt-4o"),
        ({"model": "parent"}, "parent"),
        ({"model": "mistral"}, "mistral"),
        ({"model": "meta-llama/Llama-9"}, "meta-llama/Llama-9"),
        ({"model": "claude-x", "api": "openai"}, "claude-x"),
        ({"model": "anthropic/claude-x", "api": "openai"}, "anthropic/claude-x"),
        ({"model": "openrouter/a/b"}, "a/b"),
    ],
)
async def test_a_server_of_openais_kind_takes_any_name(
    server: ModelServer, given: dict[str, str], sent: str
) -> None:
    await ask(server, **given)
    assert server.requests[0].model == sent


async def test_a_server_of_ones_own_never_gets_the_key_of_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    await ask(server, api_key=None)
    assert KEY not in server.requests[0].headers["Authorization"]


async def test_keys_of_the_provider_in_a_message_are_sent_back_to_it(server: ModelServer) -> None:
    thinking = [{"type": "thinking", "thinking": "x", "signature": "s"}]
    said = message("assistant", "a", thinking_blocks=thinking, reasoning_content="r")
    await ask(server, USER, said, USER)
    assert server.requests[0].messages[1] == said


async def test_a_call_that_was_not_json_is_sent_back_as_json(server: ModelServer) -> None:
    broken = ['{"a": ', "[1]", "", '{"fine": 1}']
    calls = [call(text, id=f"c{number}") for number, text in enumerate(broken)]
    said = message("assistant", "", tool_calls=calls)
    results = [message("tool", "no", tool_call_id=c["id"]) for c in calls]
    await ask(server, USER, said, *results)
    sent = server.requests[0].messages[1]["tool_calls"]
    assert [json.loads(c["function"]["arguments"]) for c in sent] == [
        {"not_json": '{"a": '},
        {"not_json": "[1]"},
        {},
        {"fine": 1},
    ]
    assert said["tool_calls"][0]["function"]["arguments"] == '{"a": '


# What is made of an answer


async def test_a_missing_or_doubled_call_id_becomes_one_of_its_own(server: ModelServer) -> None:
    calls = [call("{}", id=given) for given in ("a", "a", "a-2", None, "")]
    del calls[3]["id"]
    server.faults.append(answer("tool_calls", content=None, tool_calls=calls))
    reply = await ask(server)
    ids = [c.id for c in reply.tool_calls]
    assert ids[:2] == ["a", "a-2"]
    assert all(ids)
    assert len(set(ids)) == 5
    assert [c["id"] for c in reply.raw["tool_calls"]] == ids


async def test_arguments_are_text_whatever_came(server: ModelServer) -> None:
    given = ['{"broken": ', {"a": "é"}, None, ""]
    calls = [call(arguments, id=f"c{number}") for number, arguments in enumerate(given)]
    server.faults.append(answer("tool_calls", content=None, tool_calls=calls))
    reply = await ask(server)
    texts = [c.arguments for c in reply.tool_calls]
    assert texts[0] == '{"broken": '
    assert json.loads(texts[1]) == {"a": "é"}
    assert texts[2:] == ["{}", "{}"]
    assert reply.content == ""


async def test_the_providers_message_is_kept_whole(server: ModelServer) -> None:
    thinking = [{"type": "thinking", "thinking": "x", "signature": "s"}]
    server.faults.append(answer(content="a", thinking_blocks=thinking, reasoning_content="r"))
    raw = (await ask(server)).raw
    assert raw["thinking_blocks"] == thinking
    assert raw["reasoning_content"] == "r"
    assert "tool_calls" not in raw


async def test_text_that_no_database_takes_is_mended(server: ModelServer) -> None:
    server.faults.append(answer(content="a\0b\ud800c", tool_calls=[call("{}", id="\udfff")]))
    reply = await ask(server)
    assert reply.content == "a\ufffdb\ufffdc"
    assert reply.raw["content"] == reply.content
    assert reply.tool_calls[0].id == "\ufffd"


async def test_a_cut_off_answer_is_an_answer(server: ModelServer) -> None:
    server.faults.append(answer("length", content="and then"))
    assert (await ask(server)).content == "and then"


async def test_a_known_model_without_a_configured_price_has_its_list_price(
    server: ModelServer,
) -> None:
    usage = (await ask(server, model="gpt-4o")).usage
    assert usage.cost is not None
    assert usage.cost > 0


@pytest.mark.parametrize(
    "garbage",
    [
        HTML,
        INVALID_JSON,
        WRONG_SHAPE,
        NO_CHOICES,
        Body(""),
        Body("[]"),
        Body("null"),
        Body('{"choices": "x"}'),
        Body('{"choices": [{"index": 0, "finish_reason": "stop", "message": null}]}'),
        answer(tool_calls=["x"]),
        answer(tool_calls=[{"id": "a", "type": "function"}]),
    ],
)
async def test_garbage_is_a_bad_reply(server: ModelServer, garbage: Body) -> None:
    error = await failure(server, garbage)
    assert error.kind is ModelErrorKind.BAD_REPLY
    assert len(server.requests) == 1


async def test_an_answer_the_provider_withheld_is_not_asked_for_again(server: ModelServer) -> None:
    error = await failure(server, answer("content_filter", content=None))
    assert error.kind is ModelErrorKind.BAD_REQUEST
    assert "content filter" in str(error)


# Failures


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelErrorKind.BAD_REQUEST),
        (401, ModelErrorKind.AUTH),
        (402, ModelErrorKind.AUTH),
        (403, ModelErrorKind.AUTH),
        (404, ModelErrorKind.AUTH),
        (408, ModelErrorKind.UNAVAILABLE),
        (413, ModelErrorKind.CONTEXT_LENGTH),
        (418, ModelErrorKind.BAD_REQUEST),
        (422, ModelErrorKind.BAD_REQUEST),
        (429, ModelErrorKind.RATE_LIMIT),
        (500, ModelErrorKind.UNAVAILABLE),
        (502, ModelErrorKind.UNAVAILABLE),
        (503, ModelErrorKind.UNAVAILABLE),
        (529, ModelErrorKind.UNAVAILABLE),
    ],
)
async def test_a_status_has_its_kind_and_makes_one_request(
    server: ModelServer, status: int, kind: ModelErrorKind
) -> None:
    error = await failure(server, Status(status, message="that went wrong"))
    assert error.kind is kind
    assert f"HTTP {status}" in str(error)
    assert "that went wrong" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7), ({"retry-after-ms": "250"}, 0.25), ({}, None)],
)
async def test_the_wait_is_read_from_the_headers(
    server: ModelServer, headers: dict[str, str], seconds: float | None
) -> None:
    assert (await failure(server, Status(429, headers))).retry_after == seconds


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens. Your messages resulted in 9000.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size",
        "The input token count (1200000) exceeds the maximum number of tokens allowed",
    ],
)
async def test_a_context_that_is_too_long_is_recognised(server: ModelServer, text: str) -> None:
    error = await failure(server, Status(400, message=text))
    assert error.kind is ModelErrorKind.CONTEXT_LENGTH


async def test_a_cut_connection_is_unavailable(server: ModelServer) -> None:
    error = await failure(server, Cut())
    assert error.kind is ModelErrorKind.UNAVAILABLE
    assert "cut the connection" in str(error)
    assert len(server.requests) == 1


async def test_a_refused_connection_is_unavailable(server: ModelServer) -> None:
    error = await failure(server, api_base="http://127.0.0.1:1/v1?key=1")
    assert error.kind is ModelErrorKind.UNAVAILABLE
    assert str(error) == "worker model some-model: cannot connect to 127.0.0.1:1"


async def test_a_model_that_hangs_is_given_up_after_the_timeout(server: ModelServer) -> None:
    server.faults.append(Hang())
    with pytest.raises(ModelError, match=r"in time|no answer within") as caught:
        await LitellmModel(timeout=0.2).complete(Request(spec(server), [USER]))
    assert caught.value.kind is ModelErrorKind.UNAVAILABLE
    assert len(server.requests) == 1


async def test_a_slow_model_is_waited_for(server: ModelServer) -> None:
    server.faults.append(Slow(0.2))
    assert (await ask(server)).content == "hello"


async def test_cancelling_a_call_closes_its_connection(server: ModelServer) -> None:
    server.faults.append(Hang())
    task = asyncio.create_task(ask(server))
    await server.arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(60):
        await server.hung_up.wait()


async def test_retrying_waits_as_long_as_the_server_says(server: ModelServer) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    server.faults.extend([Status(429, {"Retry-After": "7"}), HTML, Cut(), Status(500)])
    retrying = Retrying(LitellmModel(), attempts=5, sleep=sleep)
    reply = await retrying.complete(Request(spec(server), [USER]))
    assert reply.content == "hello"
    assert slept[0] == 7
    assert (len(slept), len(server.requests)) == (4, 5)


async def test_a_name_without_a_provider_is_explained() -> None:
    with pytest.raises(ModelError, match="write it as provider/model") as caught:
        await LitellmModel().complete(Request(ModelSpec("parent", "no-such-model"), [USER]))
    assert caught.value.kind is ModelErrorKind.AUTH


async def test_an_unknown_api_is_explained(server: ModelServer) -> None:
    error = await failure(server, api="opneai")
    assert error.kind is ModelErrorKind.BAD_REQUEST
    assert "opneai" in str(error)
    assert server.requests == []


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
async def test_a_missing_key_is_an_auth_error(
    monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    with pytest.raises(ModelError) as caught:
        await LitellmModel().complete(Request(ModelSpec("parent", f"{provider}/m"), [USER]))
    assert caught.value.kind is ModelErrorKind.AUTH


# What is never told


async def test_neither_key_nor_prompt_is_in_errors_or_logs(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    async with ModelServer(api_key="another key") as server:
        refused = await failure(server)
        assert refused.kind is ModelErrorKind.AUTH
        server.faults.append(Status(500, message=f"{KEY} and Bearer {KEY} said\n{PROMPT * 20}"))
    async with ModelServer() as server:
        fault = Status(500, message=f"{KEY},\nBearer {KEY[:-1]}, " + "long " * 200)
        broken = await failure(server, fault)
    for error in (refused, broken):
        assert KEY[3:20] not in str(error)
        assert "***" in str(error)
        assert "\n" not in str(error)
        assert len(str(error)) <= LONGEST_ERROR
        assert error.__suppress_context__
    told = caplog.text + "".join(capfd.readouterr())
    assert KEY not in told
    assert PROMPT not in told


# The rest


def test_the_module_does_not_import_litellm() -> None:
    program = (
        "import sys, agent.models.litellm.model\n"
        "agent.models.litellm.model.LitellmModel()\n"
        "print(sorted({'litellm', 'openai', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


# What servers say about usage


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens": 1e30, "completion_tokens": 1e30}',
        '{"prompt_tokens": -5, "completion_tokens": -7}',
        '{"prompt_tokens": NaN, "completion_tokens": Infinity}',
        '{"prompt_tokens": true, "completion_tokens": "many"}',
        '{"prompt_tokens": 123456789012345678901234567890, "completion_tokens": []}',
        '{"prompt_tokens_details": "x", "completion_tokens_details": {"reasoning_tokens": "z"}}',
        "{}",
        "null",
        '"text"',
        "[1]",
    ],
)
async def test_an_odd_usage_loses_no_reply_and_is_estimated(
    server: ModelServer, usage: str
) -> None:
    whole = json.loads(answer(content="hi").body) | {"usage": "HERE"}
    server.faults.append(Body(json.dumps(whole).replace('"HERE"', usage)))
    reply = await ask(server, input_cost=1.0, output_cost=1.0)
    assert reply.content == "hi"
    assert 1 < reply.usage.input < 100
    assert reply.usage.output == 1
    assert reply.usage.cost == reply.usage.input + reply.usage.output


async def test_sound_numbers_beside_odd_ones_are_taken(server: ModelServer) -> None:
    odd = {"prompt_tokens": 30, "completion_tokens": "4", "total_tokens": -1, "cost": "free"}
    whole = json.loads(answer(content="hi").body) | {"usage": odd}
    server.faults.append(Body(json.dumps(whole)))
    usage = (await ask(server)).usage
    assert (usage.input, usage.output) == (30, 4)
