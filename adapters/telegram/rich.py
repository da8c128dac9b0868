"""Formatted text as Telegram has it, plain text and spans, and how it is cut to fit.

Positions are code points here; `entities` turns them into Telegram's UTF-16 units.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.telegram import utf16


@dataclass(frozen=True, slots=True)
class Span:
    """A format of text[start:end]. `kind` is the type of a Telegram MessageEntity."""

    kind: str
    start: int
    end: int
    url: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Rich:
    text: str
    spans: tuple[Span, ...] = ()

    @property
    def entities(self) -> list[dict[str, Any]]:
        """The spans as MessageEntity objects of the Bot API."""
        if not self.spans:
            return []
        table = utf16.offsets(self.text)
        return [_entity(span, table) for span in self.spans]


def _entity(span: Span, table: list[int]) -> dict[str, Any]:
    entity: dict[str, Any] = {
        "type": span.kind,
        "offset": table[span.start],
        "length": table[span.end] - table[span.start],
    }
    if span.url:
        entity["url"] = span.url
    if span.language:
        entity["language"] = span.language
    return entity


def clipped(entities: Sequence[dict[str, Any]], units: int) -> list[dict[str, Any]]:
    """MessageEntity objects as far as they lie within a text's first `units` UTF-16 units."""
    return [
        {**entity, "length": min(entity["length"], units - entity["offset"])}
        for entity in entities
        if entity["offset"] < units
    ]


def split(rich: Rich, units: int, most: int) -> list[Rich]:
    """Cut into pieces of at most `units` UTF-16 units and `most` spans each.

    A piece ends at a blank line, else at a line's end, else after a space, where there is one in
    its second half. Only line breaks at the edges of pieces are dropped, so code keeps its
    indentation; a span across a cut goes on in the next piece. Blank pieces are left out. Where
    more than `most` spans lie over one point, the last of them are dropped.
    """
    spans = sorted(rich.spans, key=lambda span: (span.start, -span.end))
    table = utf16.offsets(rich.text)
    pieces: list[Rich] = []
    open_spans: list[Span] = []
    taken = 0
    start = _skip_breaks(rich.text, 0)
    while start < len(rich.text):
        limit = utf16.index(table, table[start] + units)
        if (full := taken + most - len(open_spans)) < len(spans) and spans[full].start > start:
            limit = min(limit, spans[full].start)
        end = _cut(rich.text, start, limit)
        while taken < len(spans) and spans[taken].start < end:
            open_spans.append(spans[taken])
            taken += 1
        piece = _piece(rich.text, start, end, open_spans, most)
        if piece.text.strip():
            pieces.append(piece)
        open_spans = [span for span in open_spans if span.end > end]
        start = _skip_breaks(rich.text, end)
    return pieces


def _cut(text: str, start: int, limit: int) -> int:
    """Where the piece that begins at `start` ends; at most `limit`, and after `start`."""
    if limit == len(text):
        return limit
    half = start + (limit - start + 1) // 2
    for separator in ("\n\n", "\n"):
        # A break just behind the limit is fine: breaks at the edges are dropped.
        if (at := text.rfind(separator, half, limit + len(separator))) > start:
            return at
    if (at := text.rfind(" ", half, limit)) > start:
        return at + 1
    return limit


def _piece(text: str, start: int, end: int, spans: Sequence[Span], most: int) -> Rich:
    while end > start and text[end - 1] == "\n":
        end -= 1
    inside = (
        replace(span, start=max(span.start, start) - start, end=min(span.end, end) - start)
        for span in spans
    )
    return Rich(text[start:end], tuple(span for span in inside if span.start < span.end)[:most])


def _skip_breaks(text: str, at: int) -> int:
    while at < len(text) and text[at] == "\n":
        at += 1
    return at
