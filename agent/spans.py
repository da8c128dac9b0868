"""Spans: what took how long, for whoever collects traces. Where nobody does, they cost nothing.

A span has a name, and attributes out of what the program knows by itself: names, numbers, ids.
Never what people or models wrote.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import Protocol

Attributes = Mapping[str, str | int | float | bool]


class SpanKind(StrEnum):
    INTERNAL = "internal"
    CLIENT = "client"
    """It waits for somebody else's service."""
    CONSUMER = "consumer"
    """It takes in what somebody sent."""
    PRODUCER = "producer"
    """It sends."""


class Span(Protocol):
    def note(self, attributes: Attributes) -> None: ...

    def fail(self, kind: str) -> None:
        """It came to nothing, for a reason of this kind: a word, not an error's text."""
        ...


class Spans(Protocol):
    """Whoever collects them."""

    def span(
        self, name: str, kind: SpanKind, attributes: Attributes
    ) -> AbstractContextManager[Span]:
        """Within the span that surrounds it."""
        ...

    def first(
        self, name: str, kind: SpanKind, attributes: Attributes
    ) -> AbstractContextManager[Span]:
        """The first one of the current trace: others stand below it, in other processes too."""
        ...

    def below(
        self, trace: str, name: str, kind: SpanKind, attributes: Attributes, links: tuple[str, ...]
    ) -> AbstractContextManager[Span]:
        """Below the first one of a trace, wherever that was made; `links`: other traces that it
        goes on with."""
        ...


class _Nothing:
    def note(self, attributes: Attributes) -> None:
        """Nobody is told."""

    def fail(self, kind: str) -> None:
        """Nobody is told."""


NOTHING = _Nothing()
_collecting: list[Spans] = []
"""The last one counts. One for the process, as with the handlers of a log: work is woken by threads
and timers too, which belong to no task."""


@contextmanager
def collected_by(spans: Spans) -> Iterator[None]:
    """What is done in this process during the block is told to `spans`."""
    _collecting.append(spans)
    try:
        yield
    finally:
        _collecting.remove(spans)


def _spans() -> Spans | None:
    return _collecting[-1] if _collecting else None


def span(
    name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL
) -> AbstractContextManager[Span]:
    spans = _spans()
    return nullcontext(NOTHING) if spans is None else spans.span(name, kind, attributes)


def first_span(name: str, attributes: Attributes) -> AbstractContextManager[Span]:
    spans = _spans()
    if spans is None:
        return nullcontext(NOTHING)
    return spans.first(name, SpanKind.CONSUMER, attributes)


def span_below(
    trace: str,
    name: str,
    attributes: Attributes,
    kind: SpanKind = SpanKind.INTERNAL,
    links: tuple[str, ...] = (),
) -> AbstractContextManager[Span]:
    spans = _spans()
    if spans is None:
        return nullcontext(NOTHING)
    return spans.below(trace, name, kind, attributes, links)
