"""What is stored of sessions, as people read it on a command line."""

from collections.abc import Iterator, Sequence

from gateway.cli.sessions_view import plain
from storage.records.entries import Json

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
                plain(session["title"]),
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
