"""Untrusted text inside our own Markdown."""

import re

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~>@])")


def escape(text: str) -> str:
    """Text that shows as it is and formats, links and mentions nothing."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))
