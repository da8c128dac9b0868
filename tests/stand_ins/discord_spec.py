"""Checks REST traffic against Discord's published OpenAPI description, where that is present."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.stand_ins import specs

_DOCUMENT = "urn:discord"


def problems(
    method: str, path: str, payload: Any, status: int, reply: Any, files: Sequence[int] = ()
) -> list[str]:
    """What is wrong with a request and its reply; nothing where the description is not there.

    `path` is without the API's base; payload and reply are decoded, None for an empty body;
    `files` are the numbers of those that came with it. The request is checked only where it was
    accepted: what is refused may well be wrong.
    """
    document = specs.load("discord_openapi.json")
    if document is None:
        return []
    template = _template(path)
    if template is None or method.lower() not in document["paths"][template]:
        return [f"{method} {path}: there is no such call"]
    operation = document["paths"][template][method.lower()]
    pointer = ["paths", template, method.lower()]
    found = []
    if status < 300 and "requestBody" in operation and payload is not None:
        media = "multipart/form-data" if files else "application/json"
        value = payload | {f"files[{number}]": "" for number in files} if files else payload
        place = [*pointer, "requestBody", "content", media, "schema"]
        found += _errors(f"{method} {path}", place, value)
    if status < 300 and reply is not None:
        place = [*pointer, "responses", str(status), "content", "application/json", "schema"]
        found += _errors(f"reply to {method} {path}", place, reply)
    return found


@cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    """Most exact first: fixed words win over parameters."""
    document = specs.load("discord_openapi.json") or {"paths": {}}
    ordered = sorted(document["paths"], key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in ordered]


def _template(path: str) -> str | None:
    for pattern, template in _templates():
        if pattern.fullmatch(path):
            return template
    return None


def _errors(what: str, pointer: list[str], value: Any) -> list[str]:
    validator = _validator(tuple(pointer))
    return [
        f"{what}: {'/'.join(map(str, error.path))}: {error.message[:500]}"
        for error in validator.iter_errors(value)
    ]


@cache
def _validator(pointer: tuple[str, ...]) -> Draft202012Validator:
    words = "/".join(quote(word.replace("~", "~0").replace("/", "~1")) for word in pointer)
    return Draft202012Validator({"$ref": f"{_DOCUMENT}#/{words}"}, registry=_registry())


@cache
def _registry() -> Registry[Any]:
    resource = DRAFT202012.create_resource(specs.load("discord_openapi.json"))
    registry: Registry[Any] = Registry().with_resource(_DOCUMENT, resource)
    return registry
