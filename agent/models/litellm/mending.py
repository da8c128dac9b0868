"""Answers, and the events of streams, as litellm can read them. Pure, and by the shape of what
came: many servers speak one protocol. litellm loses answers over a field that is missing, and takes
an answer for whole that a server broke off.
"""

from typing import Any

from agent.models.base import ModelErrorKind
from agent.models.litellm.chunks import Gathered
from storage.records.entries import Json

_BROKEN_OFF = frozenset(
    {"error", "insufficient_system_resource", "network_error", "load", "unload"}
)
"""Reasons for an end that are no end of an answer: the server failed, or only loaded the model."""
_GARBLED = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
        "malformed_model_output",
        "malformed_tool_use",
    }
)
"""The model wrote a call that its own provider could not read. Another try often goes well."""
_UNREADABLE = "the model wrote a call of a tool that cannot be read"
_OF_COHERE = frozenset({"ERROR", "TIMEOUT"})


class Fault(Exception):
    """A provider said within its answer, after status 200, that it failed."""

    def __init__(self, said: Json, kind: ModelErrorKind | None = None) -> None:
        """`kind`: where it is known; else `said` tells."""
        super().__init__(str(said.get("message") or "it failed without a word"))
        self.said = said
        self.kind = kind


def check(came: Json) -> None:
    """Raises Fault where an answer, or an event of one, says that it is none."""
    told = [came.get("error"), _dict(came.get("x_groq")).get("error")]
    if came.get("object") == "error":
        told.append(came)  # vLLM's
    ends: list[Json] = []
    for key in ("choices", "candidates"):
        listed = came.get(key)
        ends += [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    told += [end.get("error") for end in ends]
    for error in told:
        if error:
            raise Fault(error if isinstance(error, dict) else came | {"message": error})
    for end in (came, *ends):
        _check_end(end)


def _check_end(end: Json) -> None:
    keys = ("finish_reason", "finishReason", "stopReason", "done_reason")
    reason = next((end[key] for key in keys if isinstance(end.get(key), str)), "")
    if reason in _GARBLED or end.get("native_finish_reason") in _GARBLED:
        words = end.get("finishMessage") or _UNREADABLE
        raise Fault({"message": words}, ModelErrorKind.BAD_REPLY)
    said = _dict(end.get("message"))
    if reason in _BROKEN_OFF and not (said.get("content") and "done_reason" in end):
        words = f"it broke off its answer ({reason})"
        raise Fault({"message": words}, ModelErrorKind.UNAVAILABLE)
    if reason in _OF_COHERE:
        raise Fault({"message": f"it broke off its answer ({reason})"}, ModelErrorKind.UNAVAILABLE)


def mended(came: Json) -> Json:
    """An answer or an event of any provider as litellm reads it. Raises Fault."""
    check(came)
    match came:
        case {"choices": [{"message": dict(message)}, *_]}:
            for call in message.get("tool_calls") or ():
                if not (isinstance(call, dict) and isinstance(call.get("function"), dict)):
                    raise Fault({"message": _UNREADABLE}, ModelErrorKind.BAD_REPLY)
            gathered = Gathered(lambda _: None)
            gathered.add(came | {"usage": None})
            return came | {"choices": gathered.completion()["choices"]}
        case {"candidates": [*_]} | {"usageMetadata": _}:
            return _of_gemini(came)
        case {"type": "message_start", "message": dict(message)} if not message.get("usage"):
            usage = {"input_tokens": 0, "output_tokens": 0}
            return came | {"message": message | {"usage": usage}}
        case {"done": bool()}:
            return _of_ollama(came)
        case {"message": {"role": "assistant"}, "finish_reason": _} if not came.get("usage"):
            return came | {"usage": {}}  # Cohere's
        case _:
            return came


def _of_gemini(came: Json) -> Json:
    """A call without arguments has no `args`; litellm adds up counts, some of which may be null."""
    usage = {key: value for key, value in _dict(came.get("usageMetadata")).items() if value}
    candidates = [
        one | {"content": content | {"parts": [_part(part) for part in content["parts"]]}}
        if isinstance(content := one.get("content"), dict)
        and isinstance(content.get("parts"), list)
        else one
        for one in came.get("candidates") or []
    ]
    return came | {"candidates": candidates, "usageMetadata": usage}


def _part(part: Json) -> Json:
    match part:
        case {"functionCall": dict(call)}:
            return part | {"functionCall": call | {"args": call.get("args") or {}}}
        case _:
            return part


def _of_ollama(came: Json) -> Json:
    """The last line may have no message or no counts, a call no arguments."""
    message: Json = {"role": "assistant", "content": ""} | _dict(came.get("message"))
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [
            call
            | {"function": function | {"arguments": function.get("arguments") or {}}}
            | ({} if call.get("type") else {"type": "function"})
            for call in calls
            if isinstance(function := call.get("function"), dict)
        ]
    counts = {key: came.get(key) or 0 for key in ("prompt_eval_count", "eval_count")}
    return came | {"message": message} | (counts if came["done"] else {})


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
