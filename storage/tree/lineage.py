"""Who is above whom in a tree that is given as a list of parents. Pure; any depth."""

from collections import defaultdict
from collections.abc import Iterator, Sequence


class Lineage:
    """`parents[i]` is the place of entry i's parent, always a smaller one, or None."""

    def __init__(self, parents: Sequence[int | None]) -> None:
        self._children: list[list[int]] = [[] for _ in parents]
        self._roots: list[int] = []
        for place, parent in enumerate(parents):
            (self._roots if parent is None else self._children[parent]).append(place)
        self._begin = [0] * len(parents)
        self._end = [0] * len(parents)
        for step, (place, entered) in enumerate(self._steps()):
            (self._begin if entered else self._end)[place] = step

    def above(self, upper: int, lower: int) -> bool:
        """Whether `upper` is an ancestor of `lower`."""
        return self._begin[upper] < self._begin[lower] and self._end[lower] < self._end[upper]

    def callers(
        self, calls: Sequence[Sequence[str]], answers: Sequence[str | None]
    ) -> list[int | None]:
        """For each entry that answers a call id, the nearest entry above it that has such a call.

        Ids are used more than once, on one path too.
        """
        found: list[int | None] = [None] * len(answers)
        open_calls: dict[str, list[int]] = defaultdict(list)
        for place, entered in self._steps():
            if not entered:
                for id_ in calls[place]:
                    open_calls[id_].pop()
                continue
            answered = answers[place]
            if answered is not None and (callers := open_calls.get(answered)):
                found[place] = callers[-1]
            for id_ in calls[place]:
                open_calls[id_].append(place)
        return found

    def _steps(self) -> Iterator[tuple[int, bool]]:
        """Every entry twice: when the walk comes to it (True), and when it has been below."""
        left = [(root, True) for root in reversed(self._roots)]
        while left:
            place, entered = left.pop()
            yield place, entered
            if entered:
                left.append((place, False))
                left += [(child, True) for child in reversed(self._children[place])]
