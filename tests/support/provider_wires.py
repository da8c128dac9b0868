"""The wires of model providers: what one and the same answer looks like on each of them, whole and
streamed, and how each reports errors. Written from the providers' published API documents."""

import binascii
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from storage.records.entries import Json

Finish = Literal["stop", "length", "blocked"]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, whoever gives it."""

    text: str = ""
    thoughts: str = ""
    signature: str = ""
    """Of the thoughts, for a provider that signs them."""
    calls: Sequence[tuple[str, str, Json]] = ()
    """Id, name, arguments."""
    finish: Finish = "stop"
    read: int = 30
    """Tokens of the input, cached ones among them."""
    cached: int = 0
    written: int = 12


def halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]


def sse(*events: Json, done: bool = False) -> list[bytes]:
    lines = [f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events]
    return [*lines, b"data: [DONE]\n\n"] if done else lines


@dataclass(frozen=True)
class Wire:
    """One provider's protocol."""

    name: str
    model: str
    thinks: bool = True
    calls_have_ids: bool = True
    counts_cache: bool = True
    streams: bool = True
    """Whether the answer can be heard as it comes; Bough asks for it whole otherwise."""
    keeps_separators: bool = True
    """Whether litellm's reader of its stream keeps a line separator of Unicode within a text."""
    environment: Json = field(default_factory=dict)
    path: str = ""
    """Of the api_base, below the server."""
    content_type: ClassVar[str] = "text/event-stream"

    def whole(self, said: Said) -> Json:
        raise NotImplementedError

    def pieces(self, said: Said) -> list[bytes]:
        """The same answer as a stream."""
        raise NotImplementedError

    def fault(self, status: int, words: str) -> Json:
        """The body of an HTTP error."""
        return {"error": {"message": words, "type": "error", "code": status}}

    def fault_within(self, words: str) -> bytes:
        """An error that is reported after the stream has begun."""
        return sse({"error": {"message": words, "code": 503}})[0]


class OpenAI(Wire):
    thoughts_key: ClassVar[str] = ""

    def finish(self, said: Said) -> str:
        reasons = {"length": "length", "blocked": "content_filter"}
        return reasons.get(said.finish) or ("tool_calls" if said.calls else "stop")

    def message(self, said: Said) -> Json:
        made: Json = {"role": "assistant", "content": said.text or None}
        if said.thoughts and self.thoughts_key:
            made[self.thoughts_key] = said.thoughts
        if said.calls:
            made["tool_calls"] = [self.call(*each) for each in said.calls]
        return made

    def call(self, id_: str, name: str, arguments: Json) -> Json:
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"id": id_, "type": "function", "function": function}

    def usage(self, said: Said) -> Json:
        used: Json = {"prompt_tokens": said.read, "completion_tokens": said.written}
        used["total_tokens"] = said.read + said.written
        if said.cached:
            used["prompt_tokens_details"] = {"cached_tokens": said.cached}
        return used

    def head(self, kind: str) -> Json:
        model = self.model.partition("/")[2]
        return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": model}

    def whole(self, said: Said) -> Json:
        choice = {"index": 0, "message": self.message(said), "finish_reason": self.finish(said)}
        more = {"choices": [choice], "usage": self.usage(said)}
        return self.head("chat.completion") | more

    def deltas(self, said: Said) -> list[Json]:
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        if self.thoughts_key:
            deltas += [{self.thoughts_key: part} for part in halves(said.thoughts)]
        deltas += [{"content": part} for part in halves(said.text)]
        for index, each in enumerate(said.calls):
            call = self.call(*each)
            first, *rest = halves(call["function"]["arguments"])
            begun = call | {"function": call["function"] | {"arguments": first}}
            deltas.append({"tool_calls": [{"index": index} | begun]})
            for part in rest:
                more = {"index": index, "function": {"arguments": part}}
                deltas.append({"tool_calls": [more]})
        return deltas

    def chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return self.head("chat.completion.chunk") | {"choices": [choice]}

    def pieces(self, said: Said) -> list[bytes]:
        chunks = [self.chunk(delta) for delta in self.deltas(said)]
        last = self.chunk({}, self.finish(said))
        used = self.head("chat.completion.chunk") | {"choices": [], "usage": self.usage(said)}
        return sse(*chunks, last, used, done=True)


class Azure(OpenAI):
    """Filters' findings come before the first choice and beside each."""

    def pieces(self, said: Said) -> list[bytes]:
        found = {"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}
        first = self.head("") | {"choices": [], "prompt_filter_results": [found]}
        return [*sse(first), *super().pieces(said)]


class DeepSeek(OpenAI):
    thoughts_key = "reasoning_content"

    def usage(self, said: Said) -> Json:
        hit = {"prompt_cache_hit_tokens": said.cached}
        return super().usage(said) | hit | {"prompt_cache_miss_tokens": said.read - said.cached}


class Groq(OpenAI):
    thoughts_key = "reasoning"

    def whole(self, said: Said) -> Json:
        return super().whole(said) | {"service_tier": "on_demand", "x_groq": {"id": "req_1"}}


class OpenRouter(OpenAI):
    thoughts_key = "reasoning"

    def details(self, said: Said) -> Json:
        if not said.thoughts:
            return {}
        detail = {"type": "reasoning.text", "text": said.thoughts, "format": "anthropic-claude-v1"}
        return {"reasoning_details": [detail | {"signature": said.signature, "index": 0}]}

    def message(self, said: Said) -> Json:
        return super().message(said) | self.details(said)

    def deltas(self, said: Said) -> list[Json]:
        deltas = super().deltas(said)
        return [*deltas[:1], *filter(None, [self.details(said)]), *deltas[1:]]


class Mistral(OpenAI):
    """Thoughts are parts of the content."""

    def content(self, text: str, thoughts: str) -> Any:
        if not thoughts:
            return text
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": thoughts}]}
        return [thinking, *([{"type": "text", "text": text}] if text else [])]

    def message(self, said: Said) -> Json:
        return super().message(said) | {"content": self.content(said.text, said.thoughts)}

    def deltas(self, said: Said) -> list[Json]:
        first, *rest = super().deltas(said)
        thinking = [{"content": self.content("", part)} for part in halves(said.thoughts)]
        return [first, *thinking, *rest]

    def finish(self, said: Said) -> str:
        return "model_length" if said.finish == "length" else super().finish(said)

    def fault(self, status: int, words: str) -> Json:
        return {"object": "error", "message": words, "type": "invalid", "code": "1"}


class Anthropic(Wire):
    def blocks(self, said: Said) -> list[Json]:
        found: list[Json] = []
        if said.thoughts:
            thought = {"type": "thinking", "thinking": said.thoughts}
            found.append(thought | {"signature": said.signature})
        if said.text:
            found.append({"type": "text", "text": said.text})
        for id_, name, arguments in said.calls:
            found.append({"type": "tool_use", "id": id_, "name": name, "input": arguments})
        return found

    def finish(self, said: Said) -> str:
        reasons = {"length": "max_tokens", "blocked": "refusal"}
        return reasons.get(said.finish) or ("tool_use" if said.calls else "end_turn")

    def usage(self, said: Said) -> Json:
        used = {"input_tokens": said.read - said.cached, "output_tokens": said.written}
        return used | {"cache_read_input_tokens": said.cached, "cache_creation_input_tokens": 0}

    def head(self) -> Json:
        model = self.model.partition("/")[2]
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": model}

    def whole(self, said: Said) -> Json:
        ended = {"stop_reason": self.finish(said), "stop_sequence": None}
        return self.head() | {"content": self.blocks(said), "usage": self.usage(said)} | ended

    def event(self, type_: str, **more: Any) -> bytes:
        return f"event: {type_}\ndata: {json.dumps({'type': type_, **more})}\n\n".encode()

    def pieces(self, said: Said) -> list[bytes]:
        start = self.head() | {"content": [], "stop_reason": None, "usage": self.usage(said)}
        made = [self.event("message_start", message=start), self.event("ping")]
        for index, block in enumerate(self.blocks(said)):
            made += self.block(index, block)
        delta = {"stop_reason": self.finish(said), "stop_sequence": None}
        used = {"output_tokens": said.written}
        made.append(self.event("message_delta", delta=delta, usage=used))
        return [*made, self.event("message_stop")]

    def block(self, index: int, block: Json) -> list[bytes]:
        match block["type"]:
            case "thinking":
                start = {"type": "thinking", "thinking": "", "signature": ""}
                deltas: list[Json] = [
                    {"type": "thinking_delta", "thinking": part}
                    for part in halves(block["thinking"])
                ]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "text":
                start = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": part} for part in halves(block["text"])]
            case _:
                start = block | {"input": {}}
                parts = halves(json.dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        begun = self.event("content_block_start", index=index, content_block=start)
        given = [self.event("content_block_delta", index=index, delta=delta) for delta in deltas]
        return [begun, *given, self.event("content_block_stop", index=index)]

    def fault(self, status: int, words: str) -> Json:
        return {"type": "error", "error": {"type": "api_error", "message": words}}

    def fault_within(self, words: str) -> bytes:
        return self.event("error", error={"type": "overloaded_error", "message": words})


class Gemini(Wire):
    def parts(self, said: Said) -> list[Json]:
        found: list[Json] = []
        if said.thoughts:
            found.append({"text": said.thoughts, "thought": True})
        if said.text:
            found.append({"text": said.text})
        for number, (_, name, arguments) in enumerate(said.calls):
            part: Json = {"functionCall": {"name": name, "args": arguments}}
            if said.signature and number == 0:
                part["thoughtSignature"] = said.signature
            found.append(part)
        return found

    def finish(self, said: Said) -> str:
        return {"length": "MAX_TOKENS", "blocked": "SAFETY"}.get(said.finish, "STOP")

    def usage(self, said: Said) -> Json:
        used = {"promptTokenCount": said.read, "candidatesTokenCount": said.written}
        total = {"totalTokenCount": said.read + said.written}
        return used | total | ({"cachedContentTokenCount": said.cached} if said.cached else {})

    def candidate(self, parts: list[Json], finish: str = "") -> Json:
        made: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
        return made | ({"finishReason": finish} if finish else {})

    def whole(self, said: Said) -> Json:
        candidate = self.candidate(self.parts(said), self.finish(said))
        if said.finish == "blocked":
            del candidate["content"]
        return {"candidates": [candidate], "usageMetadata": self.usage(said)}

    def pieces(self, said: Said) -> list[bytes]:
        made = []
        for part in self.parts(said):
            texts = halves(part["text"]) if "text" in part else [""]
            for text in texts:
                made.append(part | {"text": text} if text else part)
        used = {"usageMetadata": self.usage(said), "modelVersion": "gemini-2.5-flash"}
        events: list[Json] = [{"candidates": [self.candidate([each])]} | used for each in made]
        if said.finish == "blocked":
            last: Json = {"index": 0, "finishReason": self.finish(said)}
        else:
            last = self.candidate([{"text": ""}], self.finish(said))
        return sse(*events, {"candidates": [last]} | used)

    def fault(self, status: int, words: str) -> Json:
        return {"error": {"code": status, "message": words, "status": "UNAVAILABLE"}}

    def fault_within(self, words: str) -> bytes:
        return sse({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}})[0]


class Ollama(Wire):
    content_type = "application/x-ndjson"

    def message(self, said: Said) -> Json:
        made: Json = {"role": "assistant", "content": said.text}
        if said.thoughts:
            made["thinking"] = said.thoughts
        if said.calls:
            calls = [{"function": {"name": n, "arguments": a}} for _, n, a in said.calls]
            made["tool_calls"] = calls
        return made

    def line(self, message: Json, **more: Any) -> Json:
        head = {"model": "qwen3", "created_at": "2026-11-01T00:00:00Z", "message": message}
        return head | {"done": False} | more

    def end(self, said: Said) -> Json:
        reason = "length" if said.finish == "length" else "stop"
        counts = {"prompt_eval_count": said.read, "eval_count": said.written}
        return {"done": True, "done_reason": reason, "total_duration": 1} | counts

    def whole(self, said: Said) -> Json:
        return self.line(self.message(said), **self.end(said))

    def pieces(self, said: Said) -> list[bytes]:
        lines = [{"content": "", "thinking": part} for part in halves(said.thoughts)]
        lines += [{"content": part} for part in halves(said.text)]
        made = [self.line({"role": "assistant", **each}) for each in lines]
        if said.calls:
            made.append(self.line(self.message(Said(calls=said.calls))))
        made.append(self.line({"role": "assistant", "content": ""}, **self.end(said)))
        return [json.dumps(each).encode() + b"\n" for each in made]

    def fault(self, status: int, words: str) -> Json:
        return {"error": words}

    def fault_within(self, words: str) -> bytes:
        return json.dumps({"error": words}).encode() + b"\n"


class Cohere(Wire):
    """Its stream is not spoken: Bough asks for the answer whole."""

    def whole(self, said: Said) -> Json:
        content: list[Json] = []
        if said.thoughts:
            content.append({"type": "thinking", "thinking": said.thoughts})
        if said.text:
            content.append({"type": "text", "text": said.text})
        message: Json = {"role": "assistant", "content": content}
        if said.calls:
            message["tool_plan"] = "I will look."
            message["tool_calls"] = [OpenAI.call(self, *each) for each in said.calls]  # type: ignore[arg-type]
        finish = "MAX_TOKENS" if said.finish == "length" else "COMPLETE"
        finish = "TOOL_CALL" if said.calls else finish
        tokens = {"input_tokens": said.read, "output_tokens": said.written}
        used = {"tokens": tokens, "billed_units": tokens}
        return {"id": "1", "finish_reason": finish, "message": message, "usage": used}

    def fault(self, status: int, words: str) -> Json:
        return {"id": "1", "message": words}


class Bedrock(Wire):
    content_type = "application/vnd.amazon.eventstream"

    def content(self, said: Said) -> list[Json]:
        found: list[Json] = []
        if said.thoughts:
            thought = {"text": said.thoughts, "signature": said.signature}
            found.append({"reasoningContent": {"reasoningText": thought}})
        if said.text:
            found.append({"text": said.text})
        for id_, name, arguments in said.calls:
            found.append({"toolUse": {"toolUseId": id_, "name": name, "input": arguments}})
        return found

    def finish(self, said: Said) -> str:
        reasons = {"length": "max_tokens", "blocked": "guardrail_intervened"}
        return reasons.get(said.finish) or ("tool_use" if said.calls else "end_turn")

    def usage(self, said: Said) -> Json:
        fresh = said.read - said.cached
        used = {"inputTokens": fresh, "outputTokens": said.written}
        total = {"totalTokens": said.read + said.written}
        return used | total | {"cacheReadInputTokens": said.cached, "cacheWriteInputTokens": 0}

    def whole(self, said: Said) -> Json:
        message = {"role": "assistant", "content": self.content(said)}
        ended = {"stopReason": self.finish(said), "metrics": {"latencyMs": 1}}
        return {"output": {"message": message}, "usage": self.usage(said)} | ended

    def pieces(self, said: Said) -> list[bytes]:
        made = [self.event("messageStart", {"role": "assistant"})]
        for index, block in enumerate(self.content(said)):
            made += self.block(index, block)
        made.append(self.event("messageStop", {"stopReason": self.finish(said)}))
        last = {"usage": self.usage(said), "metrics": {"latencyMs": 1}}
        return [*made, self.event("metadata", last)]

    def block(self, index: int, block: Json) -> list[bytes]:
        at = {"contentBlockIndex": index}
        made: list[bytes] = []
        deltas: list[Json]
        match block:
            case {"text": str(text)}:
                deltas = [{"text": part} for part in halves(text)]
            case {"reasoningContent": {"reasoningText": thought}}:
                parts: list[Json] = [{"text": part} for part in halves(thought["text"])]
                parts.append({"signature": thought["signature"]})
                deltas = [{"reasoningContent": part} for part in parts]
            case _:
                use = block["toolUse"]
                begun = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
                made.append(self.event("contentBlockStart", at | {"start": begun}))
                parts_of_input = halves(json.dumps(use["input"]))
                deltas = [{"toolUse": {"input": part}} for part in parts_of_input]
        made += [self.event("contentBlockDelta", at | {"delta": delta}) for delta in deltas]
        return [*made, self.event("contentBlockStop", at)]

    def event(self, type_: str, payload: Json, message: str = "event") -> bytes:
        named = ":exception-type" if message == "exception" else ":event-type"
        headers = {named: type_, ":content-type": "application/json", ":message-type": message}
        return aws_event(headers, json.dumps(payload).encode())

    def fault(self, status: int, words: str) -> Json:
        return {"message": words}

    def fault_within(self, words: str) -> bytes:
        return self.event("serviceUnavailableException", {"message": words}, "exception")


def aws_event(headers: dict[str, str], payload: bytes) -> bytes:
    """One message of Amazon's event stream encoding."""
    packed = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value
        for name, value in ((name, text.encode()) for name, text in headers.items())
    )
    prelude = struct.pack("!II", 16 + len(packed) + len(payload), len(packed))
    body = prelude + struct.pack("!I", binascii.crc32(prelude)) + packed + payload
    return body + struct.pack("!I", binascii.crc32(body))


_AMAZON = {
    "AWS_ACCESS_KEY_ID": "AKIATEST",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION_NAME": "us-east-1",
}
_AZURE = {"AZURE_API_VERSION": "2024-10-21"}
_CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
WIRES: tuple[Wire, ...] = (
    OpenAI("openai", "openai/gpt-5-mini", thinks=False, path="/v1"),
    Azure("azure", "azure/gpt-5-mini", thinks=False, environment=_AZURE),
    Anthropic("anthropic", "anthropic/claude-sonnet-4-5"),
    Gemini("gemini", "gemini/gemini-2.5-flash", calls_have_ids=False, keeps_separators=False),
    Bedrock("bedrock", f"bedrock/converse/{_CLAUDE}", environment=_AMAZON),
    Cohere(
        "cohere", "cohere/command-a-03-2025", counts_cache=False, streams=False, path="/v2/chat"
    ),
    Mistral("mistral", "mistral/magistral-medium-latest", path="/v1"),
    Groq("groq", "groq/qwen/qwen3-32b", path="/openai/v1"),
    Ollama("ollama", "ollama_chat/qwen3", calls_have_ids=False, counts_cache=False),
    OpenRouter("openrouter", "openrouter/anthropic/claude-sonnet-4.5", path="/api/v1"),
    DeepSeek("deepseek", "deepseek/deepseek-reasoner", path="/v1"),
)
