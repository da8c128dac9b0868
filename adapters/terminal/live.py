"""The chat on a terminal that can be drawn on: messages that change are changed in place.

The bottom of the screen is drawn anew whenever something happens: the messages that may still
change, and below them the line that is being typed. Keys are read one by one and kept here, so
nothing that is printed ever destroys what was typed. All else is printed once, above.
"""

import asyncio
import codecs
import os
import signal
import sys
import termios
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from adapters.base import Body
from adapters.terminal.keys import Line
from adapters.terminal.markdown import markdown
from adapters.terminal.screen import (
    BOT,
    HELLO,
    PROMPT,
    Numbered,
    added,
    choices,
    printable,
)

MOST_KNOWN = 200
"""Messages that an edit still finds."""
READ = 65_536
"""Bytes."""


@dataclass(slots=True)
class _Shown:
    """A message as it stands."""

    body: Body
    buttons: Sequence[Numbered]
    changing: bool = False
    """It was changed, and is likely to be changed again."""
    drawn: RenderableType = ""

    def __post_init__(self) -> None:
        self.draw()

    def draw(self) -> None:
        source = self.body.get("markdown")
        said = markdown(source) if source is not None else Text(self.body["text"])
        self.drawn = _from_bot(said, *(Text(line) for line in choices(self.buttons)))


@dataclass
class LiveScreen:
    """Both files are the same terminal."""

    input: TextIO = field(default_factory=lambda: sys.stdin)
    output: TextIO = field(default_factory=lambda: sys.stdout)
    _known: dict[str, _Shown] = field(default_factory=dict, init=False)
    """By message id, oldest first."""
    _bottom: dict[str, _Shown] = field(default_factory=dict, init=False)
    """Those that are drawn at the bottom, and not printed yet."""
    _line: Line = field(default_factory=Line, init=False)
    _console: Console = field(init=False)
    _live: Live = field(init=False)

    def __post_init__(self) -> None:
        self._console = Console(
            file=self.output,
            force_terminal=True,
            force_interactive=True,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._live = Live(
            _Bottom(self._bottom, self._line),
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    async def lines(self) -> AsyncGenerator[str, None]:
        keys: asyncio.Queue[str] = asyncio.Queue()
        self._print(Text(HELLO))
        with self._drawing(), self._reading(keys):
            while not self._line.ended and (typed := await keys.get()):
                for line in self._line.type(typed):
                    self._entered(line)
                    yield line
                self._refresh()

    def post(self, message_id: str, body: Body, buttons: Sequence[Numbered]) -> None:
        shown = _Shown(body, buttons)
        self._known[message_id] = shown
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._leave([one for one, other in self._bottom.items() if not other.changing])
        if self._fits(shown):
            self._bottom[message_id] = shown
            self._refresh()
        else:
            self._print(shown.drawn)

    def edit(
        self, message_id: str, body: Body, buttons: Sequence[Numbered], *, fleeting: bool
    ) -> None:
        shown = self._known.get(message_id)
        if shown is None:
            return  # from a process that was here before: nothing of it is in sight
        same = body == shown.body and buttons == shown.buttons
        more = added(shown.body["text"], body["text"])
        more = more if not (buttons or fleeting) else None
        # The last edit of a message with buttons takes them away.
        shown.changing = fleeting and (bool(buttons) or not shown.buttons)
        shown.body, shown.buttons = body, buttons
        shown.draw()
        if message_id in self._bottom:
            self._refresh()
        elif more is not None:
            self._print(_from_bot(Text(more)) if more else None)
        elif not same:
            self._bottom[message_id] = shown
            self._refresh()

    def note(self, text: str) -> None:
        self._print(_from_bot(Text(text)))

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        self._resize()
        self._live.start()
        self._console.show_cursor(True)
        self._refresh()
        try:
            yield
        finally:
            self._leave(list(self._bottom))
            self._live.stop()

    @contextmanager
    def _reading(self, keys: "asyncio.Queue[str]") -> Iterator[None]:
        """Give keys as they are typed, "" at the end of the input."""
        loop = asyncio.get_running_loop()
        terminal = self.input.fileno()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        as_it_was = termios.tcgetattr(terminal)

        def read() -> None:
            try:
                data = os.read(terminal, READ)
            except OSError:  # the terminal was closed
                data = b""
            if not data:
                loop.remove_reader(terminal)
            if (typed := decode(data)) or not data:
                keys.put_nowait(typed)

        def come_back() -> None:
            """After Ctrl-Z the shell has left the terminal as it likes it."""
            _read_keys(terminal)
            self._refresh()

        _read_keys(terminal)
        loop.add_reader(terminal, read)
        loop.add_signal_handler(signal.SIGCONT, come_back)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGCONT)
            loop.remove_reader(terminal)
            termios.tcsetattr(terminal, termios.TCSADRAIN, as_it_was)

    def _entered(self, line: str) -> None:
        """A line was sent: what stands above it is left as it is now."""
        if line.strip():
            self._leave(list(self._bottom))
            self._print(Text(f"{PROMPT}{line}"))

    def _leave(self, message_ids: Sequence[str]) -> None:
        """Print these messages as they are now; they are not drawn at the bottom any more."""
        for message_id in message_ids:
            self._print(self._bottom.pop(message_id).drawn)

    def _print(self, what: RenderableType | None) -> None:
        self._resize()
        if what is not None:
            self._console.print(_Printable(what))

    def _refresh(self) -> None:
        self._resize()
        if self._live.is_started:
            self._live.refresh()
        else:
            self._leave(list(self._bottom))

    def _resize(self) -> None:
        columns, rows = os.get_terminal_size(self.output.fileno())
        self._console.width, self._console.height = columns or 80, rows or 25

    def _fits(self, shown: _Shown) -> bool:
        self._resize()
        lines = self._console.render_lines(shown.drawn, pad=False)
        return len(lines) < self._console.height // 2


@dataclass(frozen=True, slots=True)
class _Bottom:
    """What is drawn at the bottom: at most a screen of it, the end of it where there is more."""

    messages: dict[str, _Shown]
    line: Line

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn = [shown.drawn for shown in self.messages.values()]
        typed = Text(f"{PROMPT}{self.line.text}", overflow="fold", end="")
        lines = console.render_lines(_Printable(Group(*drawn, typed)), options, pad=False)
        for number, line in enumerate(lines[-options.size.height :]):
            if number:
                yield Segment.line()
            yield from line


@dataclass(frozen=True, slots=True)
class _Printable:
    """Whatever it is made of, no control character of it reaches the terminal."""

    what: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.what, options):
            yield Segment(printable(segment.text), segment.style)


def _from_bot(*what: RenderableType) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(BOT, style="bold"), Group(*what))
    return grid


def _read_keys(terminal: int) -> None:
    """Have keys given at once and not shown. Ctrl-C, and how lines end, stay as they are."""
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~(termios.ICANON | termios.ECHO)
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSADRAIN, attributes)
