"""Untrusted text inside our own Markdown."""

import re

_INLINE = re.compile(r"([\\`*_\[\]<|~@])")
_BLOCK = re.compile(r"\A(\d{1,9}(?=[.)](?:\s|\Z))|(?=[#+-]+(?:\s|\Z)|>))")
"""Where a backslash keeps a line from being a heading, a list or a quote."""


def escape(text: str) -> str:
    """One line that shows as it is and formats, links and mentions nothing."""
    return _BLOCK.sub(r"\1\\", _INLINE.sub(r"\\\1", " ".join(text.split())))


def literal(text: str, limit: int) -> str:
    """What a worker saw, in Markdown that shows it as it is: it may be anything."""
    return f"`{bounded(text, limit).replace('`', 'ʼ')}`"


def bounded(text: str, limit: int) -> str:
    """One line of at most `limit` characters; a cut is visible."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
