"""JSON from files that anybody may have written: read strictly, and made fit for a database."""

import json
import re
import sys
from typing import Any

from pydantic_core import from_json

from storage.errors import InterchangeError
from storage.json_text import clean

MAX_DEPTH = 200
"""Levels of lists and objects; what fast readers take."""

_LARGEST = sys.float_info.max
_BIG_NUMBER = re.compile(rb"[0-9](?:[eE]\+?[0-9]{3}|[0-9]{299})")


def parse(raw: bytes) -> Any:
    """A JSON value without NUL and lone surrogates (they become U+FFFD), and without numbers that
    no other program would take. InterchangeError where it is not JSON."""
    try:
        value = from_json(raw, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        return _cleaned(_read_patiently(raw), MAX_DEPTH)
    # Only there can be what must be cleaned or refused, though it could be read.
    suspicious = b"\\u" in raw or _BIG_NUMBER.search(raw)
    return _cleaned(value, MAX_DEPTH) if suspicious else value


def parse_line(number: int, raw: bytes) -> Any:
    """`parse`, with the line's number in the error."""
    try:
        return parse(raw)
    except InterchangeError as error:
        raise InterchangeError(f"line {number}: {error}") from None


def quoted(text: str) -> str:
    """Untrusted text for an error message: bounded, on one line."""
    return json.dumps(
        text if len(text) <= 80 else text[:79] + "…", ensure_ascii=not text.isprintable()
    )


def _read_patiently(raw: bytes) -> Any:
    """What the fast reader refuses though it is JSON: lone surrogates, bytes that are no UTF-8."""
    try:
        return json.loads(raw.decode("utf-8", "replace"), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, " if error.lineno > 1 else ""
        text = f"is not JSON: {error.msg} ({where}column {error.colno})"
        raise InterchangeError(text) from None
    except RecursionError:
        raise InterchangeError(f"is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError:  # Python's own limit of digits
        raise InterchangeError("has a number that is too large") from None


def _refuse(name: str) -> Any:
    raise InterchangeError(f"is not JSON: {name} is no number")


def _cleaned(value: Any, levels: int) -> Any:
    match value:
        case str():
            return clean(value)
        case dict() | list() if not levels:
            raise InterchangeError(f"is nested more than {MAX_DEPTH} levels deep")
        case dict():
            return {clean(key): _cleaned(item, levels - 1) for key, item in value.items()}
        case list():
            return [_cleaned(item, levels - 1) for item in value]
        case float() | int() if not -_LARGEST <= value <= _LARGEST:
            raise InterchangeError("has a number that is too large")
        case _:
            return value
