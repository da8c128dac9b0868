"""Untrusted text inside our own Markdown."""

import re

_INLINE = re.compile(r"([\\`*_\[\]<|~@])")
_BLOCK = re.compile(r"\A(\d{1,9}(?=[.)](?:\s|\Z))|(?=[#+-]+(?:\s|\Z)|>))")
"""Where a backslash keeps a line from being a heading, a list or a quote."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Controls, direction marks and what has no width: they turn text around, or hide in it. Joiners
(U+200C, U+200D) stay: emoji and several scripts are written with them."""


def visible(text: str) -> str:
    """Foreign text without what turns it around or cannot be seen; line breaks and tabs stay."""
    return _UNSEEN.sub("", text)


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
