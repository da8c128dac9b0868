"""HTML's elements as Markdown, for a reader that is a model: complete rather than pretty. Pure.

Everything that has text comes out, with its links; made by us because what is at hand drops the
links of lists and short pages, or whole headings that look alike (trafilatura 2.3).
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin

Element = Any
"""lxml has no types."""

_SPACE = re.compile(r"[ \t\r\n\f\v]+")


def tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_BLOCKS = tags(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre "
    "section summary table tbody td tfoot th thead tr ul"
)
_MARKS = {"b": "**", "strong": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_IN_CELLS = ("table", "ul", "ol", "pre", "h1", "h2", "h3", "h4", "blockquote", "dl")
"""What a cell of a table of data does not hold."""
_DEEPEST = 150
"""Levels; what is nested deeper is text without form."""
_LONGEST_LINK = 2_000
_WIDEST = 100
"""Columns or rows that a cell may reach over."""
_REPEATED = 200
"""Characters; a longer text stands in its first row only."""
_ANCHORS = frozenset(("¶", "#", "§", "🔗", "⚓", "∞"))
"""What a heading links to itself with."""
_LANGUAGE = re.compile(r"(?:\A|\s)(?:language|lang|highlight-source|brush:)-?\s?([\w+#.-]{1,20})")


def words(text: str) -> str:
    """On one line."""
    return _SPACE.sub(" ", text).strip()


class Markdown:
    """Of one page, whose links are relative to `base`."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._with_blocks: set[Element] = set()

    def of(self, root: Element) -> str:
        """Blocks parted by blank lines."""
        for element in root.iter():
            if element.tag in _BLOCKS:
                for above in element.iterancestors():
                    if above in self._with_blocks:
                        break
                    self._with_blocks.add(above)
        return _joined(self._blocks(root, 0))

    def _blocks(self, element: Element, depth: int) -> list[str]:
        """The children of an element; runs of text between blocks become paragraphs."""
        if depth > _DEEPEST:
            return [words(" ".join(element.itertext()))]
        made: list[str] = []
        run = [_SPACE.sub(" ", element.text or "")]
        for child in element.iterchildren():
            if self._is_block(child):
                made += [_line("".join(run)), *self._block(child, depth + 1)]
                run = []
            else:
                run.append(self._inline(child, depth + 1))
            run.append(_SPACE.sub(" ", child.tail or ""))
        return [*made, _line("".join(run))]

    def _is_block(self, element: Element) -> bool:
        if element.tag in _BLOCKS:
            return True
        return element in self._with_blocks and element.tag != "a"

    def _block(self, element: Element, depth: int) -> list[str]:
        match element.tag:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                text = words(self._inside(element, depth))
                return [f"{'#' * int(element.tag[1])} {text}"] if text else []
            case "pre":
                return [self._listing(element) if _is_listing(element) else _code_block(element)]
            case "ul" | "ol" | "menu":
                return [self._list(element, depth)]
            case "table":
                return self._table(element, depth)
            case "blockquote":
                return [_prefixed(_joined(self._blocks(element, depth)), "> ", "> ")]
            case "hr":
                return ["---"]
            case "dt":
                return [f"**{text}**" if (text := words(self._inside(element, depth))) else ""]
            case "dd":
                return [_prefixed(_joined(self._blocks(element, depth)), ": ", "  ")]
            case _:
                return self._blocks(element, depth)

    def _list(self, element: Element, depth: int) -> str:
        number = _start(element) if element.tag == "ol" else None
        items = []
        for child in element.iterchildren():
            text = _joined(
                self._block(child, depth + 1)
                if child.tag in ("ul", "ol")
                else self._blocks(child, depth + 1)
            )
            if not text:
                continue
            mark = "- " if number is None else f"{number}. "
            indent = " " * len(mark) if depth < _DEEPEST // 2 else ""
            loose = "\n\n" in text and not re.match(r"[^\n]*\n\n *(?:-|\d+\.) ", text)
            body = text if loose else re.sub(r"\n\n( *(?:-|\d+\.) )", r"\n\1", text)
            items.append(_prefixed(body, mark, indent))
            number = None if number is None else number + 1
        return "\n".join(items)

    def _table(self, element: Element, depth: int) -> list[str]:
        rows = [row for row in element.iter("tr") if _table_of(row) is element]
        cells = [list(row.iterchildren("td", "th")) for row in rows]
        caption = [words("".join(each.itertext())) for each in element.iterchildren("caption")]
        if _is_layout(element, cells):
            found = [
                text for row in cells for cell in row for text in self._blocks(cell, depth + 1)
            ]
            return [*caption, *found]
        texts = self._grid(cells, depth)
        if not texts:
            return caption
        width = max(map(len, texts))
        lines = [f"| {' | '.join(row)} |" for row in texts]
        lines.insert(1, f"|{' --- |' * width}")
        return [*caption, "\n".join(lines)]

    def _grid(self, rows: list[list[Element]], depth: int) -> list[list[str]]:
        """Texts by row and column: what reaches over several rows is in each of them."""
        hanging: dict[int, tuple[int, str]] = {}
        texts = [self._row(row, hanging, depth) for row in rows]
        return [row for row in texts if any(row)]

    def _row(
        self, row: list[Element], hanging: dict[int, tuple[int, str]], depth: int
    ) -> list[str]:
        """`hanging`: by column, for how many rows more a cell from above is there."""
        texts: list[str] = []
        left = row[::-1]
        while left or len(texts) in hanging:
            column = len(texts)
            if column in hanging:
                rows, text = hanging.pop(column)
                texts.append(text)
                if rows > 1:
                    hanging[column] = rows - 1, text
                continue
            cell = left.pop()
            wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
            texts += [self._cell(cell, depth), *[""] * (wide - 1)]
            if high > 1:
                again = texts[column] if len(texts[column]) <= _REPEATED else ""
                hanging |= dict.fromkeys(range(column, len(texts)), (high - 1, ""))
                hanging[column] = high - 1, again
        return texts

    def _cell(self, cell: Element, depth: int) -> str:
        return words(self._inside(cell, depth)).replace("|", r"\|")

    def _inside(self, element: Element, depth: int) -> str:
        """Everything in an element as one run of text, blocks too."""
        if depth > _DEEPEST:
            return " ".join(element.itertext())
        run = [_SPACE.sub(" ", element.text or "")]
        for child in element.iterchildren():
            text = self._inline(child, depth + 1)
            run.append(f" {text} " if child.tag in _BLOCKS else text)
            run.append(_SPACE.sub(" ", child.tail or ""))
        return "".join(run)

    def _inline(self, element: Element, depth: int) -> str:
        match element.tag:
            case "br":
                return "\n"
            case "img":
                return self._picture(element)
            case "math":
                return _formula(element)
            case "sup":
                return _raised(self._inside(element, depth))
            case "a":
                return self._link(element, depth)
        if element.tag in _CODE:
            return _code("".join(element.itertext()))
        text = self._inside(element, depth)
        mark = _MARKS.get(element.tag)
        return _marked(text, mark) if mark is not None else text

    def _link(self, element: Element, depth: int) -> str:
        text = words(self._inside(element, depth))
        given = element.get("href") or ""
        target = self._absolute(given)
        if not target:
            return "" if given.startswith("#") and text in _ANCHORS else text
        if not text:
            text = words(element.get("title") or element.get("aria-label") or "")
        return f"[{text}]({target})" if text else ""

    def _listing(self, element: Element) -> str:
        """A list of files, as servers write one: its lines, with their links."""
        for link in element.iter("a"):
            text = self._link(link, 0)
            for child in list(link):
                link.remove(child)
            link.text = text
        return "".join(element.itertext()).strip("\r\n").rstrip()

    def _picture(self, element: Element) -> str:
        alt = words(element.get("alt") or "")
        source = self._absolute(element.get("src") or "")
        return f"![{alt}]({source})" if alt and source else alt

    def _absolute(self, given: str) -> str:
        """Where a link leads; "" for a place on the same page, a script, and what is no URL."""
        given = given.strip()
        if not given or given.startswith("#") or len(given) > _LONGEST_LINK:
            return ""
        try:
            joined = urljoin(self._base, given)
        except ValueError:
            return ""
        if not joined.startswith(("http://", "https://", "mailto:")):
            return ""
        return _SPACE.sub("%20", joined).replace("(", "%28").replace(")", "%29")


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block.strip())


def _line(run: str) -> str:
    """A paragraph: line breaks are only those that were asked for."""
    lines = (re.sub(" {2,}", " ", line).strip() for line in run.split("\n"))
    return "\n".join(lines).strip("\n")


def _marked(text: str, mark: str) -> str:
    bare = text.strip()
    if not bare or mark in bare or "\n" in bare:
        return text
    start = text[: len(text) - len(text.lstrip())]
    return f"{start}{mark}{bare}{mark}{text[len(text.rstrip()) :]}"


def _code(text: str) -> str:
    text = words(text)
    if not text:
        return ""
    ticks = "`" * (_longest_run(text) + 1)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{room}{text}{room}{ticks}"


def _raised(text: str) -> str:
    """Set apart from what is before it: 10 to the sixth is not 106, and a note is no digit."""
    bare = words(text)
    if not bare or (not bare[0].isalnum() and bare[0] not in "-−+"):
        return text
    return f"^{bare}" if bare.isalnum() else f"^({bare})"


def _formula(element: Element) -> str:
    """As TeX, where it is given."""
    if given := element.get("alttext"):
        return str(given)
    for note in element.iter("annotation"):
        if note.get("encoding") == "application/x-tex" and note.text:
            return words(note.text)
    return words("".join(element.itertext()))


def _is_listing(element: Element) -> bool:
    """Whether a preformatted part is made of links, not of code."""
    if next(element.iter("code"), None) is not None or element.get("class"):
        return False
    linked = sum(_written(link) for link in element.iter("a") if link.get("href"))
    return linked * 4 >= _written(element) and linked > 0


def _written(element: Element) -> int:
    return len("".join("".join(element.itertext()).split()))


def _code_block(element: Element) -> str:
    for line_break in element.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    text = "".join(element.itertext()).strip("\r\n").rstrip()
    if not text:
        return ""
    ticks = "`" * max(3, _longest_run(text) + 1)
    names = [element.get("class") or "", *(c.get("class") or "" for c in element.iter("code"))]
    above = element.getparent()
    names.append((above.get("class") or "") if above is not None else "")
    language = next((found[1] for name in names if (found := _LANGUAGE.search(name))), "")
    return f"{ticks}{language}\n{text}\n{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _prefixed(text: str, first: str, others: str) -> str:
    if not text:
        return ""
    lines = text.split("\n")
    return "\n".join([first + lines[0], *((others + line).rstrip() for line in lines[1:])])


def _start(element: Element) -> int:
    given = element.get("start") or ""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 6 else 1


def _span(cell: Element, name: str) -> int:
    given = cell.get(name) or ""
    return max(1, min(int(given), _WIDEST)) if given.isdecimal() and len(given) < 10 else 1


def _table_of(row: Element) -> Element:
    return next(row.iterancestors("table"), None)


def _is_layout(element: Element, cells: list[list[Element]]) -> bool:
    """A table that only puts parts of a page beside each other."""
    if element.get("role") in ("presentation", "none"):
        return True
    if max(map(len, cells), default=0) < 2:
        return True
    return any(next(cell.iter(*_IN_CELLS), None) is not None for row in cells for cell in row)
