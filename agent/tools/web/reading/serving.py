"""The far side of `process`: one page in, one text out, in bounds that the system enforces."""

import json
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

LONGEST_TEXT = 2_000_000
"""Characters of a page's text that are kept."""
MEMORY = 1_000_000_000
"""Bytes of address space."""
OUTPUT = 0
"""Bytes that may be written to files: a page's reader has nothing to keep."""
_POLITE = 10
_DEPTH = 10_000
"""Of calls: pages are nested deeper than programs."""


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    """Where it comes from, for links that are relative."""
    charset: str
    """Codec that was declared, "" where there was none."""
    seconds: float
    """Time to read it in; what was read until then is given."""
    memory: int = MEMORY


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    title: str = ""
    note: str = ""
    """What the text lacks, in words."""


class Unreadable(ValueError):
    """The page cannot be read. The text says why."""


def serve(read: Callable[[bytes, Page], Text]) -> None:
    """Read a Page as a line of JSON and then its bytes from stdin; write a Text, or an error, as
    JSON."""
    page = Page(**json.loads(sys.stdin.buffer.readline()))
    data = sys.stdin.buffer.read()
    os.nice(_POLITE)  # what takes for ever must not make conversations wait
    seconds = max(1, round(page.seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds + 5, seconds + 6))
    resource.setrlimit(resource.RLIMIT_AS, (page.memory, page.memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
    sys.setrecursionlimit(_DEPTH)
    try:
        answer = asdict(read(data, page))
    except Unreadable as error:
        answer = {"error": str(error)}
    except (MemoryError, RecursionError):
        answer = {"error": "it takes too much memory to read"}
    # What is no character at all, as some PDFs claim to hold, becomes a question mark.
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def cut(text: str, note: str = "") -> tuple[str, str]:
    """At most LONGEST_TEXT characters; the note says so where something was cut."""
    if len(text) <= LONGEST_TEXT:
        return text, note
    said = f"cut after {LONGEST_TEXT:,} of {len(text):,} characters"
    return text[:LONGEST_TEXT], f"{note}; {said}" if note else said
