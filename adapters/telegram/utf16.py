"""Positions as Telegram counts them: UTF-16 code units. Python counts code points.

A lone surrogate counts as one unit.
"""

from bisect import bisect_right


def length(text: str) -> int:
    """UTF-16 units of the text."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def offsets(text: str) -> list[int]:
    """Unit offset of every code point, and of the end: one more than the text is long."""
    table = [0]
    units = 0
    for character in text:
        units += 2 if character > "\uffff" else 1
        table.append(units)
    return table


def index(table: list[int], units: int) -> int:
    """Code point at a unit offset, by the text's `offsets`; within the text, and never inside a
    character: the middle of a pair is its beginning."""
    return max(0, bisect_right(table, units) - 1)


def prefix(text: str, units: int) -> str:
    """The longest beginning of the text that is not longer than this."""
    if length(text) <= units:
        return text
    return text[: index(offsets(text), units)]
