"""Tables in memory that can take back what was done to them."""

from collections.abc import Callable
from typing import TypeVar

from storage.errors import NotFound

K = TypeVar("K")
V = TypeVar("V")

Undo = Callable[[], object]


class Table(dict[K, V]):
    """A dict whose changes are noted in a journal, newest last, each as what undoes it.

    Rows are immutable values and are replaced, never changed. Nothing is ever removed, so the next
    free id is one above the number of rows.
    """

    def __init__(self, journal: list[Undo], name: str) -> None:
        super().__init__()
        self._journal = journal
        self._name = name

    def __setitem__(self, key: K, row: V) -> None:
        if key in self:
            before = self[key]
            self._journal.append(lambda: dict.__setitem__(self, key, before))
        else:
            self._journal.append(lambda: self.pop(key))
        super().__setitem__(key, row)

    def __missing__(self, key: K) -> V:
        raise NotFound(f"there is no {self._name} {key}")

    @property
    def next_id(self) -> int:
        return len(self) + 1

    def expect(self, key: K | None) -> None:
        """NotFound where `key` names a row that is not there."""
        if key is not None and key not in self:
            raise NotFound(f"there is no {self._name} {key}")


def undo(journal: list[Undo]) -> None:
    while journal:
        journal.pop()()
