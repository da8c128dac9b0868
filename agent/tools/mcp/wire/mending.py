"""What a server answers, before the SDK looks at it: one odd part must not cost the whole. Pure.

The SDK refuses an answer in which anything is not as the protocol has it. A list with one tool that
is not well formed would leave the server without tools, a result with one part of a kind that is
not known without a result.
"""

import json
from collections.abc import Mapping
from typing import Any

from storage.records.entries import Json

LISTED_AT_ONCE = 500
"""Tools of one page of a list that are looked at."""
PARTS_AT_ONCE = 99
"""Parts of a result that are looked at: the SDK takes seconds for a hundred thousand."""
_LONGEST_NAME = 1_000
WHOLE = "schema"
"""Where the schema stands as it came: the SDK refuses what is no schema, we make one of it."""
_KEPT = ("name", "description", "inputSchema", "annotations", "execution")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_NEEDED: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource_link": {"uri": str},
    "resource": {"resource": dict},
}
"""Kinds of parts, with the fields that each must have."""
_OPTIONAL = {
    "name": str,
    "title": str,
    "description": str,
    "mimeType": str,
    "size": int,
}


def mended_listing(answer: Mapping[str, Any]) -> Json:
    """tools/list: the tools that have a name, with an object for a schema, and without what is of
    no use here (the schema of results among it: a result is shown, not checked)."""
    tools = answer.get("tools")
    given = tools[:LISTED_AT_ONCE] if isinstance(tools, list) else []
    found = {**answer, "tools": [_tool(tool) for tool in given if _has_name(tool)]}
    if not isinstance(found.get("nextCursor"), str | None):
        del found["nextCursor"]
    return found


def _has_name(tool: object) -> bool:
    match tool:
        case {"name": str(name)}:
            return 0 < len(name) <= _LONGEST_NAME
        case _:
            return False


def _tool(tool: Mapping[str, Any]) -> Json:
    kept = {key: tool[key] for key in _KEPT if key in tool}
    if not isinstance(kept.get("description", ""), str):
        del kept["description"]
    kept["_meta"] = {WHOLE: kept.get("inputSchema")}
    kept["inputSchema"] = _as_expected(kept.get("inputSchema"))
    if not needs_task(kept):
        kept.pop("execution", None)
    hints = kept.pop("annotations", None)
    if isinstance(hints, dict):
        kept["annotations"] = {
            hint: hints[hint] for hint in _HINTS if isinstance(hints.get(hint), bool)
        }
    return kept


def needs_task(tool: Mapping[str, Any]) -> bool:
    """Whether it can only be run as a task of the protocol, which we do not speak."""
    match tool.get("execution"):
        case {"taskSupport": "required"}:
            return True
        case _:
            return False


def schema_of(tool: Mapping[str, Any]) -> object:
    """The schema of a tool that was mended, as the server gave it."""
    meta = tool.get("_meta")
    return meta.get(WHOLE) if isinstance(meta, dict) else None


def _as_expected(schema: object) -> Json:
    """As much of a schema as the SDK looks at, in the form that it takes."""
    given = schema if isinstance(schema, dict) else {}
    properties, required = given.get("properties"), given.get("required")
    found: Json = {"type": "object"}
    if isinstance(properties, dict):
        found["properties"] = {k: v for k, v in properties.items() if isinstance(v, dict)}
    if isinstance(required, list):
        found["required"] = [key for key in required if isinstance(key, str)]
    return found


def mended_result(answer: Mapping[str, Any]) -> Json:
    """tools/call: what is no part of a known kind becomes text that says what it is."""
    if "inputRequests" in answer or answer.get("resultType") == "input_required":
        return dict(answer)
    content = answer.get("content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    found: Json = {"content": [_part(part) for part in parts[:PARTS_AT_ONCE]]}
    if (left := len(parts) - PARTS_AT_ONCE) > 0:
        found["content"].append({"type": "text", "text": f"[{left} more parts were left out]"})
    if "resultType" in answer:
        found["resultType"] = "complete"
    if isinstance(answer.get("structuredContent"), dict):
        found["structuredContent"] = answer["structuredContent"]
    if answer.get("isError") is True:
        found["isError"] = True
    return found


def _part(given: object) -> Json:
    fields: Json = given if isinstance(given, dict) else {}
    kind = fields.get("type")
    needed = _NEEDED.get(kind, {}) if isinstance(kind, str) else {}
    if not needed or not all(isinstance(fields.get(key), of) for key, of in needed.items()):
        return _as_text(given)
    kept: Json = {"type": kind, **{key: fields[key] for key in needed}}
    match kind:
        case "resource" if not _is_resource(fields["resource"]):
            return _as_text(given)
        case "resource":
            kept["resource"] = _resource(fields["resource"])
        case "resource_link":
            kept |= {"name": fields["uri"], **_optional(fields)}
    return kept


def _is_resource(fields: Mapping[str, Any]) -> bool:
    return isinstance(fields.get("uri"), str) and (
        isinstance(fields.get("text"), str) or isinstance(fields.get("blob"), str)
    )


def _resource(fields: Mapping[str, Any]) -> Json:
    key = "text" if isinstance(fields.get("text"), str) else "blob"
    kept: Json = {"uri": fields["uri"], key: fields[key]}
    if isinstance(fields.get("mimeType"), str):
        kept["mimeType"] = fields["mimeType"]
    return kept


def _optional(fields: Mapping[str, Any]) -> Json:
    return {
        name: fields[name]
        for name, type_ in _OPTIONAL.items()
        if isinstance(fields.get(name), type_) and not isinstance(fields[name], bool)
    }


def _as_text(given: object) -> Json:
    return {"type": "text", "text": json.dumps(given, ensure_ascii=False)}
