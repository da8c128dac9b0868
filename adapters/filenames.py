"""Names for files, made of names that people, models and platforms gave. Pure."""

import re
from pathlib import PurePath

_UNSAFE = re.compile(r"[^\w.\-]+")
_LENGTH = 60
"""Characters, of four bytes at most; file systems take 255 bytes."""
_SUFFIX = 16


def safe_name(name: str) -> str:
    """One name, without a folder: letters, digits, "_", "-", "."; not hidden, and no option.

    At most 60 characters, of which the suffix keeps its place; "file" where nothing is left.
    """
    whole = PurePath(_UNSAFE.sub("_", name).lstrip(".-") or "file")
    suffix = whole.suffix[:_SUFFIX]
    return whole.stem[: _LENGTH - len(suffix)] + suffix
