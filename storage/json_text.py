"""Text and JSON as the stores keep them."""

import json
import re
from typing import Any

from pydantic_core import from_json

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ESCAPED = json.JSONEncoder(separators=(",", ":"))
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """Text that every database and encoder takes: NUL and lone surrogates become U+FFFD."""
    return _UNWRITABLE.sub("\ufffd", text)


def dumps(value: Any) -> str:
    """Compact JSON. Readable as it is, unless it holds what UTF-8 cannot say (lone surrogates,
    which a model may well write): then all of it is escaped, and comes back the same."""
    text = _COMPACT.encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _ESCAPED.encode(value)
    return text


def loads(text: str) -> Any:
    """What `dumps` was given."""
    try:
        return from_json(text, cache_strings="keys")  # in half the time of json
    except ValueError:
        return json.loads(text)  # which knows lone surrogates, and any depth


def copied(value: Any) -> Any:
    """What comes back after having been kept."""
    return loads(dumps(value))
