"""What a search looks for and where: entry → text → terms, words → query. Pure, and the same for
every store.

A text is cut into words, folded so that case, accents and forms of a character make no difference.
Chinese, Japanese, Korean and the scripts of South-East Asia put no space between words, or write
endings onto them: their runs are searched by single characters and pairs of them, and a query's run
is found wherever it stands in a text's.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import add

from storage.records.entries import Entry, Kind, content_text
from storage.records.retention.tombstones import is_empty

LONGEST_TEXT = 100_000
"""Characters of an entry that can be found."""
LONGEST_RESULT = 2_000
"""The same of a tool's result: its beginning says what it was, its bulk is in the way."""
LONGEST_WORD = 64
"""Longer words are as good as equal where they begin with as many equal characters."""
MOST_WORDS = 32
"""Of a query; what follows is not looked for."""
SHORTEST_BEGINNING = 3
"""The last word of a query also finds longer ones, if it has so many letters."""
MOST_ENDINGS = 100
"""How many longer words it finds at most: the first ones of the alphabet."""

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # ideographs
)
_RUN = re.compile(f"[{_UNSPACED}]")
_PIECES = re.compile(rf"[{_UNSPACED}]+|[^\s{_UNSPACED}]+")
_ACCENTS = frozenset(
    code
    for first, last in (
        (0x0300, 0x036F),
        (0x1AB0, 0x1AFF),
        (0x1DC0, 0x1DFF),
        (0x20D0, 0x20FF),
        (0xFE00, 0xFE2F),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)
"""Marks that do not tell one word from another, unlike the vowel signs of many scripts."""
_ZERO_WIDTH_SPACE = 0x200B


@dataclass(frozen=True, slots=True)
class Query:
    """An entry is a hit when all of this is true of its text."""

    terms: tuple[str, ...]
    """Each is one of the text's terms."""
    beginning: str
    """One of the text's words begins with it; "" for any text."""
    runs: tuple[str, ...]
    """Each stands in the folded text. Their pairs are among `terms`, but might stand apart."""

    def runs_in(self, text: str) -> bool:
        if not self.runs:
            return True
        folded = fold(text)
        return all(run in folded for run in self.runs)


def text_of(entry: Entry) -> str:
    """What can be found of an entry; "" for one that cannot be found."""
    body = entry.body
    if is_empty(body):
        return ""
    match entry.kind:
        case Kind.MESSAGE if body.get("role") in ("user", "assistant"):
            return content_text(body.get("content"))[:LONGEST_TEXT]
        case Kind.MESSAGE if body.get("role") == "tool":
            return content_text(body.get("content"))[:LONGEST_RESULT]
        case Kind.COMPACTION | Kind.BRANCH_SUMMARY:
            return content_text(body.get("summary"))[:LONGEST_TEXT]
        case Kind.LABEL:
            return content_text(body.get("label"))[:LONGEST_TEXT]
        case _:
            return ""


def terms_of(text: str) -> set[str]:
    """What a text is found by: words, cut to LONGEST_WORD, and characters and pairs of runs. No
    term has a space, a quote or a character for private use in it."""
    terms: set[str] = set()
    for piece in set(_pieces(fold(text))):
        if _is_run(piece):
            terms.update(piece)
            terms.update(_pairs(piece))
        else:
            terms.add(piece[:LONGEST_WORD])
    return terms


def words_of(terms: Iterable[str]) -> set[str]:
    """Those terms that a query's beginning may stand for: no run's term is that long."""
    return {term for term in terms if len(term) >= SHORTEST_BEGINNING}


def parse(words: str) -> Query | None:
    """What a person typed, as a query; None where there is no word in it."""
    pieces = list(_pieces(fold(words[:LONGEST_TEXT])))[:MOST_WORDS]
    if not pieces:
        return None
    beginning = ""
    if not _is_run(pieces[-1]) and len(pieces[-1]) >= SHORTEST_BEGINNING:
        beginning = pieces.pop()[:LONGEST_WORD]
    terms: list[str] = []
    runs = []
    for piece in pieces:
        if not _is_run(piece):
            terms.append(piece[:LONGEST_WORD])
        elif len(piece) == 1:
            terms.append(piece)
        else:
            terms += _pairs(piece[:LONGEST_WORD])
            runs.append(piece[:LONGEST_WORD])
    return Query(tuple(dict.fromkeys(terms)), beginning, tuple(run for run in runs if len(run) > 2))


def fold(text: str) -> str:
    """The words of a text with spaces between them, in small letters without accents."""
    return unicodedata.normalize("NFC", text.translate(_FOLDING))


def excerpt(text: str, words: str, width: int = 80) -> str:
    """The part of a text around the first of these words, in one line of at most `width`
    characters; the beginning where there is none of them. Untrusted as the text is."""
    text = " ".join(text[:LONGEST_TEXT].split())
    if len(text) <= width:
        return text
    hit = _first_hit(text, words)
    start = max(0, min(hit - width // 3, len(text) - width))
    if start:
        start = text.find(" ", start, hit) + 1 or start
    room = width - bool(start)
    if start + room >= len(text):
        return f"…{text[start:]}"
    end = start + room - 1
    space = text.rfind(" ", hit, end)
    end = space if space > hit else end
    return f"{'…' if start else ''}{text[start:end]}…"


def _first_hit(text: str, words: str) -> int:
    """Where the first of the words stands; 0 where none does."""
    # In the decomposed form, in which each character folds by itself, so that places can be
    # counted back.
    pieces = list(_PIECES.findall(words[:LONGEST_TEXT].translate(_FOLDING)))[:MOST_WORDS]
    if not pieces:
        return 0
    found = re.search("|".join(_patterns(pieces)), text.translate(_FOLDING))
    if found is None:
        return 0
    folded = 0
    for place, character in enumerate(text):
        folded += len(_FOLDING[ord(character)])
        if folded > found.start():
            return place
    return 0


def _patterns(pieces: list[str]) -> Iterator[str]:
    for number, piece in enumerate(pieces, start=1):
        pattern = re.escape(piece[:LONGEST_WORD])
        if _is_run(piece):
            yield pattern
            continue
        whole = number < len(pieces) and len(piece) <= LONGEST_WORD
        yield rf"(?<![^\s{_UNSPACED}]){pattern}" + (rf"(?![^\s{_UNSPACED}])" if whole else "")


def _pieces(folded: str) -> Iterable[str]:
    return folded.split() if folded.isascii() else _PIECES.findall(folded)


def _is_run(piece: str) -> bool:
    return not piece.isascii() and _RUN.match(piece) is not None


def _pairs(run: str) -> Iterable[str]:
    return map(add, run, run[1:])


class _Folding(dict[int, str]):
    """Code point → what it is folded to, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Co", "Cs"):
            return " "  # not kept: there are a million of them
        small = unicodedata.normalize("NFKD", character).casefold()
        folded = "".join(map(_kept, unicodedata.normalize("NFKD", small)))
        self[code] = folded
        return folded


def _kept(character: str) -> str:
    """The character where it is part of words, nothing where it is an accent or a sign that is
    not seen, else a space."""
    category = unicodedata.category(character)
    if ord(character) in _ACCENTS or (category == "Cf" and ord(character) != _ZERO_WIDTH_SPACE):
        return ""
    return character if category[0] in "LNM" else " "


_FOLDING = _Folding()
