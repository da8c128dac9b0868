"""What every model does, checked on the scripted one and on litellm against the HTTP stand-in."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agent.models.base import (
    Heard,
    Model,
    ModelError,
    ModelErrorKind,
    ModelSpec,
    Reply,
    Request,
)
from agent.models.litellm.model import LitellmModel
from agent.models.scripted import Answer, Call, Rule, ScriptedModel, Spent, When
from storage.records.entries import Json, message
from tests.stand_ins.model import ModelServer

Ask = Callable[..., Awaitable[Reply]]
Prepare = Callable[[Sequence[Rule]], Awaitable[Ask]]


def asking(model: Model, *, streamed: bool = False, **spec: Any) -> Ask:
    async def ask(
        *messages: Json,
        tools: Sequence[Json] = (),
        heard: Heard | None = None,
        whole: bool = False,
        **more: Any,
    ) -> Reply:
        pieces: list[str] = []
        if heard is None and streamed and not whole:
            heard = pieces.append
        reply = await model.complete(
            Request(ModelSpec("parent", "m", **spec, **more), messages, tools, heard=heard)
        )
        assert reply.content.startswith("".join(pieces))
        return reply

    return ask


@pytest.fixture(params=["scripted", "litellm", "scripted, streamed", "litellm, streamed"])
async def prepare(request: pytest.FixtureRequest) -> AsyncIterator[Prepare]:
    """Makes a model that follows rules, and gives the way to ask it."""
    name, _, streamed = request.param.partition(", ")
    async with AsyncExitStack() as stack:

        async def prepare(rules: Sequence[Rule]) -> Ask:
            if name == "scripted":
                return asking(ScriptedModel(rules), streamed=bool(streamed))
            server = await stack.enter_async_context(ModelServer(rules))
            return asking(LitellmModel(timeout=30), streamed=bool(streamed), api_base=server.url)

        yield prepare


USER = message("user", "What is the weather in Oslo?")
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "think",
        "description": "Think.",
        "parameters": {"type": "object", "properties": {"thought": {"type": "string"}}},
    },
}


async def test_a_text_is_answered_with_a_text(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(text="You said: {last}"))])
    reply = await ask(message("system", "Be kind."), USER)
    assert reply.content == "You said: What is the weather in Oslo?"
    assert reply.tool_calls == ()
    assert (reply.raw["role"], reply.raw["content"]) == ("assistant", reply.content)


async def test_every_text_arrives_as_it_is(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(text="{last}"))])
    text = '💡 "שלום"\n\t```py\n<b>\\u0000 {last} é'
    assert (await ask(message("user", text))).content == text


async def test_usage_is_of_one_call_and_has_the_configured_price(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(text="x", usage=Spent(input=1000, output=10)))])
    usage = (await ask(USER, input_cost=1e-6, output_cost=1e-5)).usage
    assert (usage.input, usage.output, usage.calls) == (1000, 10, 1)
    assert usage.cost == pytest.approx(0.0011)


async def test_the_cost_of_a_model_without_a_price_is_not_known(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(text="x"))])
    assert (await ask(USER)).usage.cost is None


async def test_tool_calls_come_in_order_with_arguments_as_text(prepare: Prepare) -> None:
    calls = (
        Call(name="think", arguments={"thought": "é", "deep": {"n": [1, None]}}),
        Call(name="think", arguments={}),
        Call(name="no_such_tool", arguments='{"broken": '),
        Call(name="think", arguments="[1]"),
    )
    ask = await prepare([Rule(reply=Answer(text="Hm.", tool_calls=calls))])
    reply = await ask(USER, tools=[TOOL])
    assert [call.name for call in reply.tool_calls] == ["think", "think", "no_such_tool", "think"]
    assert json.loads(reply.tool_calls[0].arguments) == {"thought": "é", "deep": {"n": [1, None]}}
    assert [call.arguments for call in reply.tool_calls[1:]] == ["{}", '{"broken": ', "[1]"]
    assert reply.content == "Hm."
    assert len({call.id for call in reply.tool_calls}) == 4


async def test_a_reply_can_be_sent_back_with_its_results(prepare: Prepare) -> None:
    calls = (Call(name="think", arguments={"thought": "a"}), Call(name="f", arguments="{broken"))
    ask = await prepare(
        [
            Rule(when=When(turn=0), reply=Answer(tool_calls=calls)),
            Rule(when=When(turn=1), reply=Answer(text="{last_tool}, and so on")),
        ]
    )
    first = await ask(USER, tools=[TOOL])
    assert [call["id"] for call in first.raw["tool_calls"]] == [c.id for c in first.tool_calls]
    results = [message("tool", f"did {c.name}", tool_call_id=c.id) for c in first.tool_calls]
    second = await ask(USER, first.raw, *results, tools=[TOOL])
    assert second.content == "did f, and so on"


async def test_a_reply_is_plain_json(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(text="x", tool_calls=(Call(name="f"),)))])
    raw = (await ask(USER, tools=[TOOL])).raw
    assert json.loads(json.dumps(raw)) == raw


async def test_a_model_sees_which_tools_are_offered(prepare: Prepare) -> None:
    ask = await prepare(
        [
            Rule(when=When(tools=("think",)), reply=Answer(text="I could think")),
            Rule(reply=Answer(text="nothing to do")),
        ]
    )
    assert (await ask(USER, tools=[TOOL])).content == "I could think"
    assert (await ask(USER)).content == "nothing to do"


async def test_an_empty_answer_is_an_answer(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer())])
    reply = await ask(USER)
    assert (reply.content, reply.tool_calls) == ("", ())


OF_PROVIDERS = [kind for kind in ModelErrorKind if kind is not ModelErrorKind.BUDGET]


@pytest.mark.parametrize("kind", OF_PROVIDERS)
async def test_every_failure_has_its_kind(prepare: Prepare, kind: ModelErrorKind) -> None:
    ask = await prepare([Rule(reply=Answer(text="no luck today", error=kind))])
    with pytest.raises(ModelError) as caught:
        await ask(USER)
    assert caught.value.kind is kind
    assert caught.value.retry_after is None


async def test_a_busy_model_says_how_long_to_wait(prepare: Prepare) -> None:
    answer = Answer(text="too fast", error=ModelErrorKind.RATE_LIMIT, retry_after=1.5)
    ask = await prepare([Rule(reply=answer)])
    with pytest.raises(ModelError, match="too fast") as caught:
        await ask(USER, whole=True)
    assert caught.value.retry_after == 1.5


async def test_a_text_is_heard_as_it_comes(prepare: Prepare) -> None:
    text = "One, two,\n\nthree: 💡 שלום"
    ask = await prepare([Rule(reply=Answer(text=text, tool_calls=(Call(name="think"),)))])
    heard: list[str] = []
    reply = await ask(USER, tools=[TOOL], heard=heard.append)
    assert "".join(heard) == reply.content == text
    assert len(heard) > 1
    assert [call.name for call in reply.tool_calls] == ["think"]


async def test_the_first_words_are_heard_before_the_last_ones_are_there(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(text="soon later", pace=3600))])
    heard, first = list[str](), asyncio.Event()

    def hear(piece: str) -> None:
        heard.append(piece)
        first.set()

    task = asyncio.ensure_future(ask(USER, heard=hear))
    async with asyncio.timeout(60):
        await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "".join(heard).strip() == "soon"


async def test_an_answer_that_breaks_off_says_what_was_heard(prepare: Prepare) -> None:
    answer = Answer(begins="Once upon a", error=ModelErrorKind.UNAVAILABLE)
    ask = await prepare([Rule(reply=answer)])
    heard: list[str] = []
    with pytest.raises(ModelError) as caught:
        await ask(USER, heard=heard.append)
    assert caught.value.partial == "".join(heard) == "Once upon a"
    assert caught.value.kind is ModelErrorKind.UNAVAILABLE


async def test_a_failure_before_the_first_word_has_nothing_of_an_answer(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(error=ModelErrorKind.RATE_LIMIT, retry_after=1.5))])
    heard: list[str] = []
    with pytest.raises(ModelError) as caught:
        await ask(USER, heard=heard.append)
    assert (caught.value.partial, caught.value.retry_after, heard) == ("", 1.5, [])


async def test_parallel_calls_get_each_its_own_answer(prepare: Prepare) -> None:
    ask = await prepare([Rule(reply=Answer(text="{last}", delay=0.01))])
    texts = [f"question {number}" for number in range(20)]
    replies = await asyncio.gather(*(ask(message("user", text)) for text in texts))
    assert [reply.content for reply in replies] == texts


async def test_a_call_can_be_cancelled(prepare: Prepare) -> None:
    ask = await prepare(
        [Rule(when=When(last="slow"), reply=Answer(delay=3600)), Rule(reply=Answer(text="x"))]
    )
    await ask(USER)
    task = asyncio.ensure_future(ask(message("user", "slow")))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ask(USER)).content == "x"


def test_the_model_server_runs_alone(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n- reply: {text: 'You said: {last}'}")
    command = [sys.executable, "-m", "tests.stand_ins.model", "--port", "0", str(rules)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("listening on ").strip()
        body = {"model": "m", "messages": [message("user", "hi")], "stream": True}
        request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
        with urllib.request.urlopen(request) as response:
            lines = response.read().decode().split("\n\n")
        process.terminate()
    assert lines[-2:] == ["data: [DONE]", ""]
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == "You said: hi"
