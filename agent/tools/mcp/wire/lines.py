"""A stream of bytes cut into lines, each in a bounded amount of memory. Pure."""

from dataclasses import dataclass, field

_EDGE = 4_096
"""Bytes kept of either end of a line that is too long."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was thrown away, but for its ends."""

    head: bytes
    tail: bytes
    size: int
    """Bytes."""


@dataclass(slots=True)
class LineSplitter:
    """Feed it what comes in; it gives the lines that are complete, without their line feed."""

    limit: int
    """Bytes of the longest line that is kept."""
    skipped: int = 0
    """Bytes so far of a line that is too long and has not ended; 0 where there is none."""
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0
    _head: bytes = b""
    _tail: bytes = b""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        *ends, rest = data.split(b"\n")
        found: list[bytes | TooLong] = []
        for end in ends:
            self._add(end)
            found.append(self._line())
        self._add(rest)
        return found

    def _add(self, part: bytes) -> None:
        if self.skipped:
            self.skipped += len(part)
            self._tail = (self._tail + part[-_EDGE:])[-_EDGE:]
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self.limit:
            whole = b"".join(self._parts)
            self._head, self._tail, self.skipped = whole[:_EDGE], whole[-_EDGE:], self._size
            self._parts, self._size = [], 0

    def _line(self) -> bytes | TooLong:
        line: bytes | TooLong = b"".join(self._parts)
        if self.skipped:
            line = TooLong(self._head, self._tail, self.skipped)
        self._parts, self._size, self.skipped = [], 0, 0
        self._head = self._tail = b""
        return line
