"""Untrusted text inside our own Markdown."""

import re
from unicodedata import bidirectional

from agent.text.untrusted import visible

_INLINE = re.compile(r"([\\`*_\[\]<|~@])")
_BLOCK = re.compile(r"\A(\d{1,9}(?=[.)](?:\s|\Z))|(?=[#+-]+(?:\s|\Z)|>))")
"""Where a backslash keeps a line from being a heading, a list or a quote."""
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
