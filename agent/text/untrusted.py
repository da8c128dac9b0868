"""Values from outside made plain: JSON's types only, bounded, without cycles. Pure.

Text is read as JSON or as YAML. The YAML is a safe subset: no tags, anchors, aliases or merge keys;
keys stay the text that was written (`no`, `404`), and only null, true, false and whole numbers are
anything but text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from storage.json_text import clean

MAX_DEPTH = 50
"""Levels of lists and objects inside each other."""
MAX_VALUES = 65_536
"""Values in all, containers among them."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_JSON_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
"""One that is not closed reaches to the end, so that no quote in it is tried as another start."""
_INTEGER = re.compile(r"[-+]?[0-9]+")
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_LARGEST = 2**63
_UNQUOTED_LIMIT = 20_000


_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e"
    "\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
"""Controls, direction marks and what has no width: they turn text around, or hide in it. Joiners
(U+200C, U+200D) stay: emoji and several scripts are written with them."""
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILE = re.compile(f"({_MARK}{{4}}){_MARK}+")
"""Marks in such a number that they cover the lines above and below."""


class PlainError(ValueError):
    """The value is not plain and cannot be made so. The text says where and why."""


class Pairs(list[tuple[Any, Any]]):
    """An object as it was written: a key may stand in it twice."""


def plain(value: object, place: str = "") -> tuple[Any, list[str]]:
    """The value with dict, list, str, int, float, bool and None only, and its small faults.

    Keys that stand twice or are not text are small faults: noted with their place and left out.
    NUL and lone surrogates, which no database or encoder takes, become U+FFFD. PlainError for what
    is cyclic, too deep, too much or not of JSON's types.
    """
    walk = _Walk()
    return walk.value(value, place, 0), walk.faults


def read_text(text: str) -> object:
    """What a JSON or YAML text says, objects as Pairs. PlainError where it is neither."""
    text = clean(text.removeprefix("\ufeff"))
    if not text.lstrip().startswith(("{", "[")) or _brackets_deep(text):
        return _YamlReader(text).document()
    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_int=_integer)
    except json.JSONDecodeError as error:
        json_fault = f"line {error.lineno}, column {error.colno}: {error.msg}"
    try:
        return _YamlReader(text).document()
    except PlainError as error:
        raise PlainError(f"neither JSON ({json_fault}) nor YAML ({error})") from None


def unquoted(value: object) -> object:
    """A list or object that a model wrote as text; every other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    if len(value) > _UNQUOTED_LIMIT:
        return value
    try:
        return plain(read_text(value))[0]
    except PlainError:
        return value


def storable(value: object, *, nones: bool = True) -> Any:
    """A JSON value whose texts every database and encoder takes; objects keep a None or lose it."""
    match value:
        case str():
            return clean(value)
        case list():
            return [storable(item, nones=nones) for item in value]
        case dict():
            return {
                clean(key): storable(item, nones=nones)
                for key, item in value.items()
                if nones or item is not None
            }
        case _:
            return value


def visible(text: str) -> str:
    """Foreign text without what turns it around or cannot be seen; line breaks and tabs stay."""
    return _PILE.sub(r"\1", _UNSEEN.sub("", _BREAK.sub("\n", text)))


def kind_of(value: object) -> str:
    """What a plain value is, for a message."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def quote(value: object, limit: int = 60) -> str:
    """A value in a message: quoted where it is text, on one line, at most `limit` characters."""
    text = " ".join(clean(value).split()) if isinstance(value, str) else repr(value)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return f"'{text}'" if isinstance(value, str) else text


def join(place: str, key: str) -> str:
    """The place of a key in the object at `place`; a long key is cut."""
    key = quote(key)[1:-1]
    return f"{place}.{key}" if place else key


class _Walk:
    def __init__(self) -> None:
        self.faults: list[str] = []
        self._values = 0
        self._open: set[int] = set()

    def value(self, value: object, place: str, depth: int) -> object:
        self._values += 1
        if self._values > MAX_VALUES:
            raise PlainError(f"more than {MAX_VALUES:,} values; that is too much")
        match value:
            case None | bool() | float():
                return value
            case int():
                if abs(value) >= _LARGEST:
                    raise PlainError(_at(place, "a number that is too large"))
                return int(value)
            case str():
                return clean(value)
            case Mapping() | list() | tuple():
                return self._container(value, place, depth + 1)
            case _:
                raise PlainError(_at(place, f"{kind_of(value)} is nothing that JSON can hold"))

    def _container(
        self, value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], place: str, depth: int
    ) -> object:
        if depth > MAX_DEPTH:
            raise PlainError(f"more than {MAX_DEPTH} levels inside each other")
        if id(value) in self._open:
            raise PlainError(_at(place, "cyclic: it contains itself"))
        self._open.add(id(value))
        made: Any
        match value:
            case Mapping():
                made = self._object(value.items(), place, depth)
            case Pairs():
                made = self._object(value, place, depth)
            case _:
                made = [self.value(v, f"{place}[{i}]", depth) for i, v in enumerate(value)]
        self._open.discard(id(value))
        return made

    def _object(self, pairs: Any, place: str, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for raw_key, raw_value in pairs:
            if not isinstance(raw_key, str):
                self.faults.append(_at(place, f"a key is {kind_of(raw_key)}, not text"))
                continue
            key = clean(raw_key)
            value = self.value(raw_value, join(place, key), depth)
            if key in made:
                self.faults.append(_at(place, f"the key {quote(key)} stands twice"))
            else:
                made[key] = value
        return made


def _at(place: str, text: str) -> str:
    return f"{place}: {text}" if place else text


def _brackets_deep(text: str) -> bool:
    """Whether JSON's own parser, which recurses, must not see the text."""
    depth = 0
    for bracket in re.findall(r"[\[{}\]]", _JSON_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _integer(digits: str) -> int | float:
    """A number by its digits; as a float where int() would refuse the length."""
    return int(digits) if len(digits) < 20 else float(digits)


class _YamlReader:
    """Composes values from the parser's flat events, so depth is ours to limit."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))

    def document(self) -> object:
        try:
            self._next()
            if isinstance(self._next(), yaml.StreamEndEvent):
                return None
            value = self._node(self._next(), 0)
            self._next()
            if not isinstance(self._next(), yaml.StreamEndEvent):
                raise PlainError("more than one YAML document; give one")
            return value
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
            raise PlainError(where + (error.problem or error.context or "not YAML")) from None
        except yaml.YAMLError as error:
            raise PlainError(" ".join(str(error).split())) from None

    def _next(self) -> object:
        return next(self._events)

    def _node(self, event: Any, depth: int) -> object:
        _refuse_indirection(event)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value) if event.implicit[0] else event.value
        if depth >= MAX_DEPTH:
            raise PlainError(f"more than {MAX_DEPTH} levels inside each other")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(depth + 1)
        return self._mapping(depth + 1)

    def _sequence(self, depth: int) -> list[Any]:
        made = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            made.append(self._node(event, depth))
        return made

    def _mapping(self, depth: int) -> Pairs:
        made = Pairs()
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            _refuse_indirection(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise PlainError(f"{_line(event)}: a key is a list or an object; use text")
            if event.value == "<<" and event.implicit[0]:
                raise PlainError(f"{_line(event)}: merge keys (<<) are not taken; write it out")
            made.append((event.value, self._node(self._next(), depth)))
        return made


def _refuse_indirection(event: Any) -> None:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise PlainError(
            f"{_line(event)}: anchors and aliases (&name, *name) are not taken, "
            "they can make it cyclic or endless; write the part out"
        )
    if event.tag is not None:
        raise PlainError(f"{_line(event)}: tags ({quote(event.tag, 40)}) are not taken")


def _scalar(written: str) -> object:
    if written.lower() in _CONSTANTS:
        return _CONSTANTS[written.lower()]
    return _integer(written) if _INTEGER.fullmatch(written) else written


def _line(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"


def as_text(value: object) -> str:
    """A plain value as text: what is empty becomes "", objects and lists become JSON."""
    if value is None or value == {} or value == []:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)
