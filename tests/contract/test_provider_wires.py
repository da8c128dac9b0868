"""One answer on every provider's wire, whole and streamed, and the next request that sends it back.

What is asserted is the same for all: so a provider is a row of tests/support/provider_wires.py."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.models.base import ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.litellm.model import LitellmModel
from storage.records.entries import Json, message
from tests.stand_ins.wires import Stream, Whole, WireServer
from tests.support.provider_wires import WIRES, Said, Wire

MODEL = LitellmModel()
USER = message("user", "What is the weather?")
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
OSLO, ROME = {"city": "Oslo"}, {"city": "Rome"}
THOUGHT = Said("Look.", "Let me see.", "c2ln", [("call_1", "f", OSLO), ("call_2", "f", ROME)])

wires = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with WireServer() as server:
        yield server


class Conversation:
    """Calls of one provider's model, in one way."""

    def __init__(
        self, server: WireServer, wire: Wire, streamed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in wire.environment.items():
            monkeypatch.setenv(name, value)
        self.server, self.wire, self.streamed = server, wire, streamed
        self.heard: list[str] = []

    async def ask(self, said: Said | Whole | Stream, *messages: Json) -> Reply:
        self.server.answers.append(self.answer(said) if isinstance(said, Said) else said)
        return await MODEL.complete(self.request(*messages))

    def answer(self, said: Said) -> Whole | Stream:
        if self.streamed and self.wire.streams:
            return Stream(self.wire.content_type, self.wire.pieces(said))
        return Whole(self.wire.whole(said))

    def request(self, *messages: Json) -> Request:
        base = self.server.url + self.wire.path
        spec = ModelSpec("parent", self.wire.model, api_base=base, api_key="sk-test-123456")
        heard = self.heard.append if self.streamed else None
        return Request(spec, messages or (USER,), [TOOL], heard=heard)

    @property
    def sent(self) -> Any:
        """The messages of the last request, in whatever shape the provider takes them."""
        body = self.server.asked[-1].body
        return body.get("messages") or body.get("contents")


@pytest.fixture
def conversation(
    server: WireServer, wire: Wire, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> Conversation:
    return Conversation(server, wire, streamed, monkeypatch)


@wires
@both
async def test_a_text_comes_as_it_is_and_is_heard(conversation: Conversation) -> None:
    text = "Grüße\u2028 – <b>there</b>"
    if conversation.streamed and not conversation.wire.keeps_separators:
        text = text.replace("\u2028", "")
    reply = await conversation.ask(Said(text))
    assert reply.content == text
    assert "".join(conversation.heard) == (reply.content if conversation.streamed else "")
    assert (reply.usage.input, reply.usage.output, reply.stop) == (30, 12, "")
    assert len(conversation.server.asked) == 1


@wires
@both
async def test_calls_come_beside_text_and_thinking(conversation: Conversation) -> None:
    reply = await conversation.ask(THOUGHT)
    calls = [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]
    assert calls == [("f", OSLO), ("f", ROME)]
    if conversation.wire.calls_have_ids:
        assert [call.id for call in reply.tool_calls] == ["call_1", "call_2"]
    assert len({call.id for call in reply.tool_calls}) == 2
    assert reply.content == ("" if conversation.wire.name == "cohere" else "Look.")
    assert "see" not in "".join(conversation.heard)


@wires
@both
async def test_thinking_is_kept_and_never_said(conversation: Conversation) -> None:
    reply = await conversation.ask(Said("Yes.", "Let me see.", "c2ln"))
    assert reply.content == "Yes."
    if conversation.wire.thinks and conversation.wire.name != "cohere":
        assert reply.raw["reasoning_content"] == "Let me see."


@wires
@both
async def test_thinking_between_tags_is_thinking(conversation: Conversation) -> None:
    reply = await conversation.ask(Said("<think>Let me see.</think>\n\nYes."))
    assert reply.content == "Yes."
    assert reply.raw["reasoning_content"] == "Let me see."
    assert "".join(conversation.heard) in ("Yes.", "")


@wires
@both
async def test_cached_tokens_are_counted(conversation: Conversation) -> None:
    reply = await conversation.ask(Said("Yes.", cached=20))
    counted = 20 if conversation.wire.counts_cache else 0
    assert (reply.usage.input, reply.usage.cached) == (30, counted)


@wires
@both
async def test_an_empty_answer_is_an_answer(conversation: Conversation) -> None:
    reply = await conversation.ask(Said(""))
    assert (reply.content, reply.tool_calls, conversation.heard) == ("", (), [])


@wires
@both
async def test_an_answer_that_reached_its_limit_says_so(conversation: Conversation) -> None:
    reply = await conversation.ask(Said("Once upon", finish="length"))
    assert (reply.content, reply.stop) == ("Once upon", "length")


@wires
@both
async def test_an_answer_that_is_withheld_is_not_an_answer(conversation: Conversation) -> None:
    if conversation.wire.name in ("cohere", "ollama"):
        pytest.skip("it has no filter of its own")
    with pytest.raises(ModelError, match="content filter") as caught:
        await conversation.ask(Said("", finish="blocked"))
    assert caught.value.kind is ModelErrorKind.BAD_REQUEST


STATUSES = {
    401: ModelErrorKind.AUTH,
    403: ModelErrorKind.AUTH,
    404: ModelErrorKind.AUTH,
    400: ModelErrorKind.BAD_REQUEST,
    429: ModelErrorKind.RATE_LIMIT,
    500: ModelErrorKind.UNAVAILABLE,
    503: ModelErrorKind.UNAVAILABLE,
    529: ModelErrorKind.UNAVAILABLE,
}


@wires
@both
@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
async def test_a_status_is_told_by_kind_in_the_providers_words(
    conversation: Conversation, status: int, kind: ModelErrorKind
) -> None:
    fault = Whole(conversation.wire.fault(status, "the words of it"), status, {"Retry-After": "7"})
    with pytest.raises(ModelError, match="the words of it") as caught:
        await conversation.ask(fault)
    assert caught.value.kind is kind
    assert caught.value.retry_after == 7
    assert len(conversation.server.asked) == 1


@wires
async def test_an_error_within_a_stream_is_told_as_what_it_is(
    server: WireServer, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not wire.streams:
        pytest.skip("its stream is not asked for")
    conversation = Conversation(server, wire, True, monkeypatch)
    begun = wire.pieces(Said("Once upon a time"))[:-3]
    pieces = [*begun, wire.fault_within("it is overloaded")]
    with pytest.raises(ModelError, match="it is overloaded") as caught:
        await conversation.ask(Stream(wire.content_type, pieces))
    assert caught.value.kind is ModelErrorKind.UNAVAILABLE
    assert caught.value.partial == "".join(conversation.heard)


@wires
async def test_a_stream_that_is_cut_is_no_whole_answer(
    server: WireServer, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not wire.streams:
        pytest.skip("its stream is not asked for")
    conversation = Conversation(server, wire, True, monkeypatch)
    pieces = wire.pieces(Said("Once upon a time"))
    first = next(number for number, piece in enumerate(pieces) if b"Once" in piece)
    begun = pieces[: first + 1]
    with pytest.raises(ModelError) as caught:
        await conversation.ask(Stream(wire.content_type, begun, cut=True))
    assert caught.value.kind is ModelErrorKind.UNAVAILABLE
    assert caught.value.partial == "".join(conversation.heard) != ""


def texts_in(sent: Any) -> list[str]:
    """Every text in a request's messages, wherever it stands."""
    if isinstance(sent, dict):
        named = [value for key, value in sent.items() if key in ("text", "content")]
        here = [value for value in named if isinstance(value, str)]
        return here + [text for value in sent.values() for text in texts_in(value)]
    return [text for each in sent for text in texts_in(each)] if isinstance(sent, list) else []


@wires
@both
async def test_calls_go_back_without_an_empty_text_beside_them(conversation: Conversation) -> None:
    first = await conversation.ask(Said(calls=[("call_1", "f", OSLO)]))
    id_ = first.tool_calls[0].id
    silent = message("assistant", "")
    result = message("tool", "21 °C", tool_call_id=id_, name="f")
    await conversation.ask(Said("21 °C."), USER, first.raw, result, silent, message("user", "so?"))
    texts = texts_in(conversation.sent)
    said = [text for text in texts if text in ("", " ") or "sanit" in text]
    allowed = [""] if conversation.wire.name == "ollama" else []  # it has no other way to say so
    assert said == allowed
    assert [text for text in texts if "21" in text]


STRICT = ("reasoning_content", "provider_specific_fields", "thinking_blocks", "reasoning")


@wires
@both
async def test_a_provider_gets_of_its_thinking_what_it_takes(conversation: Conversation) -> None:
    first = await conversation.ask(THOUGHT)
    results = [
        message("tool", "21 °C", tool_call_id=call.id, name="f") for call in first.tool_calls
    ]
    second = await conversation.ask(Said("21 °C."), USER, first.raw, *results)
    assert second.content == "21 °C."
    sent = json.dumps(conversation.sent)
    keys = {name for name in STRICT if f'"{name}"' in sent}
    match conversation.wire.name:
        case "deepseek":
            assert keys == {"reasoning_content"}
        case "openrouter":
            assert keys == set()
            assert conversation.sent[1]["reasoning_details"][0]["signature"] == "c2ln"
        case "anthropic" | "bedrock" | "gemini":
            assert "c2ln" in sent  # the signature of the thinking, or of the call
            assert keys <= {"reasoningContent"}
        case _:
            assert keys == set()


@both
async def test_a_server_that_refuses_thinking_is_asked_without_from_then_on(
    server: WireServer, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = next(wire for wire in WIRES if wire.name == "deepseek")
    conversation = Conversation(server, wire, streamed, monkeypatch)
    conversation.wire = type(wire)("picky", "openai/picky", path=f"/{streamed}/v1")
    first = await conversation.ask(Said("Yes.", "Let me see."))
    refusal = Whole(wire.fault(400, "property 'reasoning_content' is unsupported"), 400)
    server.answers.append(refusal)
    await conversation.ask(Said("Yes."), USER, first.raw, message("user", "so?"))
    assert [("reasoning_content" in json.dumps(asked.body)) for asked in server.asked] == [
        *(False, True, False)
    ]
    await conversation.ask(Said("Yes."), USER, first.raw, message("user", "so?"))
    assert len(server.asked) == 4
    assert "reasoning_content" not in json.dumps(server.asked[-1].body)


@both
async def test_a_refusal_is_the_answers_text(
    server: WireServer, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = Conversation(server, WIRES[0], streamed, monkeypatch)
    wire: Any = WIRES[0]
    whole = wire.whole(Said())
    whole["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I won't."}
    parts = ("I ", "won't.")
    pieces = [
        *(f"data: {json.dumps(wire.chunk({'refusal': part}))}\n\n".encode() for part in parts),
        *wire.pieces(Said())[-3:],
    ]
    reply = await conversation.ask(Stream(wire.content_type, pieces) if streamed else Whole(whole))
    assert reply.content == "I won't."
    assert conversation.heard == ([*parts] if streamed else [])


@both
async def test_a_block_of_vertex_is_one(
    server: WireServer, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = next(wire for wire in WIRES if wire.name == "gemini")
    conversation = Conversation(server, wire, streamed, monkeypatch)
    used = {"usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}}
    for blocked in (
        {"promptFeedback": {"blockReason": "MODEL_ARMOR", "blockReasonMessage": "policy"}} | used,
        {"candidates": [{"index": 0, "finishReason": "MODEL_ARMOR"}]} | used,
        {"candidates": [{"index": 0, "finishReason": "PROHIBITED_CONTENT"}]} | used,
    ):
        piece = f"data: {json.dumps(blocked)}\n\n".encode()
        answer = Stream(wire.content_type, [piece]) if streamed else Whole(blocked)
        with pytest.raises(ModelError, match="content filter") as caught:
            await conversation.ask(answer)
        assert caught.value.kind is ModelErrorKind.BAD_REQUEST


async def test_an_empty_part_of_a_call_is_left_out(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snowflake's servers put an empty `custom` beside each function."""
    for streamed in (False, True):
        conversation = Conversation(server, WIRES[0], streamed, monkeypatch)
        whole = json.dumps(WIRES[0].whole(Said(calls=[("call_1", "f", OSLO)])))
        pieces = WIRES[0].pieces(Said(calls=[("call_1", "f", OSLO)]))
        odd = [piece.replace(b'"function": {', b'"custom": {}, "function": {') for piece in pieces]
        answer = (
            Stream(WIRES[0].content_type, odd)
            if streamed
            else Whole(json.loads(whole.replace('"function": {', '"custom": {}, "function": {')))
        )
        reply = await conversation.ask(answer)
        assert "custom" not in json.dumps(reply.raw)
        assert reply.tool_calls[0].name == "f"


async def test_a_model_of_ollama_is_asked_and_nobody_else(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """litellm would ask localhost, on the event loop, whatever the address of the server is."""
    wire = next(wire for wire in WIRES if wire.name == "ollama")
    conversation = Conversation(server, wire, True, monkeypatch)
    reply = await asyncio.wait_for(conversation.ask(Said("Yes.")), 60)
    assert reply.content == "Yes."
    assert [asked.path for asked in server.asked] == ["/api/chat"]


def openai(message: Json, finish: str | None = "stop", **more: Any) -> Json:
    return {
        "id": "1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    } | more


def gemini(*parts: Json, finish: str = "STOP") -> Json:
    candidate = {"index": 0, "content": {"parts": list(parts)}, "finishReason": finish}
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 3, "x": None}}


def ollama(message: Json | None, reason: str = "stop") -> Json:
    said = {} if message is None else {"message": {"role": "assistant"} | message}
    return {"model": "m", "done": True, "done_reason": reason, "eval_count": None} | said


CALLED = {"name": "f", "arguments": '{"city": "Oslo"}'}
ODD_ANSWERS: dict[str, tuple[str, Json, str, int]] = {
    "parts": ("openai", openai({"content": [{"type": "text", "text": "Yes."}]}), "Yes.", 0),
    "no role": ("openai", openai({"content": "Yes."}, None), "Yes.", 0),
    "old call": ("openai", openai({"content": None, "function_call": CALLED}), "", 1),
    "no ids": ("openai", openai({"tool_calls": [{"function": CALLED}] * 2}), "", 2),
    "a reference": (
        "mistral",
        openai({"content": [{"type": "text", "text": "Ye"}, {"type": "reference"}, "s."]}),
        "Yes.",
        0,
    ),
    "no args": ("gemini", gemini({"functionCall": {"name": "f"}}), "", 1),
    "no counts": ("ollama", ollama({"content": "Yes."}), "Yes.", 0),
    "no arguments": ("ollama", ollama({"tool_calls": [{"function": {"name": "f"}}]}), "", 1),
    "no usage": (
        "cohere",
        {"finish_reason": "COMPLETE", "message": {"role": "assistant", "content": []}},
        "",
        0,
    ),
}


@pytest.mark.parametrize(("name", "body", "text", "calls"), ODD_ANSWERS.values(), ids=ODD_ANSWERS)
async def test_an_answer_that_lacks_a_field_is_read(
    server: WireServer,
    name: str,
    body: Json,
    text: str,
    calls: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = next(wire for wire in WIRES if wire.name == name)
    reply = await Conversation(server, wire, False, monkeypatch).ask(Whole(body))
    assert (reply.content, len(reply.tool_calls)) == (text, calls)
    assert len({call.id for call in reply.tool_calls}) == calls
    assert all(isinstance(json.loads(call.arguments), dict) for call in reply.tool_calls)


AWAY, GARBLED = ModelErrorKind.UNAVAILABLE, ModelErrorKind.BAD_REPLY
TOLD: Json = {"message": "the words of it"}
BODIES_THAT_FAILED: dict[str, tuple[str, Json, ModelErrorKind]] = {
    "an error for an answer": ("openai", {"error": TOLD | {"code": 502}}, AWAY),
    "in a word": ("openai", {"error": "the words of it"}, AWAY),
    "vllm": ("openai", TOLD | {"object": "error", "code": 400}, ModelErrorKind.BAD_REQUEST),
    "a choice's": ("openrouter", {"choices": [{"error": TOLD, "finish_reason": "error"}]}, AWAY),
    "broken off": ("deepseek", openai({"content": "Ye"}, "insufficient_system_resource"), AWAY),
    "groq": ("groq", {"choices": [], "x_groq": {"error": "the words of it"}}, AWAY),
    "quota": (
        "openai",
        {"error": TOLD | {"type": "insufficient_quota"}},
        ModelErrorKind.RATE_LIMIT,
    ),
    "a call": ("gemini", gemini(finish="MALFORMED_FUNCTION_CALL"), GARBLED),
    "loaded": ("ollama", ollama({"content": ""}, "load"), AWAY),
    "ollama": ("ollama", {"error": "the words of it"}, AWAY),
    "timeout": ("cohere", {"finish_reason": "TIMEOUT", "message": {"role": "assistant"}}, AWAY),
}


@both
@pytest.mark.parametrize(
    ("name", "body", "kind"), BODIES_THAT_FAILED.values(), ids=BODIES_THAT_FAILED
)
async def test_an_answer_that_says_it_failed_is_none(
    server: WireServer,
    name: str,
    body: Json,
    kind: ModelErrorKind,
    streamed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = next(wire for wire in WIRES if wire.name == name)
    conversation = Conversation(server, wire, streamed, monkeypatch)
    end = b"\n" if name == "ollama" else b"\n\n"
    event = (b"" if name == "ollama" else b"data: ") + json.dumps(body).encode() + end
    stream = streamed and wire.streams
    words = "the words of it" if "the words of it" in json.dumps(body) else "broke off|a call"
    with pytest.raises(ModelError, match=words) as caught:
        await conversation.ask(Stream(wire.content_type, [event]) if stream else Whole(body))
    assert caught.value.kind is kind


AMAZONS = {
    "throttlingException": ModelErrorKind.RATE_LIMIT,
    "modelStreamErrorException": AWAY,
    "validationException": ModelErrorKind.BAD_REQUEST,
}


@pytest.mark.parametrize(("exception", "kind"), AMAZONS.items())
async def test_an_error_of_amazons_stream_is_told(
    server: WireServer, exception: str, kind: ModelErrorKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire: Any = next(wire for wire in WIRES if wire.name == "bedrock")
    conversation = Conversation(server, wire, True, monkeypatch)
    pieces = [*wire.pieces(Said("Once"))[:3], wire.event(exception, TOLD, "exception")]
    with pytest.raises(ModelError, match="the words of it") as caught:
        await conversation.ask(Stream(wire.content_type, pieces))
    assert (caught.value.kind, caught.value.partial) == (kind, "Once")
