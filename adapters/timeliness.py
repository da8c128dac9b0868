"""Whether a request may still go out: asked right before it does, however long it had to wait."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adapters.base import Unavailable

_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("wanted", default=None)


@contextmanager
def only_while(check: Callable[[], bool]) -> Iterator[None]:
    """Requests that are made within, by tasks that are begun there too, go out only while `check`
    says so."""
    token = _wanted.set(check)
    try:
        yield
    finally:
        _wanted.reset(token)


def ensure_timely() -> None:
    """Unavailable where the request comes too late: another process does it by now."""
    check = _wanted.get()
    if check is not None and not check():
        raise Unavailable("this process was late, and another one goes on with it")
