"""Foreign text made fit: for databases and encoders, for a terminal, as a name. Pure."""

import re
import unicodedata

LONGEST_NAME = 64
"""Characters of what a person is called."""

_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_OBEYED = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Controls but for tab and newline, and direction marks: they turn text around, and a terminal does
what they say."""
_BLANK = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u206f\u2800\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""What is blank: things hide in it. Joiners (U+200C, U+200D) stay: emoji and several scripts are
written with them."""
_CONTROLS = re.compile(f"[{_OBEYED}]")
_UNSEEN = re.compile(f"[{_OBEYED}{_BLANK}]")
_SHOWS_NOTHING = ("C", "M", "Z")
"""Beginnings of the categories of characters that show nothing when they stand alone."""


def clean(text: str) -> str:
    """Text that every database and encoder takes: NUL and lone surrogates become U+FFFD."""
    return _UNWRITABLE.sub("\ufffd", text)


def printable(text: str) -> str:
    """Text that does nothing to a terminal but show: without control characters, whoever wrote
    them."""
    return _CONTROLS.sub("", text)


def display_name(name: str, identity: str) -> str:
    """A name that people chose, on one line, bounded, without what cannot be seen or turns the text
    around it; their identity where nothing is left to be seen."""
    one_line = " ".join(clean(name).split())
    line = " ".join(_UNSEEN.sub("", one_line).split())[:LONGEST_NAME].strip()
    return line if shows(line) else identity


def shows(text: str) -> bool:
    """Whether something of it can be seen."""
    seen = _UNSEEN.sub("", text)
    return any(not unicodedata.category(c).startswith(_SHOWS_NOTHING) for c in seen)
