"""A file in Pi's session format as a list of entries. Pure.

All is checked before anything is taken: what a line refers to must be there, and where it must be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from storage.errors import InterchangeError
from storage.interchange.json_reader import parse_line, quoted
from storage.interchange.pi.entry import SESSION, Fields, decode, is_kept_whole, parse_time
from storage.interchange.pi.message import calls_of
from storage.records.entries import Draft, ImportedEntry, Json, Kind
from storage.records.record_entries import WAITS
from storage.tree.lineage import Lineage

VERSIONS = (1, 2, 3)
LONGEST_ID = 200
LONGEST_TITLE = 200
_KEPT_SILENTLY = ("thinking_level_change", "session_info", "custom", "message")


@dataclass(frozen=True, slots=True)
class Imported:
    """A session that is not stored yet."""

    title: str
    entries: tuple[ImportedEntry, ...]
    leaf: int | None
    """Place in `entries`."""
    header: Json | None
    """The file's first line, where it is one in Pi's format."""
    notes: tuple[str, ...]
    """What was not taken as it was, for people."""


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    value: Json


def read_pi(lines: Sequence[tuple[int, bytes]], now: float) -> Imported:
    """Lines with their numbers, none empty. `now`, Unix seconds, is the time of what has none.

    InterchangeError names the line that is broken.
    """
    header, found = _parsed(lines)
    version = _version(header)
    if version == 1:
        found = list(_numbered(found))
    ids = _identified(found)
    trailer = _trailer(found, ids)
    found = found[: len(found) - trailer.lines]
    parents = [_parent(line, ids) for line in found]
    started = parse_time(header.value.get("timestamp"))
    fields, untimed = _decoded(found, now if started is None else started)
    lineage = Lineage(parents)
    settled = list(_settled(found, fields, ids, lineage))
    answered = _with_callers(settled, lineage)
    entries = tuple(
        ImportedEntry(
            Draft(entry.kind, entry.body, entry.author, entry.tokens, entry.time),
            parent,
            str(line.value["id"]) if version > 1 else "",
        )
        for line, entry, parent in zip(found, answered, parents, strict=True)
    )
    last = len(entries) - 1 if entries else None
    return Imported(
        trailer.title if trailer.title is not None else title_of(fields),
        entries,
        trailer.leaf if trailer.lines else last,
        header.value,
        tuple(_notes(fields, answered, untimed)),
    )


def title_of(entries: Sequence[Fields]) -> str:
    """What the file calls its session."""
    for entry in reversed(entries):
        if is_kept_whole(entry.kind, entry.body):
            line = entry.body["line"]
            name = line.get("name") if line.get("type") == "session_info" else None
            if isinstance(name, str) and name.strip():
                return bounded_title(name)
    return ""


def bounded_title(name: str) -> str:
    return " ".join(name.split())[:LONGEST_TITLE]


def _parsed(lines: Sequence[tuple[int, bytes]]) -> tuple[Line, list[Line]]:
    found = []
    for number, raw in lines:
        value = parse_line(number, raw)
        if not isinstance(value, dict):
            raise InterchangeError(f"line {number}: is no JSON object")
        found.append(Line(number, value))
    if not found:
        raise InterchangeError("the file is empty")
    header, *rest = found
    if header.value.get("type") != "session":
        raise InterchangeError(
            f"line {header.number}: is no session header; the first line must have "
            '"type": "session"'
        )
    for line in rest:
        if line.value.get("type") == "session":
            raise InterchangeError(f"line {line.number}: is a second session header")
    return header, rest


def _version(header: Line) -> int:
    version = header.value.get("version", 1)
    if type(version) is not int or version not in VERSIONS:
        raise InterchangeError(
            f"line {header.number}: the format's version is not one of "
            f"{', '.join(map(str, VERSIONS))}"
        )
    return version


def _numbered(lines: Sequence[Line]) -> Iterator[Line]:
    """Entries of version 1, which are a row without ids, as in version 2."""
    for place, line in enumerate(lines, start=1):
        parent = f"{place - 1:08x}" if place > 1 else None
        value = line.value | {"id": f"{place:08x}", "parentId": parent}
        if value.get("type") == "compaction" and "firstKeptEntryId" not in value:
            index = value.pop("firstKeptEntryIndex", 0)
            if type(index) is not int or not 0 <= index < place:
                text = "firstKeptEntryIndex names no entry before it"
                raise InterchangeError(f"line {line.number}: {text}")
            # The header is number 0: a file that names it keeps nothing.
            value["firstKeptEntryId"] = f"{index:08x}" if index else None
        yield Line(line.number, value)


def _identified(lines: Sequence[Line]) -> dict[str, int]:
    """Id → place."""
    ids: dict[str, int] = {}
    for place, line in enumerate(lines):
        id_ = line.value.get("id")
        if not isinstance(id_, str) or not id_:
            raise InterchangeError(f"line {line.number}: is an entry without an id")
        if len(id_) > LONGEST_ID:
            raise InterchangeError(f"line {line.number}: its id is too long")
        if id_ in ids:
            first = lines[ids[id_]].number
            raise InterchangeError(
                f"line {line.number}: the id {quoted(id_)} was given already, on line {first}"
            )
        ids[id_] = place
    return ids


@dataclass(frozen=True, slots=True)
class _Trailer:
    """What our own export says at its end, and how many lines that takes."""

    lines: int = 0
    title: str | None = None
    leaf: int | None = None


def _trailer(lines: Sequence[Line], ids: Mapping[str, int]) -> _Trailer:
    last = lines[-1] if lines else None
    kind = (last.value.get("type"), last.value.get("customType")) if last is not None else ()
    if last is None or kind != ("custom", SESSION):
        return _Trailer()
    data = last.value.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("title"), str):
        raise InterchangeError(f"line {last.number}: is a {SESSION} that cannot be read")
    named = len(lines) > 1 and "info" in data and lines[-2].value.get("id") == data["info"]
    count = 2 if named else 1
    leaf = data.get("leaf")
    if leaf is not None and not (
        isinstance(leaf, str) and ids.get(leaf, len(ids)) < len(ids) - count
    ):
        raise InterchangeError(f"line {last.number}: its leaf is not in the file")
    return _Trailer(count, bounded_title(data["title"]), None if leaf is None else ids[leaf])


def _parent(line: Line, ids: Mapping[str, int]) -> int | None:
    place = ids[str(line.value["id"])]
    parent = line.value.get("parentId")
    if parent is None and ("parentId" in line.value or place == 0):
        return None
    if not isinstance(parent, str):
        raise InterchangeError(f"line {line.number}: is an entry without parentId")
    if parent not in ids:
        raise InterchangeError(
            f"line {line.number}: its parent {quoted(parent)} is not in the file"
        )
    if ids[parent] >= place:
        raise InterchangeError(
            f"line {line.number}: its parent {quoted(parent)} does not come before it; "
            "entries that are each other's parents, in a cycle, are no tree"
        )
    return ids[parent]


def _decoded(lines: Sequence[Line], start: float) -> tuple[list[Fields], int]:
    """Entries, and how many of them got the time of the one before."""
    found: list[Fields] = []
    untimed = 0
    for line in lines:
        try:
            found.append(decode(line.value, found[-1].time if found else start))
        except InterchangeError as error:
            raise InterchangeError(f"line {line.number}: {error}") from None
        if parse_time(line.value.get("timestamp")) is None and "bough" not in line.value:
            untimed += 1
    return found, untimed


def _settled(
    lines: Sequence[Line], entries: Sequence[Fields], ids: Mapping[str, int], lineage: Lineage
) -> Iterator[Fields]:
    """The entries with places where their bodies name others."""
    for place, (line, entry) in enumerate(zip(lines, entries, strict=True)):
        try:
            yield replace(entry, body=_placed(entry, place, ids, lineage, len(lines)))
        except InterchangeError as error:
            raise InterchangeError(f"line {line.number}: {error}") from None


def _placed(
    entry: Fields, place: int, ids: Mapping[str, int], lineage: Lineage, count: int
) -> Json:
    body = entry.body

    def named(key: str) -> int | None:
        """Place of what the body names; None for nothing that is in the file."""
        found = ids.get(body[key]) if isinstance(body[key], str) else None
        return found if found is not None and found < count else None

    match entry.kind:
        case Kind.COMPACTION if body["first_kept"] is not None:
            kept = named("first_kept")
            if kept is None or not lineage.above(kept, place):
                raise InterchangeError(
                    f"its firstKeptEntryId {quoted(body['first_kept'])} is not above it on its path"
                )
            return body | {"first_kept": kept}
        case Kind.BRANCH_SUMMARY if (left := named("from")) is not None:
            return body | {"from": left}
        case Kind.LABEL:
            target = named("target")
            if target is None:
                raise InterchangeError(f"its targetId {quoted(body['target'])} is not in the file")
            return body | {"target": target}
        case Kind.MESSAGE | Kind.RECORD if "call_entry" in body:
            caller = named("call_entry")
            if caller is None or not lineage.above(caller, place):
                raise InterchangeError("the entry that made its call is not above it on its path")
            body = body | {"call_entry": caller}
    if body.get("record") in WAITS:
        return body | {"question": 0}  # nobody is asked here
    return body


def _with_callers(entries: Sequence[Fields], lineage: Lineage) -> list[Fields]:
    """The entries, each result with the entry that made its call, where there is one."""
    callers = lineage.callers([calls(entry) for entry in entries], [answers(e) for e in entries])
    return [
        replace(entry, body=entry.body | {"call_entry": caller})
        if caller is not None and "call_entry" not in entry.body
        else entry
        for entry, caller in zip(entries, callers, strict=True)
    ]


def calls(entry: Fields) -> list[str]:
    return calls_of(entry.body) if entry.kind is Kind.MESSAGE else []


def answers(entry: Fields) -> str | None:
    """Id of the call that a tool's result is for."""
    is_result = entry.kind is Kind.MESSAGE and entry.body["role"] == "tool"
    return entry.body["tool_call_id"] if is_result else None


def _notes(read: Sequence[Fields], settled: Sequence[Fields], untimed: int) -> Iterator[str]:
    strange: Counter[str] = Counter()
    half = pictures = 0
    for entry in read:
        if is_kept_whole(entry.kind, entry.body):
            kind = entry.body["line"]["type"]
            strange[kind] += kind not in _KEPT_SILENTLY
        elif entry.kind is Kind.MESSAGE:
            blocks = entry.body.get("pi", {}).get("blocks") or ()
            types = [block["type"] for block in blocks if isinstance(block, dict)]
            pictures += types.count("image")
            half += "toolCall" in types and "tool_calls" not in entry.body
    for kind, count in strange.items():
        if count:
            entries = _many(count, "entry", "entries")
            yield f"{entries} of the type {quoted(kind)}: kept, not understood"
    if pictures:
        yield f"{_many(pictures, 'picture')}: kept; a model reads only that there was one"
    if half:
        yield f"{_many(half, 'answer')} cut off: kept whole, but shown to a model without calls"
    if lost := sum(answers(e) is not None and "call_entry" not in e.body for e in settled):
        yield f"{_many(lost, 'tool result')} without a call above: shown as a late result"
    if untimed:
        yield f"{_many(untimed, 'entry', 'entries')} without a time: taken as the one before"


def _many(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
