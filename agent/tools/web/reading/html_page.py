"""An HTML page: what of it is the page and what is only around it; then Markdown. The elements are
lxml's, whose parser takes whatever browsers take."""

import re
from collections.abc import Iterator
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
    _drop(root, _has_no_text)
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
    for element in root.iter("title", "h1"):
        if text := words("".join(element.itertext())):
            return text
    return ""


def _has_no_text(element: Element) -> bool:
    if not isinstance(element.tag, str) or element.tag in _NO_TEXT:
        return True
    if element.tag == "button":
        # What opens the part below is all of its heading's text.
        above = next(element.iterancestors(*_HEADINGS, "summary", "th"), None)
        return above is None or _length(element) < _length(above) * _LINKS
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return bool(_HIDDEN.search(element.get("style") or ""))


def _head(root: Element) -> str:
    """The page's heading, where there is one: it may stand outside the main part."""
    heads = [words(" ".join(head.itertext())) for head in root.iter("h1")]
    return heads[0] if len(heads) == 1 else ""


def _bare(root: Element) -> None:
    """Take away what is around the page, unless nothing would be left of it."""
    whole = _length(root)
    around = list(_outermost(root, lambda element: _is_around(element, whole)))
    gone = sum(_length(element) for element in around)
    if gone < whole:
        for element in around:
            _remove(element)


def _is_around(element: Element, whole: int) -> bool:
    """`whole`: characters of the page."""
    if element.tag in ("body", "main", "html") or element.tag in _HEADINGS:
        return False
    if element.tag in _AROUND:
        return element.tag == "nav" or not _inside(element, "article", "main", "blockquote")
    if element.get("role") in _AROUND_ROLES:
        return True
    if element.tag in ("aside", "header"):
        return _is_linked(element)
    if element.tag == "a" and (element.get("href") or "").startswith("#"):
        return _SKIP.match(words("".join(element.itertext()))) is not None
    return _is_named_around(element, whole)


def _is_named_around(element: Element, whole: int) -> bool:
    names = element.get("class") or ""
    if element.tag != "section" and not _inside(element, "article", "main"):
        names += f" {element.get('id') or ''}"  # in a text, ids are made of its headings
    if _AROUND_NAMES.search(names[:500]) and _is_linked(element):
        return True
    if not _SURELY_AROUND.search(names[:500]) or element.tag in ("pre", "code", "span", "p"):
        return False
    return _length(element) < whole * _SMALL and next(element.iter("h1", "main"), None) is None


def _is_linked(element: Element) -> bool:
    length = _length(element)
    linked = sum(_length(link) for link in element.iter("a"))
    return linked >= length * _LINKS


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
    largest = max(parts, key=_length, default=None)
    if largest is None:
        return body
    enough = min(_LEAST, _length(body) // 3)
    return largest if _length(largest) >= enough else body


def _inside(element: Element, *tags: str) -> bool:
    return next(element.iterancestors(*tags), None) is not None


def _length(element: Element) -> int:
    return sum(len(text.strip()) for text in element.itertext())


def _outermost(root: Element, is_meant: Any) -> Iterator[Element]:
    left = [root]
    while left:
        element = left.pop()
        if is_meant(element):
            yield element
        else:
            left.extend(element.iterchildren())


def _drop(root: Element, is_meant: Any) -> None:
    for element in list(_outermost(root, is_meant)):
        _remove(element)


def _remove(element: Element) -> None:
    """With what is in it, but not with the text behind it."""
    parent = element.getparent()
    if parent is None:
        return
    before = element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    parent.remove(element)


if __name__ == "__main__":
    serve(read_html)
