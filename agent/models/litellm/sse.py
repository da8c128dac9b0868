"""Server-sent events as model servers write them: the objects in their `data` lines. Pure.

Lines end where the format says so and nowhere else: JSON may hold U+2028 as it is, at which
others' readers cut a line in two. What is no event is kept, for a server that answers a wish for a
stream with one plain object.
"""

import json
import re
from collections.abc import Iterator

from storage.records.entries import Json

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of all that is read."""

_MOST_LINES = 100
"""Of one event."""
_UNREADABLE = "it sent an event that cannot be read"
_BREAK = re.compile(rb"\r\n|\n|\r(?!\Z)")
"""A carriage return at the end may be half a line break: it waits for what follows."""


class NoEvent(ValueError):
    """The stream holds what cannot be read, so something of the answer is lost."""


class Events:
    """Fed with bytes as they come; gives objects as they are complete."""

    def __init__(self) -> None:
        self.done = False
        """The server said that this is all."""
        self.any = False
        """There was an event."""
        self._rest: list[bytes] = []
        """Of a line that has not ended. Put together once: it may come byte by byte."""
        self._size = 0
        self._data: list[str] = []
        """Lines of an event that is no object yet."""
        self._plain: list[str] = []

    def feed(self, data: bytes) -> Iterator[Json]:
        """NoEvent for data that is no JSON, and where all of it is too much."""
        self._size += len(data)
        if self._size > LARGEST_ANSWER:
            raise NoEvent("it sent more than can be read")
        half = bool(self._rest) and self._rest[-1].endswith(b"\r")
        if data:
            self._rest.append(data)
        if not half and b"\n" not in data and b"\r" not in data:
            return
        *lines, rest = _BREAK.split(b"".join(self._rest))
        self._rest = [rest] if rest else []
        for line in lines:
            yield from self._line(line.decode(errors="replace"))

    def end(self) -> Iterator[Json]:
        """Nothing more will come. Of an answer without any event: the one object that it is."""
        rest, self._rest = b"".join(self._rest).rstrip(b"\r"), []
        yield from self._line(rest.decode(errors="replace"))
        self._data.clear()  # half an event: the connection was cut
        if not self.any and not self.done:
            whole = _object("\n".join(self._plain))
            if whole is not None:
                yield whole

    def _line(self, line: str) -> Iterator[Json]:
        name, colon, value = line.removeprefix("\ufeff").partition(":")
        if colon and name == "data":
            yield from self._data_line(value.strip())
        elif colon and name == "error" and (told := _object(value)) is not None:
            yield {"error": told}  # llama.cpp's
        elif not line.strip():
            if self._data:
                raise NoEvent(_UNREADABLE)
        elif name and not self.any:
            self._plain.append(line)

    def _data_line(self, value: str) -> Iterator[Json]:
        if value == "[DONE]":
            self.done = True
            return
        if not self._data and not value.startswith("{"):
            return  # a word to keep the connection open
        # Nothing else can be its end: what is not is not read again and again.
        found = _object("\n".join([*self._data, value])) if value.endswith("}") else None
        if found is None:
            self._data.append(value)
            if len(self._data) > _MOST_LINES:
                raise NoEvent(_UNREADABLE)
            return
        self._data.clear()
        self.any = True
        yield found


def _object(text: str) -> Json | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
