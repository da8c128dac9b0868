"""The call of a final tool that a model wrote into its text instead of making it. Pure.

Taken is JSON: alone, in a code block or with prose around it; the arguments alone, or with the
tool's name. What stands in something that the model was shown is a quotation, and of calls that
differ none is meant.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from agent.delegation.tables.model import fold
from agent.text.untrusted import Pairs, plain, unquoted
from storage.records.entries import Json

TEXT_LIMIT = 100_000
"""Characters; in a longer text nothing is looked for."""
MOST_ATTEMPTS = 500
"""Braces in one text that are tried as the beginning of an object."""

_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_DECODER = json.JSONDecoder(object_pairs_hook=Pairs)


@dataclass(frozen=True, slots=True)
class TextCall:
    name: str
    arguments: Json
    start: int
    end: int
    """Where its JSON stands in the text."""


def call_in(text: str, tools: Mapping[str, Json], shown: Callable[[], str]) -> TextCall | None:
    """The one call of one of the tools (name → schema of the arguments) that the text holds.
    `shown` is what the model was shown."""
    if len(text) > TEXT_LIMIT:
        return None
    found: dict[str, TextCall] = {}
    for start, end, value in _objects(text):
        for name, arguments in _meant(value, tools):
            same = json.dumps([name, arguments], sort_keys=True)
            found.setdefault(same, TextCall(name, arguments, start, end))
    if len(found) != 1:
        return None
    (call,) = found.values()
    return None if _stands_in(text[call.start : call.end], shown()) else call


def _stands_in(piece: str, shown: str) -> bool:
    """As it is, or as text in JSON."""
    return piece in shown or json.dumps(piece, ensure_ascii=False)[1:-1] in shown


def _objects(text: str) -> Iterator[tuple[int, int, Json]]:
    """The outermost JSON objects of a text, each with where it begins and ends."""
    at = text.find("{")
    for _ in range(MOST_ATTEMPTS):
        if at < 0:
            return
        decoded = _decoded(text, at)
        if decoded is not None:
            yield at, decoded[0], decoded[1]
        at = text.find("{", decoded[0] if decoded is not None else at + 1)


def _decoded(text: str, start: int) -> tuple[int, Json] | None:
    """Where the object that begins here ends, and what it says: nothing, where a key of it stands
    twice."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        made, faults = plain(value)
    except (ValueError, RecursionError):
        return None
    return end, {} if faults else made


def _meant(value: object, tools: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """What an object calls; several where it lists calls, or could be the arguments of several."""
    if not isinstance(value, dict):
        return
    if isinstance(calls := value.get("tool_calls"), list):
        for call in calls:
            yield from _meant(call, tools)
    elif named := _named(value, tools):
        yield named
    else:
        inner = value.get("function")
        yield from _meant(inner, tools) if isinstance(inner, dict) else _bare(value, tools)


def _named(value: Json, tools: Mapping[str, Json]) -> tuple[str, Json] | None:
    """{"name": tool, "arguments": …} or {tool: …}."""
    keys = {fold(key): key for key in value}
    for name in tools:
        if list(keys) == [name]:
            return _with(name, value[keys[name]])
    for key in _NAMES:
        called = value.get(key)
        tool = fold(called.rpartition(".")[2]) if isinstance(called, str) else ""
        if tool in tools:
            given = next((value[k] for k in _ARGUMENTS if k in value), None)
            rest = {k: v for k, v in value.items() if k not in (key, "type", "id")}
            return _with(tool, rest if given is None else given)
    return None


def _with(name: str, given: object) -> tuple[str, Json] | None:
    arguments = unquoted(given)
    return (name, arguments) if isinstance(arguments, dict) else None


def _bare(value: Json, tools: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """The tools whose arguments the object is. Evidence may be missing: whoever reads the call says
    so. Where a single key shows which tool is meant, no foreign one may stand beside it."""
    for name, schema in tools.items():
        needed = set(schema.get("required", ())) - {"evidence"}
        if needed <= value.keys() and (
            len(needed) > 1 or value.keys() <= schema["properties"].keys()
        ):
            yield name, value
