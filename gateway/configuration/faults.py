"""What is wrong in a configuration, in words for people: the key, what it takes, and what may have
been meant. No value is ever shown: it may be a secret."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from agent.text.fault_words import fault_words
from agent.text.suggestion import LONGEST, MOST, nearest

PREFIX = "BOUGH_"
README = "gateway/README.md lists them all."
Key = tuple[str | int, ...]
"""The way to a value: names of sections, and numbers in lists."""
ANY = "*"
"""In a key: a name that the configuration chooses, or a number in a list."""
_BARE = re.compile(r"[\w-]+")
_CREDENTIALS = ("token", "key", "keys", "secret")
_NEARLY = 0.9
"""How alike a variable and a key must be: other programs may have variables that begin so, too."""


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Every fault of a configuration of that model, one on a line."""
    lines = []
    for fault in error.errors(include_input=False, include_url=False):
        key = ".".join(_part(part) for part in fault["loc"] if part != "[key]")
        if fault["type"] == "extra_forbidden":
            text = f"there is no such key.{_meant(fault['loc'], model)} {README}"
        else:
            text = _words(fault["type"], fault["msg"], fault.get("ctx", {}))
            text = text if text.endswith((".", "?")) else f"{text}."
        lines.append(f"{key}: {text}" if key else text)
    return "The configuration has a fault.\n" + "\n".join(f"  {line}" for line in lines)


def _part(part: str | int) -> str:
    """As TOML writes it: `chats."telegram:-100"`."""
    return str(part) if _BARE.fullmatch(str(part)) else f'"{part}"'


def _words(kind: str, said: str, details: Mapping[str, Any]) -> str:
    return fault_words(kind, said, details) or f"is no value of this key. {README}"


def keys_of(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Every key, as the way to it; sections too."""
    for name, field in model.model_fields.items():
        yield (name,)
        ways = _below(field.annotation)
        for way, section in ways:
            yield from ((name, *way, *rest) for rest in keys_of(section))


def _below(annotation: Any) -> list[tuple[tuple[str, ...], type[BaseModel]]]:
    """The sections in such a value, each with what stands between: a name or a number."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [((), annotation)]
    origin = getattr(annotation, "__origin__", None)
    between = (ANY,) if origin in (dict, tuple) else ()
    found = (each for argument in get_args(annotation) for each in _below(argument))
    return [((*between, *way), section) for way, section in found]


def _meant(given: Key, model: type[BaseModel]) -> str:
    """What a key that does not exist may have been: one spelled alike beside it, or one of the same
    name elsewhere."""
    above, name = given[:-1], str(given[-1])
    known = [key for key in keys_of(model) if ANY not in key[-1:]]
    beside = [key[-1] for key in known if len(key) == len(given) and _same(key[:-1], above)]
    found = nearest(name, beside)
    if found is not None:
        return f" Did you mean {'.'.join(map(str, (*above, found)))}?"
    elsewhere = [".".join(key) for key in known if key[-1] == name and ANY not in key]
    return f" Did you mean {elsewhere[0]}?" if elsewhere else ""


def _same(key: Sequence[str], given: Key) -> bool:
    return all(one in (ANY, other) for one, other in zip(key, given, strict=True))


@dataclass(frozen=True, slots=True)
class Misspelled:
    """A variable that was meant for a key, and sets none."""

    text: str
    certain: bool
    """It cannot be another program's, or the bot is nothing without what it says."""


def misspelled_variables(names: Sequence[str], model: type[BaseModel]) -> list[Misspelled]:
    """Variables with one underscore where two belong between the parts, or spelled nearly as a
    key: other programs may have variables that begin so, too, so of those only what looks like a
    token or a key is certain."""
    if not names:  # as at most starts: else every key is made a pattern first
        return []
    known = list(keys_of(model))
    inside = dict(_in_lists(model))
    exact = [(re.compile("_".join(map(_pattern, key))), key) for key in known]
    flat = {"_".join(key): key for key in known if ANY not in key}
    found = []
    for name in names[:MOST]:
        given = name.removeprefix(PREFIX).lower()[:LONGEST]
        key = next((key for pattern, key in exact if pattern.fullmatch(given)), None)
        certain = key is not None
        near = nearest(given, flat, _NEARLY) if key is None else None
        if near is not None and not re.match(f"{near}[0-9_]", given):
            key = flat[near]
            certain = key[-1].endswith(_CREDENTIALS)
        if key is not None and len(key) > 1:
            found.append(Misspelled(f"{name}: sets nothing. {_advice(key, inside)}", certain))
    return found


def _advice(key: tuple[str, ...], inside: Mapping[tuple[str, ...], tuple[str, ...]]) -> str:
    if key in inside:
        return _as_a_list(inside[key])
    meant = "__".join("NAME" if part == ANY else part.upper() for part in key)
    return f"Did you mean {PREFIX}{meant}? Two underscores stand between the parts."


def _in_lists(
    model: type[BaseModel], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Every key below a list of sections, with the way to that list: no variable leads into it."""
    for name, field in model.model_fields.items():
        for way, section in _below(field.annotation):
            here = (*above, name)
            if getattr(field.annotation, "__origin__", None) is tuple:
                yield from (((*here, *way, *rest), here) for rest in keys_of(section))
            else:
                yield from _in_lists(section, (*here, *way))


def _as_a_list(key: tuple[str, ...]) -> str:
    whole = ".".join(key)
    return (
        f"{whole} is a list of sections, which no variable sets: write [[{whole}]] in bough.toml."
    )


def _pattern(part: str) -> str:
    return "[a-z0-9_]+?" if part == ANY else re.escape(part)


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read, and what to do."""
    match error:
        case PermissionError():
            why = "this user may not read it; change its owner or mode, or run as its owner"
        case IsADirectoryError():
            why = "it is a folder; name the file in it"
        case UnicodeDecodeError():
            why = "it is not UTF-8 text; save it as UTF-8"
        case _:
            why = (error.strerror or "the system does not say why").lower()
    return f"{path} cannot be read: {why}."


def not_toml(path: Path, error: tomllib.TOMLDecodeError) -> str:
    """Where a file is no TOML, and how it is written. What stands there is not shown."""
    found = re.search(r"at line (\d+), column (\d+)", str(error))
    where = f"line {found[1]}, column {found[2]}" if found else "its end"
    return (
        f"{path} is not valid TOML: look at {where}. Sections are [name], keys are "
        'key = "text", key = 12, key = true or key = ["a", "b"]; none stands there twice.'
    )
