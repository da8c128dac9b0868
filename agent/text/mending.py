"""Values that models write in another form than was asked for, where it is plain what they mean.

Each change is a warning; what could mean two things stays as it is, for whoever checks it.
"""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from agent.text.untrusted import join, quote
from storage.records.entries import Json

SHOWN_WARNINGS = 8
_WHOLE = re.compile(r"[0-9]{1,9}")
_LARGEST = 10**9
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def _folded(text: str) -> str:
    return re.sub(r"[\s-]+", "_", text.strip()).casefold()


@dataclass(slots=True)
class Mending:
    """One value being mended. Places are as in `agent.text.untrusted.join`."""

    _warnings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What cannot be mended though nobody else would see it."""

    def warnings(self) -> tuple[str, ...]:
        """SHOWN_WARNINGS of them at most, and how many more there are."""
        hidden = len(self._warnings) - SHOWN_WARNINGS
        more = (f"and {hidden} more such warnings",) if hidden > 0 else ()
        return (*self._warnings[:SHOWN_WARNINGS], *more)

    def warn(self, place: str, text: str) -> None:
        self._warnings.append(f"{place}: {text}" if place else text)

    def keys(self, given: Json, place: str, known: Collection[str]) -> Json:
        """The object with the known keys, however they are spelled; others are left out."""
        spelled = {key: key if key in known else _folded(key) for key in given}
        count = Counter(spelled.values())
        made: Json = {}
        for key, value in given.items():
            name = spelled[key]
            if name not in known:
                self.warn(place, f"unknown key {quote(key)} is ignored")
            elif count[name] > 1:
                twice = f"{quote(name)} stands twice (upper and lower case are the same)"
                self.faults.append(f"{place}: {twice}" if place else twice)
            else:
                made[name] = value
                if name != key:
                    self.warn(place, f"the key {quote(key)} is read as {name}")
        return made

    def number(self, value: object, place: str) -> object:
        """A whole number that is written as text or with a fraction of zero."""
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            return self._read(value, int(value), place)
        if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
            return self._read(value, int(value), place)
        return value

    def flag(self, value: object, place: str) -> object:
        if not isinstance(value, str) or _folded(value) not in _FLAGS:
            return value
        return self._read(value, _FLAGS[_folded(value)], place)

    def word(self, value: object, place: str, words: Collection[str]) -> object:
        """One of the words, however it is spelled."""
        if not isinstance(value, str) or value in words or _folded(value) not in words:
            return value
        return self._read(value, _folded(value), place)

    def listed(self, value: object, place: str) -> object:
        """One text where a list of them belongs."""
        if not isinstance(value, str) or not value.strip():
            return value
        self.warn(place, "one text is read as a list of it")
        return [value]

    def _read(self, value: object, meant: Any, place: str) -> object:
        self.warn(place, f"{quote(value)} is read as {meant}")
        return meant


def under(place: str, key: str | int) -> str:
    return f"{place}[{key}]" if isinstance(key, int) else join(place, key)
