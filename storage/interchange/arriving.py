"""A session that is taken in part by part, so that it is nowhere in memory whole but where its file
is read; and the same as JSON, for the way from there. Pure."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from storage.interchange.pi.read import Imported
from storage.records.entries import Draft, ImportedEntry, Json, Kind
from storage.tree.bulk import parts

PART = 250
"""Entries that are stored in one transaction: all others wait for it."""

Entries = Sequence[ImportedEntry]


@dataclass(frozen=True, slots=True)
class Head:
    """What is told of it before its entries."""

    title: str
    count: int
    """How many entries there are."""
    leaf: int | None
    """Place among them."""
    header: Json | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arriving:
    head: Head
    parts: AsyncIterator[Entries]
    """One after the other, once; none names an entry of one after it. InterchangeError where they
    break off."""


def at_hand(imported: Imported) -> Arriving:
    """What was read here."""

    async def cut() -> AsyncIterator[Entries]:
        for part in parts(imported.entries, PART):
            yield imported.entries[part]

    return Arriving(head_of(imported), cut())


def head_of(imported: Imported) -> Head:
    count = len(imported.entries)
    return Head(imported.title, count, imported.leaf, imported.header, imported.notes)


def as_json(imported: Imported) -> Iterator[object]:
    """The head, and then each part."""
    head = head_of(imported)
    yield [head.title, head.count, head.leaf, head.header, head.notes]
    for part in parts(imported.entries, PART):
        yield [_entry_json(each) for each in imported.entries[part]]


def head_from(value: Any) -> Head:
    head = Head(*value)
    return replace(head, notes=tuple(head.notes))


def part_from(value: Any) -> Entries:
    return tuple(_entry_from(*each) for each in value)


def _entry_json(entry: ImportedEntry) -> object:
    draft = entry.draft
    rest = (draft.author, draft.tokens, draft.time, entry.parent, entry.original)
    return (draft.kind.value, draft.body, *rest)


def _entry_from(
    kind: str,
    body: Json,
    author: str,
    tokens: int,
    time: float | None,
    parent: int | None,
    original: str,
) -> ImportedEntry:
    return ImportedEntry(Draft(Kind(kind), body, author, tokens, time), parent, original)
