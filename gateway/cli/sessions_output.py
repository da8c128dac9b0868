"""What bough sessions prints: sessions, trees and contexts as values for programs and as text."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.runtime.context import context
from agent.text.markdown import bounded
from gateway.errors import SessionsFault
from gateway.views.entries import words
from gateway.views.sessions import name_of
from storage.interchange.api import with_ancestors
from storage.interchange.pi.entry import format_time, type_of
from storage.json_text import clean
from storage.records.entries import Entry, Json, Kind, SessionKind
from storage.store import Transaction
from storage.tree.paths import sort_of

FIRST_WORDS = 80
"""Characters."""
_HIGHEST_NUMBER = 2**31 - 1


def list_view(tx: Transaction, kinds: Collection[SessionKind]) -> list[Json]:
    """Sessions, newest first."""
    found = [one for kind in kinds for one in tx.tree.sessions(kind)]
    found.sort(key=lambda one: one[0].id, reverse=True)
    return [
        {
            "session": session.id,
            "title": session.title,
            "name": name_of(tx.directory.overview(session.id), FIRST_WORDS),
            "kind": session.kind.value,
            "entries": count,
            "parent": session.parent_session,
            "created": format_time(session.created),
            "conversations": tx.directory.addresses(session.id),
        }
        for session, count in found
    ]


def tree_view(tx: Transaction, session: int) -> Json:
    """A session's tree, flat: each entry names its parent and its children."""
    found = tx.tree.session(session)
    entries = with_ancestors(tx, session)
    originals: dict[int, str] = {}
    for one in {entry.session for entry in entries}:
        originals |= tx.tree.originals(one)
    names = _names(entries, originals)
    children: dict[int | None, list[str]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).append(names[entry.id])
    by_id = {entry.id: entry for entry in entries}
    on_path: set[int] = set()
    upper = found.leaf
    while upper is not None:
        on_path.add(upper)
        upper = by_id[upper].parent
    labels = {label.target: label.name for label in tx.tree.labels(session)}
    place = _Place(names, children, labels, on_path)
    return {
        "session": session,
        "title": found.title,
        "leaf": names[found.leaf] if found.leaf is not None else None,
        "roots": children.get(None, []),
        "entries": [_entry_view(entry, place) for entry in entries],
    }


def context_view(tx: Transaction, session: int, at: str | None) -> list[Json]:
    """The messages a model would get, without a system message: at the leaf, or at an entry."""
    leaf = tx.tree.session(session).leaf if at is None else find(tx, session, at).id
    return context(tx.tree.context_path(leaf))


def find(tx: Transaction, session: int, name: str) -> Entry:
    """The entry that is called so: its original id, or its number, which may be written #12.

    SessionsFault where there is none.
    """
    name = clean(name)  # what is no UTF-8 on a command line
    found = tx.tree.original(session, name)
    digits = name.removeprefix("#")
    if found is None and digits.isascii() and digits.isdigit() and len(digits) < 11:
        number = int(digits)
        found = tx.tree.numbered(session, number) if number <= _HIGHEST_NUMBER else None
    if found is None:
        raise SessionsFault(
            f"session {session} has no entry {bounded(name, 60)!r}; "
            f"see `bough sessions tree {session}`"
        )
    return found


def first_words(entry: Entry) -> str:
    """What an entry says, for one line."""
    match sort_of(entry.kind, entry.body):
        case "calls":
            return plain(f"calls {words(entry)}")
        case "record":
            return plain(type_of(entry.kind, entry.body))
        case _:
            return plain(words(entry))


def plain(text: str) -> str:
    """One bounded line that a terminal shows as it is."""
    return _readable(bounded(text[: 4 * FIRST_WORDS], FIRST_WORDS))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where entries are in their tree."""

    names: Mapping[int, str]
    children: Mapping[int | None, list[str]]
    labels: Mapping[int, str]
    on_path: Collection[int]


def _entry_view(entry: Entry, place: _Place) -> dict[str, Any]:
    return {
        "id": place.names[entry.id],
        "number": entry.number,
        "parent": place.names[entry.parent] if entry.parent is not None else None,
        "children": place.children.get(entry.id, []),
        "type": type_of(entry.kind, entry.body),
        "role": entry.body.get("role") if entry.kind is Kind.MESSAGE else None,
        "text": first_words(entry),
        "label": place.labels.get(entry.id),
        "timestamp": format_time(entry.time),
        "on_path": entry.id in place.on_path,
    }


def _names(entries: Collection[Entry], originals: Mapping[int, str]) -> dict[int, str]:
    """Entry → its original id, else its number; #number where that is another one's original id."""
    names = {entry.id: originals[entry.id] for entry in entries if entry.id in originals}
    taken = set(names.values())
    for entry in entries:
        number = str(entry.number)
        names.setdefault(entry.id, f"#{number}" if number in taken else number)
    return names


_DEEPEST = 40
"""Columns of indentation: branches below that are drawn at it."""


def list_text(sessions: Sequence[Json]) -> Iterator[str]:
    if not sessions:
        yield "There are no sessions."
    for session in sessions:
        where = ", ".join(session["conversations"])
        count = session["entries"]
        yield "  ".join(
            part
            for part in (
                f"{session['session']:>5}",
                session["created"][:16].replace("T", " "),
                f"{count:>6} {'entry' if count == 1 else 'entries'}",
                plain(session["name"]),
                f"[{plain(where)}]" if where else "",
            )
            if part
        )


def tree_text(tree: Json) -> Iterator[str]:
    """A line for each entry; what goes on from one entry in several ways is set in."""
    yield plain(f"Session {tree['session']} {tree['title']}")
    entries = {entry["id"]: entry for entry in tree["entries"]}
    left = [(root, 2 * (len(tree["roots"]) > 1)) for root in reversed(tree["roots"])]
    while left:
        name, indent = left.pop()
        entry = entries[name]
        yield _entry_line(entry, indent, is_leaf=name == tree["leaf"])
        children = entry["children"]
        below = min(indent + 2, _DEEPEST) if len(children) > 1 else indent
        left += [(child, below) for child in reversed(children)]


def context_text(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        calls = [call["function"] for call in message.get("tool_calls", ())]
        name = f" {plain(str(message['name']))}" if message.get("name") else ""
        yield f"{message['role']}{name}:"
        yield from (f"  {_readable(line)}" for line in str(message["content"] or "").splitlines())
        yield from (f"  → {_readable(call['name'] + call['arguments'])}" for call in calls)


def _entry_line(entry: Json, indent: int, *, is_leaf: bool) -> str:
    mark = "●" if is_leaf else "│" if entry["on_path"] else " "
    number = f"#{entry['number']}"
    name = f" ({plain(entry['id'])})" if entry["id"].removeprefix("#") != number[1:] else ""
    who = entry["role"] or entry["type"]
    label = f"  [{plain(entry['label'])}]" if entry["label"] else ""
    return f"{mark} {' ' * indent}{number}{name} {plain(who)}: {entry['text']}{label}"


def _readable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\t" else "�" for c in text)
