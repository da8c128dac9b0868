"""A server's schema of a tool's arguments made into one that every provider takes. Pure.

Providers refuse a whole request for one schema they do not like, so a tool with an odd one would
silence the chat. What comes out is a tree of the few keywords that all of them know: references are
put in place, alternatives stand under `anyOf` and never at the top, names fit, everything has a
type, and all of it is bounded. What is left out a model is told in words where that helps. A server
checks its arguments itself.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.text.sizing import head
from agent.text.untrusted import visible
from storage.records.entries import Json

MOST_BYTES = 12_000
"""Of one schema, as JSON."""
MOST_DEPTH = 8
MOST_NODES = 400
MOST_VALUES = 100
"""Properties of an object, and values of an enumeration."""
MOST_VARIANTS = 8
LONGEST_DESCRIPTION = 500
_LONGEST_VALUE = 200
_LARGEST = 2.0**53
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_TYPES = ("object", "array", "string", "number", "integer", "boolean")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
}
_SAID = ("format", "pattern", "const", "default")
"""Keywords that become words."""


def safe_schema(given: object) -> Json:
    """Of any JSON value, an object's schema."""
    for describes in (True, False):
        made = _Walk(given, describes).arguments()
        if len(json.dumps(made, ensure_ascii=False).encode()) <= MOST_BYTES:
            return made
    return {"type": "object", "properties": {}}


def cleaned(text: object, limit: int) -> str:
    """A server's words: visible, of at most `limit` bytes."""
    if not isinstance(text, str):
        return ""
    shown = visible(text[: limit * 2]).strip()
    part = head(shown, limit)
    return part if part == shown else f"{part.rstrip()} …"


@dataclass(slots=True)
class _Walk:
    root: object
    describes: bool
    left: int = MOST_NODES
    _inside: list[str] = field(default_factory=list)
    """References that are being put in place."""

    def arguments(self) -> Json:
        """The schema at the top: an object, whatever it says."""
        top = self._resolved(self.root)
        every = [self._resolved(one) for one in _variants(top)[:MOST_VARIANTS]]
        for one in every:
            properties = _dict(top, "properties") | _dict(one, "properties")
            top = {**top, "properties": properties}
        made = self._object({**top, "required": _required(top)}, 0)
        made.setdefault("properties", {})
        return self._described(made, top)

    def _node(self, given: object, depth: int) -> Json:
        self.left -= 1
        if depth > MOST_DEPTH or self.left < 0:
            return {"type": "string"}
        before = len(self._inside)
        schema = self._resolved(given)
        try:
            return self._described(self._typed(schema, depth), schema)
        finally:
            del self._inside[before:]

    def _typed(self, schema: Json, depth: int) -> Json:
        variants = [one for one in _variants(schema) if not _is_null(one)][:MOST_VARIANTS]
        if len(variants) > 1:
            return {"anyOf": [self._node(one, depth + 1) for one in variants]}
        if variants:
            inner = variants[0] if isinstance(variants[0], dict) else {}
            rest = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf")}
            return self._node({**inner, **rest}, depth + 1)
        types = _types(schema)
        if len(types) == 1:
            return self._of_type(types[0], schema, depth)
        # Where nothing is said, anything goes: providers want a type all the same.
        every = types or ["string", "number", "boolean", "object", "array"]
        return {"anyOf": [self._of_type(one, schema, depth + 1) for one in every]}

    def _of_type(self, name: str, schema: Json, depth: int) -> Json:
        match name:
            case "object":
                return self._object(schema, depth)
            case "array":
                items = schema.get("items", {"type": "string"})
                if isinstance(items, list):
                    items = {"anyOf": items} if items else {"type": "string"}
                return {"type": "array", "items": self._node(items, depth + 1), **_counts(schema)}
            case "string":
                values = _texts(schema.get("enum"))
                return {"type": "string"} | ({"enum": values} if values else _counts(schema))
            case "number" | "integer":
                return {"type": name, **_bounds(schema)}
            case _:
                return {"type": name}

    def _object(self, schema: Json, depth: int) -> Json:
        given = _dict(schema, "properties")
        fitting = [key for key in given if _KEY.fullmatch(key)][:MOST_VALUES]
        properties = {key: self._node(given[key], depth + 1) for key in fitting if self.left > 0}
        made: Json = {"type": "object", "properties": properties}
        needed = [key for key in _required(schema) if key in properties]
        if needed:
            made["required"] = needed
        match schema.get("additionalProperties"):
            case bool(extra):
                made["additionalProperties"] = extra
            case dict(extra) if extra:
                made["additionalProperties"] = self._node(extra, depth + 1)
        return made

    def _resolved(self, given: object) -> Json:
        """With its reference and the parts of `allOf` in place; what leads round is left out."""
        schema: Json = dict(given) if isinstance(given, dict) else {}
        while isinstance(reference := schema.pop("$ref", None), str):
            if reference in self._inside or len(self._inside) > MOST_DEPTH * 2:
                break
            self._inside.append(reference)
            schema = {**_at(self.root, reference), **schema}
        parts = schema.pop("allOf", None)
        if isinstance(parts, list) and len(self._inside) <= MOST_DEPTH * 2:
            for part in parts[:MOST_VARIANTS]:
                self._inside.append("")
                schema = _joined(schema, self._resolved(part))
        return schema

    def _described(self, made: Json, schema: Json) -> Json:
        if not self.describes:
            return made
        words = [cleaned(schema.get("description"), LONGEST_DESCRIPTION), *_told(made, schema)]
        text = " ".join(word for word in words if word)
        return {**made, "description": text} if text else made


def _variants(schema: Mapping[str, Any]) -> list[object]:
    found = [schema.get(key) for key in ("anyOf", "oneOf")]
    return [one for some in found if isinstance(some, list) for one in some]


def _is_null(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _types(schema: Mapping[str, Any]) -> list[str]:
    """Those that it may be; none where it does not say."""
    match schema.get("type"):
        case str(name) if name in _TYPES:
            return [name]
        case list(names) if found := [name for name in _TYPES if name in names]:
            return found
    if isinstance(schema.get("properties"), dict):
        return ["object"]
    if "items" in schema:
        return ["array"]
    return ["string"] if _texts(schema.get("enum")) else []


def _required(schema: Mapping[str, Any]) -> list[str]:
    given = schema.get("required")
    texts = [key for key in given if isinstance(key, str)] if isinstance(given, list) else []
    return list(dict.fromkeys(texts))


def _dict(schema: Mapping[str, Any], key: str) -> Json:
    found = schema.get(key)
    return found if isinstance(found, dict) else {}


def _texts(values: object) -> list[str]:
    """The values of an enumeration of texts, [] where it is another or too large."""
    if not isinstance(values, list) or not 0 < len(values) <= MOST_VALUES:
        return []
    fits = all(isinstance(one, str) and 0 < len(one) <= _LONGEST_VALUE for one in values)
    clean = fits and all(visible(one) == one for one in values)
    return list(dict.fromkeys(values)) if clean else []


def _counts(schema: Mapping[str, Any]) -> Json:
    """Lengths, of what has a length."""
    names = [name for type_ in _types(schema) for name in _COUNTS.get(type_, ())]
    return {
        name: int(schema[name])
        for name in names
        if _is_number(schema.get(name)) and schema[name] == int(schema[name]) >= 0
    }


def _bounds(schema: Mapping[str, Any]) -> Json:
    return {name: schema[name] for name in _NUMBERS if _is_number(schema.get(name))}


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= _LARGEST


def _told(made: Json, schema: Json) -> Iterator[str]:
    """In words what the schema says and the one made of it does not."""
    for name in _SAID:
        if isinstance(value := schema.get(name), str | int | float | bool):
            yield f"({name}: {cleaned(json.dumps(value, ensure_ascii=False), _LONGEST_VALUE)})"
    values = schema.get("enum")
    if isinstance(values, list) and values and "enum" not in made:
        text = json.dumps(values[:MOST_VALUES], ensure_ascii=False)
        yield f"(one of {cleaned(text, _LONGEST_VALUE)})"


def _joined(first: Json, second: Json) -> Json:
    """Both of them, as `allOf` has it, as far as objects go."""
    both = {**second, **first}
    if properties := _dict(second, "properties") | _dict(first, "properties"):
        both["properties"] = properties
    if required := [*_required(first), *_required(second)]:
        both["required"] = list(dict.fromkeys(required))
    return both


def _at(root: object, reference: str) -> Json:
    """What a reference within the document names; {} for every other."""
    found = root
    if not reference.startswith("#"):
        return {}
    for part in reference[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
