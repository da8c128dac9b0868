"""The trace of what is being done: one id from an update to its reply, 32 hex digits as W3C's trace
context has them.

It goes along with the context of a task, into the transactions that it runs too, and is stored with
the rows of the inbox and the outbox that are written meanwhile: whoever works on such a row later,
after a restart or in another process, goes on with its trace.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

KEY = "trace"
"""In the payload of a row."""
_LENGTH = 32
_current: ContextVar[str] = ContextVar("trace", default="")


def new_trace() -> str:
    return secrets.token_hex(_LENGTH // 2)


def trace_of_key(key: str) -> str:
    """Of a row that came without one, by its own key: the same whoever works on it."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


def current_trace() -> str:
    """ "" where nothing is traced."""
    return _current.get()


@contextmanager
def traced(trace: str) -> Iterator[str]:
    """Within the block, what is done belongs to a trace; "": to none."""
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)


def with_trace(payload: dict[str, Any]) -> dict[str, Any]:
    """A row's payload as it is stored now."""
    trace = _current.get()
    return {**payload, KEY: trace} if trace else payload


def trace_in(payload: Mapping[str, Any]) -> str:
    return str(payload.get(KEY) or "")


def without_trace(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What a row is about."""
    return {name: value for name, value in payload.items() if name != KEY}
