"""Where text is cut for Discord: by length, as its limits count it, so that characters stay whole;
and Markdown into prose and code, the way Discord has to be told about it. Pure.

Discord knows one kind of code block: three backticks, wherever they stand. Models write
CommonMark: fences of three or more backticks or tildes on lines of their own, and now and then a
block that begins in the middle of a line. Both are read here; tables become code blocks too,
because Discord has none and a fixed-width font keeps them readable.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LIMIT = 2000
"""Length of a message, in UTF-16 units: the safe reading of "2000 characters"."""

# One character as people see it: what combines with it, skin tones and joined emoji stay with it.
# The bound keeps a pathological pile of combining marks cuttable.
_MARK = "[\u0300-\u036f\u200d\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_CHARACTER = re.compile(rf"(?:{_FLAG}|(?s:.))(?:{_MARK}(?:(?<=\u200d).)?){{0,16}}")

_OPENING = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)$"
    r"|(?P<run>`{3,})(?P<language>[\w+\-.#]*[ \t]*\n)?",
    re.MULTILINE,
)
_LANGUAGE = re.compile(r"[a-zA-Z0-9_+\-.#]{1,20}")
_RUN = re.compile(r"`{3,}")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TABLE = re.compile(
    r"^(?=[^\n]*\|)[^\n]*\n"
    r"(?=[^\n]*\|)[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$"
    r"(?:\n(?=[^\n]*\|)[^\n]+)*",
    re.MULTILINE,
)


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


@dataclass(frozen=True, slots=True)
class Prose:
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    language: str
    text: str
    """Its lines, indentation and all, without the fences."""


Segment = Prose | Code


def segments(markdown: str) -> Iterator[Segment]:
    """In order, together the whole text: nothing is lost but fences and blank blocks."""
    fences = _Fences(markdown)
    position = start = 0
    while opening := _OPENING.search(markdown, position):
        closing = fences.closing(opening)
        if closing is None:
            position = opening.end()
            continue
        yield from _tables(markdown[start : opening.start()])
        begin, end = closing
        if block := _block(opening, markdown[opening.end() : begin]):
            yield block
        position = start = end
    yield from _tables(markdown[start:])


class _Fences:
    """Finds where a block ends. Remembers what is not there, so long texts stay cheap."""

    def __init__(self, markdown: str) -> None:
        self._markdown = markdown
        self._unclosed = {"`": len(markdown) + 1, "~": len(markdown) + 1}
        """Length from which on no line closes a fence any more."""

    def closing(self, opening: re.Match[str]) -> tuple[int, int] | None:
        """Where the closing fence begins and ends; None where the opening opens nothing."""
        if opening["fence"]:
            return self._of_fence(opening["fence"], opening.end())
        run = self._run(opening["run"], opening.end())
        inline = opening["language"] is None
        if run and inline and _BLANK_LINE.search(self._markdown, opening.end(), run[0]):
            return None
        return run

    def _of_fence(self, fence: str, position: int) -> tuple[int, int] | None:
        if line := self._line(fence, position):
            return line
        if fence[0] == "~":
            return None
        # Some models close at the end of a code line. Where nothing closes it, the end does:
        # that is how an answer looks that was cut off.
        end = len(self._markdown)
        return self._run(fence, position, after_text=True) or (end, end)

    def _line(self, fence: str, position: int) -> tuple[int, int] | None:
        if len(fence) >= self._unclosed[fence[0]]:
            return None
        line = re.compile(rf"^[ \t]*{fence[0]}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        if closing := line.search(self._markdown, position):
            return closing.span()
        self._unclosed[fence[0]] = len(fence)
        return None

    def _run(
        self, fence: str, position: int, *, after_text: bool = False
    ) -> tuple[int, int] | None:
        """The next backticks, just as many; `after_text`: not at the beginning of a line."""
        for run in _RUN.finditer(self._markdown, position):
            if len(run[0]) == len(fence) and (not after_text or self._follows_text(run.start())):
                return run.span()
        return None

    def _follows_text(self, position: int) -> bool:
        line_start = self._markdown.rfind("\n", 0, position) + 1
        return bool(self._markdown[line_start:position].strip())


def _block(opening: re.Match[str], content: str) -> Segment | None:
    info = (opening["info"] or opening["language"] or "").strip()
    language = info if _LANGUAGE.fullmatch(info) else ""
    text = content.removeprefix("\n").removesuffix("\n")
    if info and not language:
        # It is no language, so it is kept as a line of the block.
        text = f"{info}\n{text}"
    if not text.strip():
        # Discord cannot show a block without content.
        return Prose(info) if info else None
    return Code(language, text)


def _tables(prose: str) -> Iterator[Segment]:
    start = 0
    for table in _TABLE.finditer(prose):
        yield Prose(prose[start : table.start()])
        yield Code("", table[0])
        start = table.end()
    yield Prose(prose[start:])
