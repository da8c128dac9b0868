"""What a command says, while it runs and afterwards: bounded, and as models and people read it."""

import re

from agent.text.sizing import head, size, tail
from agent.text.untrusted import visible

TAIL = 65_536
"""Bytes of the end that are kept where there is more than is kept."""
LAST_LINE = 200
"""Characters of the last line, as people see it."""
_LOOKED_AT = 4_096

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Colours, titles and moves of a terminal, which is none here."""


class Output:
    """The first `kept` bytes of a stream and its last TAIL."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._first = bytearray()
        self._last = bytearray()
        self.total = 0
        """Bytes that came, kept or not."""

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._kept - len(self._first)
        self._first += data[:room]
        if len(data) > room:
            self._last += data[room:]
            if len(self._last) > 2 * TAIL:
                del self._last[:-TAIL]

    @property
    def left_out(self) -> int:
        """Bytes in the middle that are not kept."""
        return self.total - len(self._first) - len(self._last)

    def whole(self) -> bytes:
        """All that is kept; a line in brackets says what is missing."""
        if not self.left_out:
            return bytes(self._first + self._last)
        gap = f"\n[{self.left_out:,} bytes were not kept]\n".encode()
        return bytes(self._first) + gap + bytes(self._last[-TAIL:])

    def since(self, offset: int) -> bytes:
        """What is kept from a byte of the stream on."""
        if offset < len(self._first):
            return bytes(self._first[offset:]) + bytes(self._last)
        start = self.total - len(self._last)
        return bytes(self._last[max(offset - start, 0) :])

    def last_line(self) -> str:
        """The last line with something in it, as plain text that nothing can hide in."""
        end = bytes(self._last[-_LOOKED_AT:] or self._first[-_LOOKED_AT:])
        lines = [line.strip() for line in readable(end).splitlines()]
        found = next((line for line in reversed(lines) if line), "")
        return found if len(found) <= LAST_LINE else f"{found[: LAST_LINE - 1]}…"


def readable(data: bytes) -> str:
    """Output as text: without the escapes of terminals, what a line was overwritten with in its
    place, and nothing that turns text around or cannot be seen."""
    text = _ESCAPES.sub("", data.decode(errors="replace").replace("\r\n", "\n"))
    text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return visible(text)


def shown_of(output: Output, limit: int, where: str) -> str:
    """Output as a model reads it, in about `limit` bytes: see ends_of. Costs as much as it shows,
    however much there is."""
    if output.total <= 4 * limit:
        return ends_of(readable(output.whole()).strip("\n"), limit, where)
    raw = output.whole()
    first = head(readable(raw[:limit]), limit // 3).rstrip()
    last = tail(readable(raw[-2 * limit :]), limit - limit // 3).strip("\n")
    missing = output.total - size(first) - size(last)
    return f"{first}\n[… about {missing:,} bytes left out; {where} …]\n{last}"


def ends_of(text: str, limit: int, where: str) -> str:
    """The text where it has at most `limit` bytes; else its beginning and its end, with a line in
    brackets between. `where`: how to see the rest."""
    if size(text) <= limit:
        return text
    first, last = head(text, limit // 3), tail(text, limit - limit // 3)
    missing = size(text) - size(first) - size(last)
    return f"{first.rstrip()}\n[… {missing:,} bytes left out; {where} …]\n{last.lstrip()}"
