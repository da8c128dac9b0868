"""Markdown as the messages that show it on Discord. Pure."""

import re
from collections.abc import Callable, Iterator

from adapters.base import Body
from adapters.cleaning import clean
from adapters.discord.segments import LIMIT, Code, Prose, characters, hard_cut, segments, units

_FENCE = "```"
_BACKTICKS = re.compile(r"`{3,}")
_LEADING_BLANK_LINES = re.compile(r"\A\s*\n")
_INVISIBLE = "\N{ZERO WIDTH SPACE}"


def render(markdown: str) -> list[Body]:
    """Bodies {"text": …} of at most 2000 units, none of them blank.

    Discord shows Markdown itself, so the text stays as it is but for this: it is split at blank
    lines, else at lines, words, characters; a code block that goes on in the next message is
    closed and opened again, with its language. Three backticks that are not a fence get an
    invisible space between them, since Discord would take them for one.
    """
    text = clean(markdown).replace("\r\n", "\n")
    messages = _Messages()
    for segment in segments(text):
        match segment:
            case Prose(prose):
                messages.add_prose(_defused(prose))
            case Code(language, code):
                messages.add_code(language, _defused(code))
    done = messages.finish()
    if not done and text.strip():
        # Nothing but empty code blocks: better their backticks than silence.
        done = hard_cut(_defused(text.strip()), LIMIT)
    return [{"text": message} for message in done]


def _defused(text: str) -> str:
    return _BACKTICKS.sub(lambda run: _INVISIBLE.join(run[0]), text)


def _paragraphs(text: str) -> list[str]:
    return re.findall(r"(?s:.+?)(?:\n[ \t]*(?=\n)|\Z)\n*", text)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*|\s+", text)


_CUTS: tuple[Callable[[str], list[str]], ...] = (_paragraphs, _lines, _words, characters)
"""Ways to cut prose, best first. The pieces of each, joined, are the text."""


class _Messages:
    """Fills one message after the other. What fits into one message is not torn apart."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._text = ""
        self._size = 0

    def finish(self) -> list[str]:
        self._flush()
        return self._done

    def add_prose(self, text: str) -> None:
        if self._text.endswith(_FENCE) and text.strip() and not text.startswith("\n"):
            text = "\n" + text.lstrip(" \t")
        self._pour(text, 0)

    def _pour(self, text: str, cut: int) -> None:
        for piece in _CUTS[cut](text):
            size = units(piece.rstrip())
            if size > LIMIT:
                self._pour(piece, cut + 1)
                continue
            if self._size + size > LIMIT:
                self._flush()
            self._append(piece)

    def add_code(self, language: str, code: str) -> None:
        opening, closing = f"{_FENCE}{language}\n", f"\n{_FENCE}"
        room = LIMIT - units(opening) - units(closing)
        size = units(code)
        if self._size + self._gap() + size > room and (size <= room or self._size > LIMIT // 2):
            self._flush()
        for part in _parts(code, room - self._size - self._gap(), room):
            if self._size + self._gap() + units(part) > room:
                self._flush()
            self._append("\n" * self._gap() + opening + part + closing)

    def _gap(self) -> int:
        """Line ends needed before a fence."""
        return 1 if self._text and not self._text.endswith("\n") else 0

    def _append(self, text: str) -> None:
        self._text += text
        self._size += units(text)

    def _flush(self) -> None:
        message = _LEADING_BLANK_LINES.sub("", self._text.rstrip())
        if message.strip():
            self._done.append(message)
        self._text, self._size = "", 0


def _parts(code: str, first: int, room: int) -> Iterator[str]:
    """The code in parts of whole lines, none blank: at most `first` units, then `room` each."""
    part, size, left = "", 0, first
    for line in code.split("\n"):
        for piece in hard_cut(line, room) or [""]:
            width = units(piece)
            if size + width > left:
                if part.strip():
                    yield part.removesuffix("\n")
                part, size, left = "", 0, room
            part += piece + "\n"
            size += width + 1
    if part.strip():
        yield part.removesuffix("\n")
