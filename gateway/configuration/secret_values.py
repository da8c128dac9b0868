"""What is secret in a configuration and in the environment: passwords, tokens and keys, and nothing
else, as whatever stands here is taken out of every line of the log."""

import base64
import binascii
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import BaseModel, SecretStr

from storage.interchange.redaction import SHORTEST_SECRET

_TELLING = re.compile(
    r"(?:\A|[_-])(?:(?:api|access|private|master|subscription)?[_-]?keys?|secrets?|passwd|pass|"
    r"passphrase|sig|signature|auth|authorization|cookie|credentials?|jwt|pat)\Z|"
    r"token\Z|[_-]pwd\Z|secret|password|api[_-]?key|(?-i:[a-z](?:Key|Sig|Auth)\Z)",
    re.IGNORECASE,
)
"""Names, of variables, headers and in URLs, whose value is a secret. PWD alone is the working
directory."""
_TELLING_IN_URL = re.compile(r"\A(?:code|pwd|k)\Z", re.IGNORECASE)
"""More of them, which mean something else elsewhere."""
_SHORTEST_IN_ENVIRONMENT = 8
"""Characters. There, other programs' variables have telling names and plain words in them."""
_LONG = 24
"""Characters from which on a value in a URL is taken for a key, whatever its name."""
_MIXED = 16
"""Characters from which on letters and digits without a break are taken for a key."""
_PLAIN = re.compile(r"[A-Za-z]{1,15}|[\d.,:+-]+|[~./][^\s=]*|[a-z]+/[a-z.+-]+")
"""A word, a number, a date, a path, a media type: what no secret is by itself."""
_PLACEHOLDER = re.compile(
    r"[x*.-]*|none|null|empty|dummy|test|local|ollama|lm-studio|key|na|n/a|not-needed|"
    r"(?:sk-)?no-key(?:-required)?",
    re.IGNORECASE,
)
"""What is written for a key where a server wants none."""
_URL = re.compile(r"[a-z][a-z\d+.-]*://[^\s\"'<>]+", re.IGNORECASE)
_BOT = re.compile(r"(?:bot)?\d+:([\w-]+)")
"""A bot's token; the part that is secret."""
_WEB = ("http", "https", "ws", "wss")


def all_secrets(config: BaseModel, environ: Mapping[str, str] = os.environ) -> set[str]:
    """Of the configuration and of the environment, from which libraries take keys by themselves."""
    return secrets_of(config) | environment_secrets(environ)


def secrets_of(config: BaseModel) -> set[str]:
    """Every secret value of a configuration; of a bot's token, also the part that is secret, and
    what URLs carry."""
    found = {form for _, secret in _named(config) for form in _forms_of(secret)}
    return {one for one in found if len(one) >= SHORTEST_SECRET}


def too_short(config: BaseModel) -> list[str]:
    """The keys of a configuration whose secret is so short that it stands in the log as it is: it
    may be a part of any word. Of a bot's token the sign-in says that it is none."""
    found = {key for key, secret in _named(config) if 0 < len(secret) < SHORTEST_SECRET}
    return sorted(key for key in found if not key.endswith(".token"))


def environment_secrets(environ: Mapping[str, str]) -> set[str]:
    """Values of variables with telling names, such as OPENAI_API_KEY, and what URLs carry."""
    found: set[str] = set()
    for name, value in environ.items():
        found |= {one for one in _in_urls(value) if len(one) >= SHORTEST_SECRET}
        if _TELLING.search(name) and "://" not in value:
            parts = {value, *(part.strip() for part in value.split(","))}
            found |= {part for part in parts if len(part) >= _SHORTEST_IN_ENVIRONMENT}
    return found


def _named(config: BaseModel) -> Iterator[tuple[str, str]]:
    """Each secret with its key."""
    left: list[tuple[str, Any]] = [("", config)]
    while left:
        key, value = left.pop()
        match value:
            case SecretStr():
                secret = value.get_secret_value()
                if not _PLACEHOLDER.fullmatch(secret) and not _is_plain_setting(key, secret):
                    yield key, secret
                yield from ((key, one) for one in _in_urls(secret, paths=True))
            case str():
                yield from ((key, one) for one in _in_urls(value, paths=True))
            case BaseModel():
                above = f"{key}." if key else ""
                left += [(f"{above}{one}", getattr(value, one)) for one in type(value).model_fields]
            case dict():
                left += [(f"{key}.{name}", one) for name, one in value.items()]
                texts = {name: one for name, one in value.items() if isinstance(one, str)}
                yield from ((key, one) for one in environment_secrets(texts))
            case list() | tuple():
                left += [(key, one) for one in value]
                yield from ((key, one) for one in _in_arguments(value))


def _is_plain_setting(key: str, value: str) -> bool:
    """Whether a variable or header of an MCP server, which may be anything, is no secret."""
    section, _, name = key.rpartition(".")
    if not section.endswith((".env", ".headers")) or _TELLING.search(name):
        return False
    return _PLAIN.fullmatch(value) is not None or _URL.fullmatch(value) is not None


def _in_arguments(values: Iterable[object]) -> Iterator[str]:
    """Of a program's arguments: --token VALUE, --token=VALUE."""
    before = ""
    for value in values:
        if not isinstance(value, str):
            return
        name, equals, rest = value.partition("=")
        if equals and _TELLING.search(name):
            yield rest
        elif before.startswith("-") and "=" not in before and _TELLING.search(before):
            yield value
        before = value


def _forms_of(secret: str) -> Iterator[str]:
    """A secret, and the part of it that is one by itself."""
    yield secret
    if found := _BOT.fullmatch(secret):
        yield found[1]
    scheme, _, value = secret.partition(" ")
    if scheme.lower() in ("bearer", "basic", "token", "bot"):
        yield value.strip()
    if scheme.lower() == "basic":
        try:
            yield base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return  # not what it says it is


def _in_urls(text: str, *, paths: bool = False) -> Iterator[str]:
    """Passwords and keys in URLs, as they are written there and as they are meant. `paths`: in the
    paths of them too, as some servers have it."""
    for found in _URL.finditer(text):
        try:
            url = urlsplit(found[0])
        except ValueError:  # no URL after all
            continue
        yield from _in_login(url)
        for part in re.split("[&;]", f"{url.query}&{url.fragment}"):
            name, _, value = part.partition("=")
            telling = _TELLING.search(name) or _TELLING_IN_URL.search(name)
            if telling or len(value) >= _LONG or _is_key(value):
                yield from (value, unquote(value), *(meant for _, meant in parse_qsl(part)))
        if paths and url.scheme.lower() in _WEB:
            for part in url.path.split("/"):
                if bot := _BOT.fullmatch(unquote(part)):
                    yield bot[1]
                elif _is_key(part):
                    yield from (part, unquote(part))


def _in_login(url: SplitResult) -> Iterator[str]:
    """A password. A name without one is a token on the web, where it looks like that; a database
    has users without passwords."""
    login, _, host = url.netloc.rpartition("@")
    name, _, password = login.partition(":")
    web = url.scheme.lower() in _WEB
    if _is_key(name) or (web and not password and re.search(r"\d", name)):
        yield from (name, unquote(name))
    # Where it is the name of its user, host or database, it is a word of every other line.
    if not password or password in (name, host.partition(":")[0], url.path.strip("/")):
        return
    yield from (password, unquote(password))
    plain = f"{unquote(name)}:{unquote(password)}".encode()
    yield base64.b64encode(plain).decode()  # as a header has it
    yield base64.urlsafe_b64encode(plain).decode()


def _is_key(value: str) -> bool:
    """Whether it looks like what a machine made up."""
    return any(
        len(part) >= _LONG
        or (len(part) >= _MIXED and re.search(r"\d", part) and re.search("[A-Za-z]", part))
        for part in re.split(r"[-._~:]", unquote(value))
    ) or bool(re.fullmatch(r"[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}", value))
