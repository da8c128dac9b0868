"""What is secret in a configuration and in the environment."""

import base64
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import BaseModel, SecretStr

from storage.interchange.redaction import SHORTEST_SECRET

_TELLING = re.compile(
    r"(?:\A|[_-])(?:(?:api|access|private|master|subscription)?[_-]?keys?|secrets?|token|passwd|"
    r"passphrase|sig|signature|auth)\Z|[_-]pwd\Z|secret|password|api[_-]?key",
    re.IGNORECASE,
)
"""Names, of variables and in URLs, whose value is a secret. PWD alone is the working directory."""
_SHORTEST_IN_ENVIRONMENT = 8
"""Characters. There, other programs' variables have telling names and plain words in them."""
_LONG = 24
"""Characters from which on a value in a URL is taken for a key, whatever its name."""


def all_secrets(config: BaseModel, environ: Mapping[str, str] = os.environ) -> set[str]:
    """Of the configuration and of the environment, from which libraries take keys by themselves."""
    return secrets_of(config) | environment_secrets(environ)


def secrets_of(config: BaseModel) -> set[str]:
    """Every secret value of a configuration; of a bot's token, also the part that is secret, and
    what URLs carry."""
    found: set[str] = set()
    left: list[Any] = [config]
    while left:
        match left.pop():
            case SecretStr() as secret:
                found |= {secret.get_secret_value(), secret.get_secret_value().partition(":")[2]}
            case str() as text:
                found |= set(_in_url(text))
            case BaseModel() as model:
                left += [getattr(model, name) for name in type(model).model_fields]
            case dict() as values:
                left += values.values()
                texts = {name: text for name, text in values.items() if isinstance(text, str)}
                found |= environment_secrets(texts)
            case list() | tuple() as values:
                left += values
    return found


def environment_secrets(environ: Mapping[str, str]) -> set[str]:
    """Values of variables with telling names, such as OPENAI_API_KEY, and what URLs carry."""
    found: set[str] = set()
    for name, value in environ.items():
        found |= set(_in_url(value))
        if _TELLING.search(name) and "://" not in value:
            parts = {value, *(part.strip() for part in value.split(","))}
            found |= {part for part in parts if len(part) >= _SHORTEST_IN_ENVIRONMENT}
    return found


def _in_url(text: str) -> Iterator[str]:
    """Passwords and keys in a URL, as they are written there and as they are meant."""
    if "://" not in text:
        return
    try:
        url = urlsplit(text)
    except ValueError:  # no URL after all
        return
    user, _, host = url.netloc.rpartition("@")
    if host and user:
        name, colon, password = user.partition(":")
        yield from _both(password if colon else name)
        plain = f"{unquote(name)}:{unquote(password)}"
        if colon and password:  # as a header has it
            yield base64.b64encode(plain.encode()).decode()
    for part in re.split("[&;]", url.query):
        name, _, value = part.partition("=")
        if _TELLING.search(name) or len(value) >= _LONG:
            yield from _both(value)
            yield from (meant for _, meant in parse_qsl(part))


def _both(value: str) -> Iterator[str]:
    yield from (form for form in (value, unquote(value)) if len(form) >= SHORTEST_SECRET)
