"""A list of messages in OpenAI's chat shape as entries, one below the other. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from storage.errors import InterchangeError
from storage.interchange.json_reader import quoted
from storage.interchange.patch import difference
from storage.interchange.pi.message import calls_of, text_of
from storage.interchange.pi.read import Imported
from storage.json_text import dumps
from storage.records.entries import Draft, ImportedEntry, Json, Kind, message
from storage.records.record_entries import SystemMessage, record_body

_SYSTEM = ("system", "developer")
_TEXTS = ("text", "input_text", "output_text", "refusal")
"""Types of parts that are text, in one of OpenAI's interfaces or the other."""


def read_openai(given: Any, now: float) -> Imported:
    """`given` is the list. InterchangeError names the message that is broken, counted from 1."""
    if not isinstance(given, list):
        raise InterchangeError("messages is no list")
    entries: list[ImportedEntry] = []
    calls: dict[str, int] = {}
    """Call id → place of the newest entry with such a call."""
    systems = pictures = 0
    for place, value in enumerate(_modern(given)):
        try:
            kind, body = _read(value)
        except InterchangeError as error:
            raise InterchangeError(f"message {place + 1}: {error}") from None
        if body.get("role") == "tool" and (caller := calls.get(body["tool_call_id"])) is not None:
            body["call_entry"] = caller
        calls |= dict.fromkeys(calls_of(body), place)
        systems += kind is Kind.RECORD
        pictures += _has_more_than_text(body)
        entries.append(ImportedEntry(Draft(kind, body, time=now), place - 1 if place else None))
    notes = []
    if systems:
        notes.append(f"system messages: {systems}, kept as records that no model is shown")
    if pictures:
        notes.append(f"messages with more than text: {pictures}; a model reads only the text")
    return Imported(
        title="",
        entries=tuple(entries),
        leaf=len(entries) - 1 if entries else None,
        header=None,
        notes=tuple(notes),
    )


def _has_more_than_text(body: Json) -> bool:
    content = body.get("openai", {}).get("set", {}).get("content")
    return isinstance(content, list) and any(part["type"] not in _TEXTS for part in content)


def _modern(given: Iterable[Any]) -> Iterator[Any]:
    """Calls of functions from before there were tools as calls of tools."""
    newest = ""
    for number, value in enumerate(given, start=1):
        match value:
            case {"role": "assistant", "function_call": dict(function)}:
                newest = f"function_call_{number}"
                rest = {k: v for k, v in value.items() if k != "function_call"}
                yield rest | {"tool_calls": [{"id": newest, "function": function}]}
            case {"role": "function"}:
                yield value | {"role": "tool", "tool_call_id": newest}
            case _:
                yield value


def _read(given: Any) -> tuple[Kind, Json]:
    if not isinstance(given, dict):
        raise InterchangeError("is no JSON object")
    match given.get("role"):
        case str(role) if role in _SYSTEM:
            return Kind.RECORD, record_body(SystemMessage(given))
        case "user" | "assistant" | "tool":
            body = _body(given)
        case str(role):
            raise InterchangeError(f"has the role {quoted(role)}, which is not known")
        case _:
            raise InterchangeError("has no role")
    if rest := difference(body, given):
        body["openai"] = rest
    return Kind.MESSAGE, body


def _body(given: Json) -> Json:
    content = given.get("content")
    if not content and isinstance(given.get("refusal"), str):
        content = given["refusal"]
    body = message(given["role"], None if content is None else text_of(_with_texts(content)))
    if body["role"] == "assistant" and given.get("tool_calls"):
        body["tool_calls"] = _calls(given["tool_calls"])
    if body["role"] == "tool":
        if not isinstance(given.get("tool_call_id"), str):
            raise InterchangeError("is a tool's result without tool_call_id")
        body["tool_call_id"] = given["tool_call_id"]
    if body["content"] is None and "tool_calls" not in body:
        body["content"] = ""
    if isinstance(given.get("name"), str):
        body["name"] = given["name"]
    return body


def _with_texts(content: Any) -> Any:
    """The content with everything that is text as a text part."""
    if not isinstance(content, list):
        return content
    return [_with_text(part) for part in content]


def _with_text(part: Any) -> Any:
    match part:
        case {"type": "input_text" | "output_text", "text": text}:
            return {"type": "text", "text": text}
        case {"type": "refusal", "refusal": text}:
            return {"type": "text", "text": text}
        case _:
            return part


def _calls(given: Any) -> list[Json]:
    if not isinstance(given, list):
        raise InterchangeError("has tool_calls that are no list")
    return [_call(call) for call in given]


def _call(given: Any) -> Json:
    function = given.get("function") if isinstance(given, dict) else None
    if not isinstance(function, dict) or not isinstance(given.get("id"), str):
        raise InterchangeError("has a tool call without id or function")
    name, arguments = function.get("name"), function.get("arguments", "")
    if not isinstance(name, str) or not isinstance(arguments, str | dict):
        raise InterchangeError("has a tool call without name or arguments")
    text = arguments if isinstance(arguments, str) else dumps(arguments)
    return {"id": given["id"], "type": "function", "function": {"name": name, "arguments": text}}
