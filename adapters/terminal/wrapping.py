"""Lines cut for a narrow terminal so that they can still be read. Pure."""

import re
import unicodedata

_WIDE = ("W", "F")
_PICTURES = range(0x1F000, 0x1FB00)
"""Emoji. Terminals do not agree on their width: the wider one is taken."""
_NOTHING = ("Mn", "Me", "Cf")
"""Categories that take no cell: accents, joiners."""
_WORD = re.compile(r" *[^ ]+")
_DRAWN = re.compile("[ ›●○│├└─⋮…]*")
_UNDER = str.maketrans("›●○├└─⋮…", "   │    ")
"""What stands below the lines of a drawing where a row is continued."""
_KEPT = re.compile(r"(?<= )(🏷 (?:(?! · ).)+|· \S.*)")
"""A label, or what comes behind a middle dot: read as one."""
_GLUE = "\N{NO-BREAK SPACE}"


def cells(text: str) -> int:
    """How many columns a text takes; never too few."""
    return sum(map(_width, text))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A line in rows of at most `width` cells, cut between words where there are any; never
    empty. Rows after the first one begin with `indent`."""
    rows = [""]
    for word in _WORD.findall(text):
        if cells(rows[-1]) + cells(word) > width and rows[-1].strip():
            rows.append(indent)
            word = word.lstrip(" ")
        for character in word:
            if cells(rows[-1]) + _width(character) > width and rows[-1] not in ("", indent):
                rows.append(indent)
            rows[-1] += character
    return rows


def wrapped_drawing(line: str, width: int) -> list[str]:
    """A row of a drawing, or of code, as wrapped() gives it: its lines go on below it, and labels
    stay whole."""
    drawn = _DRAWN.match(line)
    assert drawn is not None, "it may be empty"
    under = f"{drawn[0].translate(_UNDER)}  "
    glued = _KEPT.sub(lambda found: found[0].replace(" ", _GLUE), line)
    rows = wrapped(glued, width, under if cells(under) <= width // 2 else "")
    return [row.replace(_GLUE, " ") for row in rows]


def _width(character: str) -> int:
    if unicodedata.category(character) in _NOTHING:
        return 0
    if ord(character) in _PICTURES or unicodedata.east_asian_width(character) in _WIDE:
        return 2
    return 1
