"""An exact replacement in a text, and what a model is told where there is none. Pure.

What a model gives is compared as it is, but for line ends: in a text whose lines all end in CR LF,
those of the model are taken for CR LF, since a model writes LF whatever it was shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice

NAMED = 10
"""Places that are named where there are too many."""
HINTS = 3
MOST_COUNTED = 1_000
"""Places that are counted, where there should be one."""
_LOOKED_AT = 100_000
"""Lines in which hints are looked for."""
_COMPARED = 3_000
"""Lines that are compared roughly for likeness."""
_LIKELY = 20
"""Of them are compared exactly."""
_WIDTH = 200
"""Characters of a line that are compared, or shown."""
_LIKE = 0.6


class EditError(Exception):
    """Nothing can be replaced. The text says why and what to do, for a model."""


@dataclass(frozen=True, slots=True)
class Edited:
    text: str
    count: int
    """How often it was replaced."""
    line: int
    """The line of what it was, from 1, in which the first of these places begins."""


def edited(text: str, old: str, new: str, *, all_places: bool = False) -> Edited:
    """The text with `new` in the place of `old`, which stands there once, or wherever it does.

    EditError where it is not there, or at several places and not all are wanted.
    """
    if not old:
        raise EditError("old: is empty; give the passage to replace")
    if _only_crlf(text):
        old, new = _with_crlf(old), _with_crlf(new)
    if old == new:
        raise EditError("old and new are the same, so there is nothing to change")
    places = list(islice(_places(text, old), 1 if all_places else MOST_COUNTED))
    if not places:
        raise EditError(f"old: is not in the file{_hints(text, old)}")
    if len(places) > 1:
        more = "at least " if len(places) == MOST_COUNTED else ""
        lines = [_line_of(text, place) for place in places[: NAMED + 1]]
        raise EditError(
            f"old: is in the file {more}{len(places):,} times, in lines {_named(lines)}; give more "
            "of the lines around the one you mean, or set all to replace every one"
        )
    return Edited(text.replace(old, new), text.count(old), _line_of(text, places[0]))


def _only_crlf(text: str) -> bool:
    ends = text.count("\n")
    return ends > 0 and ends == text.count("\r\n")


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _places(text: str, old: str) -> Iterator[int]:
    """Where it begins. Places that overlap are several: which one is meant is not known."""
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + 1)


def _line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _named(lines: Sequence[int]) -> str:
    distinct = list(dict.fromkeys(lines))
    shown = ", ".join(f"{line:,}" for line in distinct[:NAMED])
    return f"{shown} and more" if len(distinct) > NAMED else shown


def _hints(text: str, old: str) -> str:
    """Lines of the text that may be what was meant, and why they are not it."""
    wanted = next((line for line in old.splitlines() if line.strip()), "")
    if not wanted:
        return ". It is nothing but white space: give the lines around it too"
    lines = text.split("\n", _LOOKED_AT)[:_LOOKED_AT]
    same = [number for number, line in enumerate(lines, 1) if line.strip() == wanted.strip()]
    if same:
        return (
            f". Its first line, but for white space, is line {_named(same)}: read that part again "
            "and copy it exactly, with its indentation and with what follows"
        )
    near = _nearest(lines, wanted)
    if not near:
        return " and no line is like it; read the file again"
    shown = "\n".join(f"{number}: {lines[number - 1].strip()[:_WIDTH]}" for number in near)
    return f"; the lines most like its first are these. Copy the passage exactly.\n{shown}\n"


def _nearest(lines: Sequence[str], wanted: str) -> list[int]:
    """Numbers of the lines most like one, best first."""
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            numbers.setdefault(line.strip()[:_WIDTH], number)
        if len(numbers) == _COMPARED:
            break
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted.strip()[:_WIDTH])

    def likeness(line: str, *, rough: bool) -> float:
        matcher.set_seq1(line)
        if rough:
            return matcher.quick_ratio() if matcher.real_quick_ratio() >= _LIKE else 0.0
        return matcher.ratio()

    # The exact measure takes milliseconds for one line.
    likely = nlargest(_LIKELY, numbers, key=lambda line: likeness(line, rough=True))
    measured = {line: likeness(line, rough=False) for line in likely}
    best = nlargest(HINTS, measured, key=lambda line: measured[line])
    return [numbers[line] for line in best if measured[line] >= _LIKE]
