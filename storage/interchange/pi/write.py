"""A session as lines of Pi's format, version 3. Pure.

Every line can be read by Pi. Where the title or the leaf would be lost, two lines at the end carry
them: a session_info, and a custom entry below the leaf, so that Pi goes on where we would.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.interchange.pi.entry import SESSION, Fields, encode, format_time
from storage.interchange.pi.read import answers, bounded_title, calls, title_of
from storage.json_text import dumps
from storage.records.entries import Entry, Json, Kind, Label, Session
from storage.tree.lineage import Lineage
from storage.tree.paths import effective_labels

Redact = Callable[[str], str]
Shown = Callable[[Entry], Entry]

_LINKS = ("id", "parentId", "firstKeptEntryId", "targetId", "fromId", "type", "customType")
"""Keys of a line that hold no text of anybody."""


@dataclass(frozen=True, slots=True)
class Exported:
    """All that an export says, as it is stored."""

    session: Session
    entries: tuple[Entry, ...]
    """A parent before its children; in a fork, with the path it begins with."""
    labels: tuple[Label, ...]
    """The ones that hold, whether or not their entries are among `entries`."""
    originals: Mapping[int, str]
    """Entry → what it was called where it was imported from."""
    header: Json | None
    """The first line of the file it was imported from."""


def write_session(
    exported: Exported, redact: Redact | None = None, shown: Shown | None = None
) -> Iterator[str]:
    """The file's lines, each with its line break. `redact` is put over every text in them; `shown`
    gives each entry as it is to be written, one after the other: its pictures are in it then."""
    for line in _lines(exported, shown):
        yield dumps(line if redact is None else _redacted(line, redact)) + "\n"


def file_ids(entries: Sequence[Entry], originals: Mapping[int, str]) -> dict[int, str]:
    """Entry → what a file calls it: its original id, else its number in eight hexadecimal digits;
    where that is taken, eight others that are the same every time."""
    ids: dict[int, str] = {}
    taken: set[str] = set()
    for entry in entries:
        original = originals.get(entry.id)
        if original is not None and original not in taken:
            ids[entry.id] = original
            taken.add(original)
    for entry in entries:
        if entry.id not in ids:
            ids[entry.id] = _free(f"{entry.number:08x}", taken)
    return ids


def _free(wanted: str, taken: set[str]) -> str:
    id_, attempt = wanted, 0
    while id_ in taken:
        attempt += 1
        id_ = hashlib.blake2s(f"{wanted}:{attempt}".encode(), digest_size=4).hexdigest()
    taken.add(id_)
    return id_


def _lines(exported: Exported, shown: Shown | None) -> Iterator[Json]:
    header = _header(exported)
    yield header
    entries, ids = exported.entries, file_ids(exported.entries, exported.originals)
    places = {entry.id: place for place, entry in enumerate(entries)}
    lineage = Lineage([places[e.parent] if e.parent is not None else None for e in entries])
    fields = [_fields(entry) for entry in entries]
    callers = lineage.callers([calls(f) for f in fields], [answers(f) for f in fields])
    last: Json = header
    for place, entry in enumerate(entries):
        caller = callers[place]
        called_by = entries[caller].id if caller is not None else None
        found = _named(entry if shown is None else shown(entry), ids, called_by)
        if found.kind is Kind.COMPACTION and found.body["first_kept"] is not None:
            kept = places[entry.body["first_kept"]]
            if not lineage.above(kept, place):
                found = _with(found, first_kept=None)
        last = _placed(ids[entry.id], ids.get(entry.parent or 0), encode(found))
        yield last
    labels = list(_missing_labels(exported, ids))
    yield from labels
    yield from _trailer(exported, ids, fields, header, (labels or [last])[-1])


def _header(exported: Exported) -> Json:
    session = exported.session
    own = {
        "type": "session",
        "version": 3,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"bough:{session.id}:{session.created}")),
        "timestamp": format_time(session.created),
        "cwd": "",
    }
    return own | (exported.header or {}) | {"version": 3}


def _placed(id_: str, parent: str | None, line: Json) -> Json:
    return {"type": line["type"], "id": id_, "parentId": parent} | line


def _fields(entry: Entry) -> Fields:
    return Fields(entry.kind, entry.body, entry.author, entry.tokens, entry.time)


def _with(entry: Fields, **changes: Any) -> Fields:
    body = entry.body | changes
    return Fields(entry.kind, body, entry.author, entry.tokens, entry.time)


def _named(entry: Entry, ids: Mapping[int, str], caller: int | None) -> Fields:
    """The entry with what its body refers to named as in the file."""
    found, body = _fields(entry), entry.body
    match entry.kind:
        case Kind.COMPACTION:
            return _with(found, first_kept=ids.get(body.get("first_kept") or 0))
        case Kind.BRANCH_SUMMARY:
            left = body.get("from")
            if isinstance(left, int):
                return _with(found, **{"from": ids.get(left, f"entry-{left}")})
            return _with(found, **{"from": left})
        case Kind.LABEL:
            target = ids.get(body.get("target") or 0)
            if target is None:  # of an entry that a fork does not have
                lost = {"record": "label", "label": body.get("label")}
                return Fields(Kind.RECORD, lost, entry.author, entry.tokens, entry.time)
            return _with(found, target=target)
        case Kind.MESSAGE | Kind.RECORD if "call_entry" in body:
            rest = {key: value for key, value in body.items() if key != "call_entry"}
            named = ids.get(body["call_entry"] or 0)
            if named is not None and body["call_entry"] != caller:
                rest["call_entry"] = named
            return Fields(entry.kind, rest, entry.author, entry.tokens, entry.time)
        case _:
            return found


def _missing_labels(exported: Exported, ids: dict[int, str]) -> Iterator[Json]:
    """Labels that a fork began with, whose entries are not on its path."""
    given = effective_labels(e for e in exported.entries if e.kind is Kind.LABEL)
    there = {(label.name, label.target) for label in given}
    taken = set(ids.values())
    for label in exported.labels:
        if (label.name, label.target) not in there and label.target in ids:
            target = ids[label.target]
            id_ = _free(
                hashlib.blake2s(f"{target}:{label.name}".encode(), digest_size=4).hexdigest(), taken
            )
            body = {"label": label.name, "target": target}
            found = Fields(Kind.LABEL, body, label.author, 0, label.time)
            yield _placed(id_, target, encode(found))


def _trailer(
    exported: Exported, ids: Mapping[int, str], fields: Sequence[Fields], header: Json, last: Json
) -> Iterator[Json]:
    """What a reader would else take otherwise: the leaf, which would be the last entry, and the
    title."""
    session, leaf = exported.session, ids.get(exported.session.leaf or 0)
    title = bounded_title(session.title)
    named, last_id = title_of(fields) == title, last.get("id") if last is not header else None
    if leaf == last_id and named and last.get("customType") != SESSION:
        return
    taken, stamp = set(ids.values()), {"timestamp": header["timestamp"]}
    data: Json = {"leaf": leaf, "title": title}
    below = leaf
    if title and not named:
        below = data["info"] = _free(hashlib.blake2s(b"info", digest_size=4).hexdigest(), taken)
        yield _placed(below, leaf, {"type": "session_info", **stamp, "name": title})
    id_ = _free(hashlib.blake2s(b"session", digest_size=4).hexdigest(), taken)
    yield _placed(id_, below, {"type": "custom", **stamp, "customType": SESSION, "data": data})


def _redacted(line: Json, redact: Redact) -> Json:
    return {
        key: value if key in _LINKS else _without_secrets(value, redact)
        for key, value in line.items()
    }


def _without_secrets(value: Any, redact: Redact) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {redact(key): _without_secrets(item, redact) for key, item in value.items()}
        case list():
            return [_without_secrets(item, redact) for item in value]
        case _:
            return value
