"""Untrusted text inside our own Markdown."""

import re

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~>@])")


def escape(text: str) -> str:
    """Text that shows as it is and formats, links and mentions nothing."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def literal(text: str, limit: int) -> str:
    """What a worker saw, in Markdown that shows it as it is: it may be anything."""
    return f"`{bounded(text, limit).replace('`', 'ʼ')}`"


def bounded(text: str, limit: int) -> str:
    """One line of at most `limit` characters; a cut is visible."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
