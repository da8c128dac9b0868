"""Markdown → Telegram's formatted text. Pure.

Only markup goes away. What Telegram cannot show is kept as words: raw HTML stands as written, a
link it would refuse is followed by its address, link definitions stand where they were.
"""

import re
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

import pyromark

from adapters.telegram.rich import Rich, Span

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
)
_INLINE = {"Strong": "bold", "Emphasis": "italic", "Strikethrough": "strikethrough"}
_BLANK_LINE = re.compile(rb"\n[ \t>]*\n")
# Telegram refuses a whole message for one link without a proper host.
_LINKABLE = re.compile(r"https?://[\w-]+(\.[\w-]+)+(:\d{1,5})?([/?#]\S*)?", re.IGNORECASE)
_DEFINITION = re.compile(
    rb"^[ \t>*+\-0-9.)]*(\[(?:[^\[\]\\]|\\.)+\]:(?:[ \t]*\n)?[^\n]*)", re.MULTILINE | re.DOTALL
)
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_DEEPEST_INDENT = 8
_WIDEST_COLUMN = 40
_RULE = "———"


def convert(markdown: str) -> Rich:
    """What the Markdown shows. ValueError for text that is not valid Unicode."""
    source = markdown.replace("\r\n", "\n").replace("\r", "\n")
    walker = _Walker(source.encode())
    for event, span in pyromark.events_with_range(source, options=_OPTIONS):
        walker.feed(event, span["start"], span["end"])
    return walker.finish()


@dataclass(slots=True)
class _Open:
    """A span or link that has begun."""

    kind: str
    start: int
    mark: int
    """Where its text begins in the list of parts."""
    url: str = ""
    literal: str = ""
    """Markup that was no markup: written again at the end."""


class _Walker:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._seen = 0
        """Source offset up to which text has been written."""
        self._parts: list[str] = []
        self._length = 0
        self._spans: list[Span] = []
        self._open: list[_Open] = []
        self._quotes: list[int] = []
        self._lists: list[int | None] = []
        """Number of the next item of each open list; None where it has bullets."""
        self._fresh = True
        """Nothing stands in the current block yet."""
        self._marker = False
        """Only a list marker stands on the current line."""
        self._ended = False
        """A block has ended: text that follows begins a new one."""
        self._raw: list[str] | None = None
        self._info = ""
        """What stands behind the fence that opened the code block."""
        self._rows: list[list[str]] = []
        self._cell: list[str] | None = None

    def feed(self, event: Any, start: int, end: int) -> None:
        match event:
            case {"Start": tag}:
                self._begin(tag, start)
            case {"End": tag}:
                self._end(tag, end)
            case {"Text": text} | {"Html": text}:
                self._text(text, start, end)
            case {"Code": text}:
                self._code(text, start, end)
            case {"InlineHtml": text}:
                self._text("\n" if _LINE_BREAK.fullmatch(text) else text, start, end)
            case {"TaskListMarker": done}:
                self._text("☑ " if done else "☐ ", start, end)
            case "SoftBreak" | "HardBreak":
                self._text("\n" + self._indent(len(self._lists)), start, end)
            case "Rule":
                self._block(start)
                self._write(_RULE)
                self._seen = start + len(self._source[start:end].rstrip())
                self._ended = True
            case other:
                raise ValueError(f"unknown Markdown event {other!r}")

    def finish(self) -> Rich:
        self._definitions(self._source[self._seen :])
        return Rich("".join(self._parts), tuple(self._spans))

    def _begin(self, tag: Any, start: int) -> None:
        match tag:
            case "Paragraph":
                self._block(start)
            case "Strong" | "Emphasis" | "Strikethrough":
                self._begin_inline(tag, start)
            case {"Link": link} | {"Image": link}:
                self._push("text_link", start, url=link["dest_url"])
            case {"Heading": _}:
                self._block(start)
                self._push("bold", start)
            case {"List": number}:
                self._lists.append(number)
            case "Item":
                self._begin_item(start)
            case {"BlockQuote": _}:
                self._block(start)
                self._quotes.append(self._length)
            case {"CodeBlock": kind}:
                self._block(start, indent=False)
                self._info = kind["Fenced"] if isinstance(kind, dict) else ""
                self._raw = []
            case "HtmlBlock":
                self._block(start, indent=False)
                self._raw = []
            case {"Table": _}:
                self._block(start, indent=False)
                self._rows = []
            case "TableHead" | "TableRow":
                self._rows.append([])
            case "TableCell":
                self._cell = []
            case other:
                raise ValueError(f"unknown Markdown element {other!r}")

    def _end(self, tag: Any, end: int) -> None:
        match tag:
            case "Strong" | "Emphasis" | "Strikethrough":
                self._pop()
                self._seen = end
            case "Link" | "Image":
                self._end_link()
                self._seen = end
            case "TableHead" | "TableRow":
                # The parser drops cells beyond the header's width.
                if surplus := self._source[self._seen : end].strip(b"| \t\n"):
                    self._rows[-1].append(surplus.decode())
                self._seen = end
            case "TableCell":
                self._rows[-1].append("".join(self._cell or ()))
                self._cell = None
                self._seen = end
            case "Item":
                self._fresh = self._marker = False
            case _:
                self._end_block(tag)

    def _end_block(self, tag: Any) -> None:
        match tag:
            case {"Heading": _}:
                self._pop()
            case {"List": _}:
                self._lists.pop()
            case {"BlockQuote": _}:
                start = self._quotes.pop()
                if not self._quotes:  # Telegram has no quotes within quotes.
                    self._span(_Open("blockquote", start, 0))
            case "CodeBlock":
                self._end_code()
            case "HtmlBlock":
                self._write(self._take_raw())
            case "Table":
                self._pre(_table(self._rows), "")
            case "Paragraph":
                pass
            case other:
                raise ValueError(f"unknown Markdown element {other!r}")
        self._ended = True

    # Blocks

    def _block(self, start: int, *, indent: bool = True) -> None:
        """Begin a block: on the line that the source has it on, blank line or not."""
        gap = self._source[self._seen : start]
        self._seen = max(self._seen, start)
        self._ended = False
        self._definitions(gap)
        if self._marker and not indent:
            self._write("\n")
        elif not self._fresh:
            self._write("\n\n" if _BLANK_LINE.search(gap) else "\n")
            if indent:
                self._write(self._indent(len(self._lists)))
        self._fresh = True

    def _definitions(self, gap: bytes) -> None:
        """Write the link definitions in a stretch of source that the parser was silent about."""
        before = 0
        for found in _DEFINITION.finditer(gap):
            if not self._fresh:
                blank = _BLANK_LINE.search(gap, before, found.start(1))
                self._write("\n\n" if blank else "\n")
            self._write(found[1].decode())
            before = found.end(1)

    def _begin_item(self, start: int) -> None:
        if not self._marker:
            self._block(start, indent=False)
            self._write(self._indent(len(self._lists) - 1))
        number = self._lists[-1]
        if number is None:
            self._write("• ")
        else:
            self._write(f"{number}. ")
            self._lists[-1] = number + 1
        self._fresh = self._marker = True

    def _indent(self, depth: int) -> str:
        return "  " * min(depth, _DEEPEST_INDENT)

    def _end_code(self) -> None:
        if code := self._take_raw():
            self._pre(code, "".join(self._info.split()[:1]))
        else:  # ```some code``` over two lines
            self._pre(self._info, "")

    def _take_raw(self) -> str:
        text = "".join(self._raw or ()).removesuffix("\n")
        self._raw = None
        return text

    def _pre(self, text: str, language: str) -> None:
        start = self._length
        self._write(text)
        if text:
            self._spans.append(Span("pre", start, self._length, language=language))

    # Inline

    def _text(self, text: str, start: int, end: int) -> None:
        if self._raw is not None:
            self._raw.append(text)
            self._seen = end - text.endswith("\n")
        else:
            self._inline(start)
            self._write(text)
            self._seen = end

    def _code(self, text: str, start: int, end: int) -> None:
        self._push("code", start)
        self._text(text, start, end)
        self._pop()

    def _inline(self, start: int) -> None:
        if self._ended:
            self._block(start)

    def _begin_inline(self, tag: str, start: int) -> None:
        # A single tilde is a strike-through for the parser; people mean "about".
        single = tag == "Strikethrough" and self._source[start : start + 2] != b"~~"
        self._push(_INLINE[tag], start, literal="~" if single else "")

    def _push(self, kind: str, start: int, *, url: str = "", literal: str = "") -> None:
        self._inline(start)
        self._write(literal)
        sink = self._parts if self._cell is None else self._cell
        self._open.append(_Open(kind, self._length, len(sink), url, literal))

    def _pop(self) -> None:
        opened = self._open.pop()
        self._write(opened.literal)
        if not opened.literal:
            self._span(opened)

    def _end_link(self) -> None:
        opened = self._open.pop()
        sink = self._parts if self._cell is None else self._cell
        shown = "".join(sink[opened.mark :])
        if not shown:
            self._write(opened.url)
        elif opened.url in ("", shown):
            return
        elif self._cell is None and not self._in_link() and _LINKABLE.fullmatch(opened.url):
            self._span(opened)
        else:
            self._write(f" ({opened.url})")

    def _in_link(self) -> bool:
        return any(opened.kind == "text_link" for opened in self._open)

    def _span(self, opened: _Open) -> None:
        if self._cell is None and opened.start < self._length:
            self._spans.append(Span(opened.kind, opened.start, self._length, opened.url))

    def _write(self, text: str) -> None:
        if self._cell is not None:
            self._cell.append(" ".join(text.split("\n")))
        elif text:
            self._parts.append(text)
            self._length += len(text)
            self._fresh = self._marker = False


def _table(rows: list[list[str]]) -> str:
    """Columns of even width, as far as they are not very wide; a line below the first row."""
    columns = max(map(len, rows), default=0)
    widths = [
        min(max((_width(row[i]) for row in rows if i < len(row)), default=0), _WIDEST_COLUMN)
        for i in range(columns)
    ]
    lines = [" | ".join(map(_padded, row, widths)).rstrip() for row in rows]
    if len(lines) > 1:
        lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(text: str) -> int:
    """Columns of a monospaced font."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)
