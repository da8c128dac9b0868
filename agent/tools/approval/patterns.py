"""A rule's regular expression, so that an operator is matched only where the pattern names it.

Each `.`, each `\\S`, `\\W`, `\\D`, `\\s` and each class gets a look ahead that keeps operators out,
but for those that a class lists one by one. What names an operator is left as it is: `\\|`, `\\n`,
`[;&]`. Looking around consumes nothing and is left alone. Pure.
"""

import re
from collections.abc import Iterator

_ANYTHING = re.compile(
    r"(?:\(\?s\))?\^?(?:\(?(?:\.|\[\\s\\S\]|\[\\S\\s\])[*+]\??\)?)?\$?", re.DOTALL
)
_WIDE = frozenset("SWDs")
"""Escapes that match operators without naming one."""
_KNOWN = frozenset("AbBdwZnrtfvaxuU0")
"""Other escapes with a letter or digit that mean the same to every engine and match no operator but
one they name. References back are not among them: what looked around may have captured anything."""
_GROUP = re.compile(r"\(\?(?:P?<\w+>|:|>|[aimsu]+(?:-[ims]+)?[:)])")
_AROUND = re.compile(r"\(\?<?[=!]")
_REPEAT = re.compile(r"\{(?:\d+(?:,\d*)?|,\d+)?\}")


class _Unclear(Exception):
    """It has something of which nobody here knows what it matches."""


def means_anything(pattern: str) -> bool:
    """Whether it is no condition at all: `.*`, `^.+$` and the like."""
    return pattern != "^$" and _ANYTHING.fullmatch(pattern) is not None


def guarded(pattern: str, operators: str) -> str | None:
    """The pattern with operators kept out of everything that does not name them; None where it
    cannot be read well enough to say."""
    try:
        return "".join(_parts(pattern, operators))
    except _Unclear:
        return None


def _parts(pattern: str, operators: str) -> Iterator[str]:
    at, around = 0, 0
    """`around`: how many groups are open from the first that looks around."""
    while at < len(pattern):
        token, wide = _token(pattern, at)
        at += len(token)
        if around:
            opens = token.startswith("(") and not token.endswith(")")
            around += opens - (token == ")")  # noqa: S105 - no password
        elif _AROUND.fullmatch(token):
            around = 1
        elif wide is not None:
            token = _barred(token, operators, wide)
        yield token
    if around:
        raise _Unclear


def _token(pattern: str, at: int) -> tuple[str, str | None]:
    """The next part of a pattern; where it matches one of many characters, those that it lists."""
    match pattern[at]:
        case "\\":
            return _escape(pattern, at)
        case "[":
            return _class(pattern, at)
        case ".":
            return ".", ""
        case "(":
            return _opening(pattern, at), None
        case "{":
            # Some engines know more kinds of repetition, which would match what is not there.
            found = _REPEAT.match(pattern, at)
            if found is None:
                raise _Unclear
            return found[0], None
        case other:
            return other, None


def _escape(pattern: str, at: int) -> tuple[str, str | None]:
    token = pattern[at : at + 2]
    if len(token) < 2:
        raise _Unclear
    letter = token[1]
    if letter in _WIDE:
        return token, ""
    if letter == "N" and pattern[at + 2 : at + 3] == "{":
        end = pattern.find("}", at)
        if end < 0:
            raise _Unclear
        return pattern[at : end + 1], None
    if letter.isalnum() and letter not in _KNOWN:
        raise _Unclear
    return token, None


def _opening(pattern: str, at: int) -> str:
    if pattern[at : at + 2] != "(?":
        return "("
    found = _AROUND.match(pattern, at) or _GROUP.match(pattern, at)
    if found is None:
        raise _Unclear
    return found[0]


def _class(pattern: str, at: int) -> tuple[str, str]:
    """A class, with the characters that it lists one by one."""
    start = at + 2 if pattern[at + 1 : at + 2] == "^" else at + 1
    atoms, place = [], start
    while place < len(pattern) and (pattern[place] != "]" or place == start):
        width = 2 if pattern[place] == "\\" else 1
        atoms.append(pattern[place : place + width])
        place += width
    if place >= len(pattern) or "[:" in pattern[at + 1 : place]:
        raise _Unclear
    negated = start > at + 1
    listed = "" if negated else "".join(_singles(atoms))
    return pattern[at : place + 1], listed


def _singles(atoms: list[str]) -> Iterator[str]:
    """The characters that stand for themselves, and are not the ends of a range."""
    place = 0
    while place < len(atoms):
        if place + 2 < len(atoms) and atoms[place + 1] == "-":
            place += 3
            continue
        atom = atoms[place]
        if len(atom) == 1:
            yield atom
        elif atom in (r"\n", r"\r"):
            yield "\n" if atom == r"\n" else "\r"
        elif not atom[1].isalnum():
            yield atom[1]
        place += 1


def _barred(token: str, operators: str, listed: str) -> str:
    out = "".join(one for one in operators if one not in listed)
    return f"(?:(?![{re.escape(out)}]){token})" if out else token
