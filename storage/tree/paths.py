"""Pure helpers on paths and strands. A path is entries from an upper one down to a lower one,
upper first."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from storage.records.entries import Entry, Json, Kind, Label, Session, SessionKind, Strand, Stretch

_kind = attrgetter("kind")

TALK = frozenset({"user", "assistant"})
"""The sorts of what people and the bot say to each other."""


def sort_of(kind: Kind, body: Json) -> str:
    """What an entry is, finer than its kind: a message's role, "calls" for an assistant message
    that only calls tools, else the kind."""
    if kind is not Kind.MESSAGE:
        return kind.value
    content = body.get("content")
    silent = not (content.strip() if isinstance(content, str) else content)
    return "calls" if body.get("tool_calls") and silent else str(body.get("role"))


def first_kept(kind: Kind, body: Json) -> int | None:
    """Where reading a context stops: the entry that a compaction keeps first, if it names one."""
    kept = body.get("first_kept") if kind is Kind.COMPACTION else None
    return kept if isinstance(kept, int) else None


def fork_point(session: Session) -> int | None:
    """The entry of another session that a fork begins with."""
    return session.parent_entry if session.kind is SessionKind.CHAT else None


def common(one: Sequence[Stretch], other: Sequence[Stretch]) -> int | None:
    """The lowest entry that is on both paths; None where they have none in common."""
    shared: Stretch | None = None
    for a, b in zip(one, other, strict=False):
        if a.strand != b.strand:
            break
        shared = min(a, b, key=lambda stretch: stretch.last_depth)
        if a.last != b.last:
            break
    return shared.last if shared is not None else None


def is_on(route: Sequence[Stretch], strand: int, depth: int) -> bool:
    """Whether the entry at this depth of this strand is on a path."""
    return any(part.strand == strand and depth <= part.last_depth for part in route)


def newest_tip(strands: Iterable[Strand], strand: int, depth: int) -> int | None:
    """The newest end at or below the entry at this depth of this strand, by a session's strands;
    None where the strand is not among them."""
    below: set[int] = set()
    newest: int | None = None
    for found in strands:  # oldest first, so what a strand hangs on was seen before it
        hangs_here = found.above == strand and found.depth > depth
        if found.first == strand or found.above in below or hangs_here:
            newest = max(newest or 0, found.tip)
            if found.first != strand:
                below.add(found.first)
    return newest


def effective_labels(entries: Iterable[Entry]) -> list[Label]:
    """The labels that hold after these label entries, oldest first: a name is one entry's, and an
    entry has one name."""
    by_target: dict[int, Label] = {}
    targets: dict[str, int] = {}
    for entry in entries:
        name, target = str(entry.body.get("label") or ""), entry.body.get("target")
        if not isinstance(target, int):
            continue
        if former := by_target.pop(target, None):
            del targets[former.name]
        if name:
            by_target.pop(targets.get(name, 0), None)
            by_target[target] = Label(name, target, entry.author, entry.time)
            targets[name] = target
    return list(by_target.values())


def has_compaction(path: Sequence[Entry]) -> bool:
    return Kind.COMPACTION in map(_kind, path)


def from_first_kept(path: Sequence[Entry]) -> tuple[Entry, ...]:
    """What is left of a path when its newest compaction has spoken for the rest.

    From that compaction's first kept entry on, or from the compaction itself where that entry is
    not above it on the path. All of a path without compaction.
    """
    if not has_compaction(path):
        return tuple(path)
    at = next(i for i in reversed(range(len(path))) if path[i].kind is Kind.COMPACTION)
    kept = path[at].body.get("first_kept")
    start = next((i for i in range(at) if path[i].id == kept), at)
    return tuple(path[start:])
