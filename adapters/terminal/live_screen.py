"""The chat on a terminal that can be drawn on: messages that change are changed in place.

The bottom of the screen is drawn anew whenever something happens: the messages that may still
change, a sign of life while an answer takes long, and below them the line that is being typed. So
nothing that is printed ever destroys what was typed. All else is printed once, above.
"""

import asyncio
import io
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from adapters.base import Body, CommandSpec
from adapters.cleaning import printable
from adapters.terminal.above import printed_above
from adapters.terminal.line_editor import LineEditor
from adapters.terminal.markdown import markdown
from adapters.terminal.screen import BOT, HELLO, PROMPT, Numbered, added, choices, leaves

MORE_HELLO = "Alt-Enter begins a new line, Tab completes a command."
ENDING = "(waiting for what is under way; Ctrl-C ends now, and it goes on at the next start)"
MOST_KNOWN = 200
"""Messages that an edit still finds."""
NARROW = 50
"""Columns. On less, messages are not set in."""
BUSY = 6.0
"""Seconds after which an answer is not worked on any more, unless it is said again."""
FRAME = 0.25
"""Seconds."""
DOTS = ("·  ", "·· ", "···", " ··", "  ·", "   ")


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
        self.drawn = _FromBot(said, _Choices(self.buttons))


@dataclass
class LiveScreen:
    """Both files are the same terminal."""

    input: TextIO = field(default_factory=lambda: sys.stdin)
    output: TextIO = field(default_factory=lambda: sys.stdout)
    commands: Sequence[CommandSpec] = ()
    """Those that are completed."""
    personal = True
    _known: dict[str, _Shown] = field(default_factory=dict, init=False)
    """By message id, oldest first."""
    _bottom: dict[str, _Shown] = field(default_factory=dict, init=False)
    """Those that are drawn at the bottom, and not printed yet."""
    _busy: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _busy_since: float = field(default=0.0, init=False)
    _busy_until: float = field(default=0.0, init=False)
    """Both on the clock of time.monotonic()."""
    _console: Console = field(init=False)
    _editor: LineEditor = field(init=False)

    def __post_init__(self) -> None:
        self._console = Console(
            file=io.StringIO(),  # it never writes: what it makes goes through the editor
            force_terminal=True,
            force_interactive=True,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._editor = LineEditor(self.input, self.output, self._drawn, self.commands)

    def open(self, said: Sequence[str]) -> None:
        self._editor.remember(said)
        self._print(Text(f"{HELLO} {MORE_HELLO}"))

    async def lines(self) -> AsyncGenerator[str, None]:
        spinner = asyncio.create_task(self._spin(), name="spinner")
        try:
            with printed_above(lambda lines: self._editor.print(printable(lines))):
                async with aclosing(self._editor.lines()) as lines:
                    async for line in lines:
                        if leaves(line):
                            break
                        self._entered(line)
                        yield line
        finally:
            spinner.cancel()
            await asyncio.wait([spinner])
            self._leave(list(self._bottom))
        if self._busy.is_set():
            self.note(ENDING)

    def post(self, message_id: str, body: Body, buttons: Sequence[Numbered]) -> None:
        self._busy.clear()
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
            if more:
                self._print(_FromBot(Text(more)))
        elif not same:
            self._bottom[message_id] = shown
            self._refresh()

    def note(self, text: str) -> None:
        self._print(_FromBot(Text(text)))

    def busy(self) -> None:
        now = time.monotonic()
        self._busy_until = now + BUSY
        if not self._busy.is_set():
            self._busy_since = now
            self._busy.set()

    async def _spin(self) -> None:
        """Something moves for as long as an answer is worked on, and nothing does else."""
        while await self._busy.wait():
            self._editor.refresh()
            await asyncio.sleep(FRAME)
            if time.monotonic() > self._busy_until:
                self._busy.clear()
                self._editor.refresh()

    def _sign_of_life(self) -> Text:
        seconds = time.monotonic() - self._busy_since
        dots = DOTS[int(seconds / FRAME) % len(DOTS)]
        return Text(f"{BOT} {dots} {seconds:.0f} s", style="dim")

    def _entered(self, line: str) -> None:
        """A line was sent: what stands above it is left as it is now."""
        if line.strip():
            self._leave(list(self._bottom))
            self._print(Text(PROMPT + line.replace("\n", "\n" + " " * len(PROMPT))))

    def _leave(self, message_ids: Sequence[str]) -> None:
        """Print these messages as they are now; they are not drawn at the bottom any more."""
        for message_id in message_ids:
            self._print(self._bottom.pop(message_id).drawn)

    def _print(self, what: RenderableType) -> None:
        self._resize()
        self._editor.print(self._as_ansi(what))

    def _refresh(self) -> None:
        if self._editor.running:
            self._editor.refresh()
        else:
            self._leave(list(self._bottom))

    def _drawn(self, columns: int, rows: int) -> str:
        """What stands above the line: the end of it where there is more than fits."""
        self._console.width, self._console.height = columns, rows
        parts = [shown.drawn for shown in self._bottom.values()]
        if self._busy.is_set():
            parts.append(self._sign_of_life())
        lines = self._as_ansi(Group(*parts)).splitlines() if parts else []
        return "\n".join(lines[-rows:])

    def _as_ansi(self, what: RenderableType) -> str:
        with self._console.capture() as captured:
            self._console.print(_Printable(what))
        return captured.get()

    def _resize(self) -> None:
        self._console.width, self._console.height = self._editor.size

    def _fits(self, shown: _Shown) -> bool:
        self._resize()
        lines = self._console.render_lines(shown.drawn, pad=False)
        return len(lines) < self._console.height // 2


@dataclass(frozen=True, slots=True)
class _Printable:
    """Whatever it is made of, no control character of it reaches the terminal."""

    what: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.what, options):
            yield Segment(printable(segment.text), segment.style)


@dataclass(frozen=True, slots=True)
class _Choices:
    buttons: Sequence[Numbered]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in choices(self.buttons, options.max_width):
            yield Text(line, overflow="fold")


class _FromBot:
    """A message with its mark: beside it where there is room, else above it."""

    def __init__(self, *what: RenderableType) -> None:
        self._what = Group(*what)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        mark = Text(BOT, style="bold")
        if options.max_width < NARROW:
            yield mark
            yield self._what
            return
        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(mark, self._what)
        yield grid
