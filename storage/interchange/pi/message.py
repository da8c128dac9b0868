"""Chat messages in Pi's shape and in ours.

Ours is OpenAI's: content is text, calls stand beside it. Pi's content is blocks in an order. What
ours cannot say stays beside the message under "pi", so that the same blocks can be written again.
"""

import json
from collections.abc import Sequence
from typing import Any

from storage.errors import InterchangeError
from storage.interchange.json_reader import quoted
from storage.interchange.patch import applied, difference, same
from storage.json_text import dumps
from storage.records.entries import CUT, LENGTH, Json, message

MOST_TOKENS = 2**31 - 1
_CUT_OFF = ("aborted", "error")


def from_pi(given: Json, time: float | None) -> Json | None:
    """The body of a message entry; None for a message that no model was to see.

    InterchangeError where something is missing or of the wrong type.
    """
    if given.get("role") == "bashExecution" and given.get("excludeFromContext") is True:
        return None
    body = _read(given)
    content = given.get("content")
    made = to_pi(body, time)
    patch: Json = {}
    if isinstance(content, list):
        if not same(made["content"], content):
            patch["blocks"] = _order(_blocks(body), _listed(content))
        made["content"] = content
    if changes := difference(made, given):
        patch |= changes
    return body | {"pi": patch} if patch else body


def to_pi(body: Json, time: float | None) -> Json:
    """The message in Pi's shape."""
    stamp = {"timestamp": round(time * 1000)} if time is not None else {}
    match body["role"]:
        case "user":
            made: Json = {"role": "user", "content": _text(body), **stamp}
        case "tool":
            made = {
                "role": "toolResult",
                "toolCallId": body["tool_call_id"],
                "toolName": body.get("name", ""),
                "content": _blocks(body),
                "isError": False,
                **stamp,
            }
        case _:
            made = {
                "role": "assistant",
                "content": _blocks(body),
                "api": "openai-completions",
                **_spent(body),
                "stopReason": _stop_reason(body),
                **stamp,
            }
    patch = body.get("pi", {})
    if (order := patch.get("blocks")) is not None:
        blocks = _blocks(body)
        made["content"] = [blocks[part] if isinstance(part, int) else part for part in order]
    return applied(made, patch)


def calls_of(body: Json) -> list[str]:
    """Ids of the calls in a message, the first of each."""
    calls = body.get("tool_calls") if body.get("role") == "assistant" else None
    return list(dict.fromkeys(str(call.get("id")) for call in calls or ()))


def _stop_reason(body: Json) -> str:
    if body.get("stop") == CUT:
        return "aborted"
    if body.get("stop") == LENGTH:
        return "length"
    return "toolUse" if body.get("tool_calls") else "stop"


def _read(given: Json) -> Json:
    match given.get("role"):
        case "user" | "custom" | "hookMessage":
            return message("user", text_of(given.get("content")))
        case "bashExecution":
            return message("user", _command(given))
        case "branchSummary" | "compactionSummary":
            if not isinstance(given.get("summary"), str):
                raise InterchangeError("is a summary without text")
            return message("user", given["summary"])
        case "toolResult":
            id_, name = given.get("toolCallId"), given.get("toolName")
            if not isinstance(id_, str):
                raise InterchangeError("is a tool's result without toolCallId")
            body = message("tool", text_of(given.get("content")), tool_call_id=id_)
            return body | {"name": name} if isinstance(name, str) and name else body
        case "assistant":
            return _assistant(given)
        case str(role):
            raise InterchangeError(f"has the role {quoted(role)}, which is not known")
        case _:
            raise InterchangeError("is a message without a role")


def _assistant(given: Json) -> Json:
    content = given.get("content")
    more: Json = {}
    blocks = _listed(content)
    whole = given.get("stopReason") not in _CUT_OFF  # else the calls may be half ones
    if calls := [_call(block) for block in blocks if whole and block["type"] == "toolCall"]:
        more["tool_calls"] = calls
    if given.get("stopReason") == LENGTH:
        more["stop"] = LENGTH
    provider, model = given.get("provider"), given.get("model")
    if isinstance(model, str) and model:
        more["model"] = f"{provider}/{model}" if isinstance(provider, str) and provider else model
    if (usage := _usage(given.get("usage"))) is not None:
        more["usage"] = usage
    return message("assistant", text_of(content, silent=("thinking", "toolCall")), **more)


def _call(block: Json) -> Json:
    id_, name, arguments = block.get("id"), block.get("name"), block.get("arguments", {})
    if not isinstance(id_, str) or not isinstance(name, str) or not isinstance(arguments, dict):
        raise InterchangeError("has a tool call without id, name or arguments")
    function = {"name": name, "arguments": dumps(arguments)}
    return {"id": id_, "type": "function", "function": function}


def _usage(given: Any) -> Json | None:
    if not isinstance(given, dict):
        return None
    counts = [given.get("input"), given.get("output")]
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts):
        return None
    cost = given.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else None
    dollars = total if isinstance(total, int | float) and not isinstance(total, bool) else None
    return {"input": counts[0], "output": counts[1], "cost": dollars}


def text_of(content: Any, silent: Sequence[str] = ()) -> str:
    """What a model reads of a content; what is no text is named, unless its type is in `silent`."""
    if isinstance(content, str):
        return content
    parts = []
    for block in _listed(content):
        if block["type"] == "text":
            if not isinstance(block.get("text"), str):
                raise InterchangeError("has a text block without text")
            parts.append(block["text"])
        elif block["type"] not in silent:
            kind = block.get("mimeType")
            parts.append(
                f"[{block['type']}: {kind}]" if isinstance(kind, str) else f"[{block['type']}]"
            )
    return "\n".join(parts)


def _listed(content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise InterchangeError("has no content")
    for block in content:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise InterchangeError("has content that is neither text nor a list of blocks")
    return content


def _command(given: Json) -> str:
    command, output = given.get("command"), given.get("output")
    if not isinstance(command, str) or not isinstance(output, str | None):
        raise InterchangeError("is a command's run without command or output")
    parts = [f"I ran this command:\n{command}", f"Output:\n{output}" if output else "No output."]
    if given.get("cancelled") is True:
        parts.append("It was cancelled.")
    elif (code := given.get("exitCode")) not in (None, 0):
        parts.append(f"Exit code: {code}")
    if given.get("truncated") is True:
        parts.append("The output was cut.")
    return "\n\n".join(parts)


def _text(body: Json) -> str:
    content = body.get("content")
    return content if isinstance(content, str) else ""


def _blocks(body: Json) -> list[Json]:
    """Text first, then calls."""
    text = _text(body)
    calls = body.get("tool_calls") or ()
    return [
        *([{"type": "text", "text": text}] if text else ()),
        *(
            {
                "type": "toolCall",
                "id": call["id"],
                "name": call["function"]["name"],
                "arguments": _arguments(call["function"]["arguments"]),
            }
            for call in calls
        ),
    ]


def _arguments(text: str) -> Json:
    """Pi takes an object only; a model may have written anything."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _order(ours: list[Json], given: list[Json]) -> list[Json | int]:
    """The given blocks, each one that we would write as its place among ours."""
    order: list[Json | int] = []
    call = sum(block["type"] == "text" for block in ours)
    for block in given:
        place = 0 if block["type"] == "text" else call
        call += block["type"] == "toolCall"
        order.append(place if place < len(ours) and same(ours[place], block) else block)
    return order


def _spent(body: Json) -> Json:
    """Model and usage, as Pi's readers need them: with every count."""
    provider, slash, model = str(body.get("model") or "").partition("/")
    usage = body.get("usage") or {}
    input_, output, cost = usage.get("input", 0), usage.get("output", 0), usage.get("cost")
    dollars = {
        "input": 0,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "total": 0 if cost is None else cost,
    }
    return {
        "provider": provider if slash else "",
        "model": model if slash else provider,
        "usage": {
            "input": input_,
            "output": output,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": input_ + output,
            "cost": dollars,
        },
    }
