"""Where turns ended: the paths of the sessions that were busy last, and what a model was shown of
them, so that a session that goes on is neither read nor told again.

Entries change only where somebody is forgotten, and whoever does that claims the session. So a path
is right for as long as its end is the session's leaf and nobody claimed the session since. Whoever
gets one checks that.
"""

from collections import OrderedDict
from dataclasses import dataclass

from agent.runtime.context import Context
from storage.records.entries import Entry

Path = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A path, and the epoch of its session when it was right."""

    path: Path = ()
    epoch: int = 0

    def holds(self, leaf: int | None, claimed: int) -> bool:
        """Whether it is the path to the leaf, for whoever holds the session in the epoch
        `claimed`."""
        right = bool(self.path) and self.path[-1].id == leaf
        return right and self.epoch + 1 == claimed


NOTHING_KNOWN = Known()


@dataclass(frozen=True, slots=True)
class _Kept:
    known: Known
    characters: int
    context: Context | None = None


class Paths:
    def __init__(self, limit: int = 20_000, characters: int = 50_000_000) -> None:
        """`limit`: entries in all; `characters`: of text in them. What was used longest ago goes
        first."""
        self._limit = limit
        self._most_characters = characters
        self._size = self._characters = 0
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def get(self, session: int) -> Known:
        """Empty where it is not known. In any thread."""
        kept = self._kept.get(session)
        return kept.known if kept is not None else NOTHING_KNOWN

    def context(self, session: int) -> Context | None:
        """That of the path, or of its beginning. In any thread."""
        kept = self._kept.get(session)
        return kept.context if kept is not None else None

    def keep(self, session: int, path: Path, epoch: int, context: Context | None = None) -> None:
        """`epoch`: that in which it was read or written."""
        old = self._kept.pop(session, _Kept(NOTHING_KNOWN, 0))
        if len(path) > self._limit:  # it would push out all others, and go itself
            return self._count(old, -1)
        kept = _Kept(Known(path, epoch), _characters(path, old), context)
        self._kept[session] = kept
        self._count(kept, 1)
        self._count(old, -1)
        while self._size > self._limit or self._characters > self._most_characters:
            _, oldest = self._kept.popitem(last=False)
            self._count(oldest, -1)

    def _count(self, kept: _Kept, sign: int) -> None:
        self._size += sign * len(kept.known.path)
        self._characters += sign * kept.characters


def _characters(path: Path, old: _Kept) -> int:
    """Of a path that mostly is an old one and what came since."""
    before = old.known.path
    known = len(before)
    if 0 < known <= len(path) and path[0] is before[0] and path[known - 1] is before[-1]:
        return old.characters + sum(_text(entry.body) for entry in path[known:])
    return sum(_text(entry.body) for entry in path)


def _text(value: object) -> int:
    match value:
        case str():
            return len(value)
        case dict():
            return sum(map(_text, value.values()))
        case list():
            return sum(map(_text, value))
        case _:
            return 0
