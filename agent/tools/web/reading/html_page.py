"""An HTML page: what of it is the page and what is only around it; then Markdown. The elements are
lxml's, whose parser takes whatever browsers take."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import urljoin

from lxml import etree, html

from agent.tools.web.bodies import charset_named, text_of
from agent.tools.web.reading.markdown import Markdown, tags, words
from agent.tools.web.reading.serving import Page, Text, Unreadable, cut, serve

Element = Any
"""lxml has no types."""

_NO_TEXT = tags(
    "script style template noscript svg head link meta iframe object embed canvas audio video "
    "input select textarea dialog"
)
_AROUND = frozenset(("nav", "footer"))
_AROUND_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "dialog", "menu"))
_AROUND_NAMES = re.compile(
    r"(?:\A|[\s_-])(?:nav|navbar|navigation|menu|sidebar|footer|breadcrumbs?|cookies?|consent|"
    r"share|sharing|social|related|promo|topbar|top-bar|masthead|skip|toc-link|editsection)"
    r"(?:\Z|[\s_-])",
    re.IGNORECASE,
)
_SURELY_AROUND = re.compile(
    r"(?:\A|[\s_-])(?:footer|sidebar|cookies?|consent|gdpr|newsletter|advert|advertisement|ads?|"
    r"sponsored|colophon)(?:\Z|[\s_-])",
    re.IGNORECASE,
)
"""Names that are believed of a small part that has few links, too."""
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_LINKS = 0.5
"""From this share of a part's text that is links on, its name is believed: it is not the page."""
_SMALL = 0.25
"""Of the page's text."""
_LEAST = 200
"""Characters; a part with less is taken for the page's main part only where it is a third."""
_HEADINGS = tags("h1 h2 h3 h4 h5 h6")
_SKIP = re.compile(r"(?:skip|jump) to\b", re.IGNORECASE)
_META = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE
)
_META_WITHIN = 4_096
"""Bytes; browsers look at fewer."""


def read_html(data: bytes, page: Page) -> Text:
    """The page as Markdown, links absolute. Raises Unreadable."""
    root, note = _parsed(data, page.charset)
    if root is None:
        return Text("")
    base = _base(root, page.url)
    title = _title(root)
    _drop(_outermost(root, partial(_has_no_text, _Lengths(root))))
    full = root if (body := root.find("body")) is None else body
    head = _head(root)
    _bare(root)
    main = _main(full)
    found = Markdown(base).of(main)
    if head and next(main.iter("h1"), None) is None:
        found = f"# {head}\n\n{found}".rstrip()
    text, note = cut(found, note)
    return Text(text, title, note)


def _parsed(data: bytes, declared: str) -> tuple[Element, str]:
    """With what was left away, in words; None where there is not a single element."""
    # Decoded here, as browsers do it: the parser's own codecs are fewer, and end the page at the
    # first byte that does not fit.
    text = text_of(data, declared if charset_named(declared) else _own_charset(data))
    parser = html.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
    )
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        return None, ""
    except (etree.LxmlError, ValueError):
        raise Unreadable("it is no HTML, or takes too much memory") from None
    limits = [fault for fault in parser.error_log if fault.type_name == "ERR_RESOURCE_LIMIT"]
    return root, "cut where its parts are nested too deeply" if limits else ""


def _own_charset(data: bytes) -> str:
    """What the page says of itself, "" where that is nothing."""
    found = _META.search(data[:_META_WITHIN])
    name = found[1].decode("ascii") if found is not None else ""
    # A page in which that can be read is not in UTF-16.
    return "utf-8" if name.lower().startswith("utf-16") else name


def _base(root: Element, url: str) -> str:
    for base in root.iter("base"):
        try:
            joined: str = urljoin(url, base.get("href") or "")
        except ValueError:
            continue
        if joined.startswith(("http://", "https://")):
            return joined
    return url


def _title(root: Element) -> str:
    lengths = _Lengths(root)
    for element in root.iter("title", "h1"):
        if lengths.of(element) and (text := words("".join(element.itertext()))):
            return text
    return ""


class _Lengths:
    """Of all elements of a tree, counted at once: pages nest thousands of them."""

    def __init__(self, root: Element) -> None:
        self._all: dict[Element, int] = {}
        self._linked: dict[Element, int] = {}
        for element in reversed(list(root.iter())):
            length, linked = _stripped(element.text), 0
            for child in element.iterchildren():
                length += self._all[child] + _stripped(child.tail)
                linked += self._linked[child]
            self._all[element] = length
            self._linked[element] = linked + (length if element.tag == "a" else 0)

    def of(self, element: Element) -> int:
        """Characters of an element's text."""
        return self._all[element]

    def is_linked(self, element: Element) -> bool:
        return self._linked[element] >= self._all[element] * _LINKS


def _stripped(text: str | None) -> int:
    return len(text.strip()) if text else 0


def _has_no_text(lengths: _Lengths, element: Element) -> bool:
    if not isinstance(element.tag, str) or element.tag in _NO_TEXT:
        return True
    if element.tag == "button":
        # What opens the part below is all of its heading's text.
        above = next(element.iterancestors(*_HEADINGS, "summary", "th"), None)
        return above is None or lengths.of(element) < lengths.of(above) * _LINKS
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return bool(_HIDDEN.search(element.get("style") or ""))


def _head(root: Element) -> str:
    """The page's heading, where there is one: it may stand outside the main part."""
    heads = list(islice(root.iter("h1"), 2))
    return words(" ".join(heads[0].itertext())) if len(heads) == 1 else ""


def _bare(root: Element) -> None:
    """Take away what is around the page, unless nothing would be left of it."""
    lengths = _Lengths(root)
    whole = lengths.of(root)
    around = list(_outermost(root, partial(_is_around, lengths, whole)))
    if sum(map(lengths.of, around)) < whole:
        _drop(around)


def _is_around(lengths: _Lengths, whole: int, element: Element) -> bool:
    """`whole`: characters of the page."""
    if element.tag in ("body", "main", "html") or element.tag in _HEADINGS:
        return False
    if element.tag in _AROUND:
        return element.tag == "nav" or not _inside(element, "article", "main", "blockquote")
    if element.get("role") in _AROUND_ROLES:
        return True
    if element.tag in ("aside", "header"):
        return lengths.is_linked(element)
    if element.tag == "a" and (element.get("href") or "").startswith("#"):
        return _SKIP.match(words("".join(element.itertext()))) is not None
    return _is_named_around(lengths, whole, element)


def _is_named_around(lengths: _Lengths, whole: int, element: Element) -> bool:
    names = element.get("class") or ""
    if element.tag != "section" and not _inside(element, "article", "main"):
        names += f" {element.get('id') or ''}"  # in a text, ids are made of its headings
    if _AROUND_NAMES.search(names[:500]) and lengths.is_linked(element):
        return True
    if not _SURELY_AROUND.search(names[:500]) or element.tag in ("pre", "code", "span", "p"):
        return False
    if lengths.of(element) >= whole * _SMALL:
        return False
    return next(element.iter("h1", "main"), None) is None


def _main(body: Element) -> Element:
    """The part that the page itself calls the main one, where that is most of it."""
    parts = [
        element
        for element in body.iter("main", "article", "div", "section")
        if element.tag == "main" or element.get("role") == "main"
    ]
    if not parts:
        articles = list(body.iter("article"))
        parts = articles if len(articles) == 1 else []
    lengths = _Lengths(body)
    largest = max(parts, key=lengths.of, default=None)
    if largest is None:
        return body
    enough = min(_LEAST, lengths.of(body) // 3)
    return largest if lengths.of(largest) >= enough else body


def _inside(element: Element, *tags: str) -> bool:
    return next(element.iterancestors(*tags), None) is not None


def _outermost(root: Element, is_meant: Callable[[Element], bool]) -> Iterator[Element]:
    """In the order of the page."""
    left = [root]
    while left:
        element = left.pop()
        if is_meant(element):
            yield element
        else:
            left.extend(element.iterchildren(reversed=True))


def _drop(elements: Iterable[Element]) -> None:
    """Take elements out, in the order of the page, with what is in them, but not with the text
    behind them. That is put together once: many follow each other."""
    texts: dict[tuple[Element, bool], list[str]] = {}
    for element in list(elements):
        parent = element.getparent()
        if parent is None:
            continue
        before = element.getprevious()
        place = (parent, False) if before is None else (before, True)
        texts.setdefault(place, []).append(element.tail or "")
        parent.remove(element)
    for (element, behind), pieces in texts.items():
        if behind:
            element.tail = (element.tail or "") + "".join(pieces)
        else:
            element.text = (element.text or "") + "".join(pieces)


if __name__ == "__main__":
    serve(read_html)
