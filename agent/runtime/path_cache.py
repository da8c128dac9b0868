"""Where turns ended: the paths of the sessions that were busy last, so that a session that goes on
is not read again.

Entries never change, so a path is right for as long as its end is the session's leaf. Whoever gets
one checks that.
"""

from collections import OrderedDict

from storage.records.entries import Entry

Path = tuple[Entry, ...]


class Paths:
    def __init__(self, limit: int = 20_000) -> None:
        """`limit`: entries in all. What was used longest ago goes first."""
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[int, Path] = OrderedDict()

    def get(self, session: int) -> Path:
        """Empty where it is not known."""
        return self._kept.get(session, ())

    def keep(self, session: int, path: Path) -> None:
        self._size += len(path) - len(self._kept.pop(session, ()))
        self._kept[session] = path
        while self._size > self._limit:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest)
