"""Length of text as Discord's limits count it, and cutting that keeps characters whole. Pure."""

import re

LIMIT = 2000
"""Length of a message, in UTF-16 units: the safe reading of "2000 characters"."""

# One character as people see it: what combines with it, skin tones and joined emoji stay with it.
# The bound keeps a pathological pile of combining marks cuttable.
_MARK = "[\u0300-\u036f\u200d\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_CHARACTER = re.compile(rf"(?:{_FLAG}|(?s:.))(?:{_MARK}(?:(?<=\u200d).)?){{0,16}}")


def units(text: str) -> int:
    """UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def characters(text: str) -> list[str]:
    """The text in pieces that may be torn apart without breaking what people see as one."""
    return _CHARACTER.findall(text)


def hard_cut(text: str, room: int) -> list[str]:
    """Pieces of at most `room` units, as long as they may be; none for an empty text."""
    if units(text) <= room:
        return [text] if text else []
    pieces, size = [""], 0
    for character in characters(text):
        width = units(character)
        if size + width > room:
            pieces.append("")
            size = 0
        pieces[-1] += character
        size += width
    return pieces


def fit(text: str, limit: int) -> str:
    """The text, cut with an ellipsis where it is longer than `limit` units."""
    if units(text) <= limit:
        return text
    return hard_cut(text, limit - 1)[0] + "…"
