"""Log lines, and whatever else a library writes to this terminal, while something is drawn on it.

Written as they come they would land in the middle of the line that is being typed.
"""

import asyncio
import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

Show = Callable[[str], None]
"""Prints whole lines above what is drawn; called on the loop."""


class Above(io.TextIOBase):
    """Stands for a stream; any thread may write. Once `end`ed, it is that stream again."""

    def __init__(self, stream: TextIO, show: Show) -> None:
        self._stream = stream
        self._show = show
        self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._begun = ""

    def write(self, text: str) -> int:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                return self._stream.write(text)
            whole, end, self._begun = f"{self._begun}{text}".rpartition("\n")
            if end:
                self._loop.call_soon_threadsafe(self._show_now, f"{whole}\n")
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def end(self) -> None:
        with self._lock:
            self._loop = None
            if self._begun:
                self._stream.write(self._begun)

    def _show_now(self, lines: str) -> None:
        if self._loop is None:
            self._stream.write(lines)
        else:
            self._show(lines)


@contextmanager
def printed_above(show: Show) -> Iterator[None]:
    """Have all that is written to stdout and stderr shown by `show`, as far as they are terminals:
    what somebody keeps in a file stays out of the chat."""
    with ExitStack() as stack:
        for redirect, stream in ((redirect_stdout, sys.stdout), (redirect_stderr, sys.stderr)):
            if not stream.isatty():
                continue
            above = Above(stream, show)
            stack.callback(above.end)
            stack.enter_context(redirect(above))
            for handler in _writing_to(stream):
                stack.callback(handler.setStream, stream)
                handler.setStream(above)
        yield


def _writing_to(stream: TextIO) -> "list[logging.StreamHandler[Any]]":
    """The root logger's handlers that hold this stream: they do not ask for it again."""
    return [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is stream
    ]
