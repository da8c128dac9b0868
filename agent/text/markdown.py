"""Untrusted text inside our own Markdown."""

import re
from unicodedata import bidirectional

_INLINE = re.compile(r"([\\`*_\[\]<|~@])")
_BLOCK = re.compile(r"\A(\d{1,9}(?=[.)](?:\s|\Z))|(?=[#+-]+(?:\s|\Z)|>))")
"""Where a backslash keeps a line from being a heading, a list or a quote."""
_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e"
    "\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
"""Controls, direction marks and what has no width: they turn text around, or hide in it. Joiners
(U+200C, U+200D) stay: emoji and several scripts are written with them."""
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILE = re.compile(f"({_MARK}{{4}}){_MARK}+")
"""Marks in such a number that they cover the lines above and below."""
_LEADS = (
    "://",  # an address
    r"@\w",  # a mention, an address for mail
    r"\w\.[^\W\d_]{2}",  # example.com, t.me/x, www.x
    r"\d\.\d+\.\d+\.\d",
    r"(?<![\w/<])/\w",  # a command: a tap sends it
    r"(?<!\w)#\w*[^\W\d]",
    r"(?<!\w)\$[A-Za-z]",
    r"\+\d{5}",  # a number to call
)
"""What the platforms' clients make a link of by themselves."""
_LINKED = re.compile(rf"(?<![^\s`])(?=[^\s`]*?(?:{'|'.join(_LEADS)}))[^\s`]*[^\s`”\].,;:!?]")


def visible(text: str) -> str:
    """Foreign text without what turns it around or cannot be seen; line breaks and tabs stay."""
    return _PILE.sub(r"\1", _UNSEEN.sub("", _BREAK.sub("\n", text)))


def escape(text: str) -> str:
    """One line that shows as it is and formats, links and mentions nothing: what a client would
    make a link of by itself stands in code."""
    line = " ".join(visible(text).split())
    parts, end = [], 0
    for link in _LINKED.finditer(line):
        parts += [_INLINE.sub(r"\\\1", line[end : link.start()]), f"`{link[0]}`"]
        end = link.end()
    parts.append(_INLINE.sub(r"\\\1", line[end:]))
    return _isolated(_BLOCK.sub(r"\1\\", "".join(parts)))


def literal(text: str, limit: int) -> str:
    """What a worker saw, in Markdown that shows it as it is: it may be anything."""
    return _isolated(f"`{bounded(visible(text), limit).replace('`', 'ʼ')}`")


def bounded(text: str, limit: int) -> str:
    """One line of at most `limit` characters; a cut is visible."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _isolated(text: str) -> str:
    """Text that is written from right to left must not move what stands beside it."""
    if text.isascii() or not any(bidirectional(one) in ("R", "AL", "AN") for one in text):
        return text
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"
