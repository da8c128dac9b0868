"""The line that is being typed, by prompt_toolkit: keys, history, completion.

It stands at the bottom of the terminal, below what `above` draws, and is drawn anew only when
something changes. What is printed meanwhile goes above both.
"""

import asyncio
import select
import signal
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    get_common_complete_suffix,
)
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.layout import BufferControl, Dimension, FormattedTextControl, HSplit, Layout
from prompt_toolkit.layout.containers import ConditionalContainer, VerticalAlign, Window
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import TabsProcessor
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.widgets import SearchToolbar

from adapters.base import CommandSpec
from adapters.cleaning import printable
from adapters.terminal.screen import PROMPT

IN_MENU = 8
"""Commands that are offered at once."""
HIGHEST = 10
"""Rows of what is typed that are seen at once."""


class LineEditor:
    """`above(columns, rows)`: what stands above the line, with ANSI's colours, no higher and no
    wider than that. `input` and `output` are the same terminal."""

    def __init__(
        self,
        input_: TextIO,
        output: TextIO,
        above: Callable[[int, int], str],
        commands: Sequence[CommandSpec],
    ) -> None:
        self._history = InMemoryHistory()
        """Never in a file: what people type may hold secrets."""
        self._completer = _Commands(commands)
        self._buffer = Buffer(
            completer=self._completer,
            history=self._history,
            accept_handler=self._accept,
            multiline=True,
        )
        self._search = SearchToolbar()
        self._above = above
        self._drawn = ""
        """By `above`, for the drawing that is under way."""
        self._suspended = False
        """By a key: then prompt_toolkit draws again by itself."""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._output = _Output.from_pty(output)
        # The menu needs no room that would have to be asked for, and an answer that comes late
        # would be taken for something that was typed.
        self._output.enable_cpr = False
        self._app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            input=_Keys(input_),
            output=self._output,
            before_render=self._draw_above,
            erase_when_done=True,
            terminal_size_polling_interval=None,  # the signal tells; nothing moves by itself
        )

    def remember(self, said: Iterable[str]) -> None:
        """Oldest first: what the arrows bring back, besides what is typed from now on."""
        for text in said:
            self._history.append_string(printable(text))

    async def lines(self) -> AsyncGenerator[str, None]:
        """What was entered, until the person ends it or the terminal is closed."""
        running = self._app.run_async(handle_sigint=False, set_exception_handler=False)
        task = asyncio.create_task(running, name="line editor")
        task.add_done_callback(lambda _: self._lines.put_nowait(None))
        try:
            with self._continued():
                while (line := await self._lines.get()) is not None:
                    yield line
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and (fault := task.exception()) is not None:
                _unless_closed(fault)

    def print(self, text: str) -> None:
        """Whole lines, as the terminal takes them, above everything."""
        if self._app.is_running:
            self._app.renderer.erase()
        self._output.write_raw(text)
        self._output.flush()
        self._app.invalidate()

    def refresh(self) -> None:
        """What stands above has changed."""
        self._app.invalidate()

    @property
    def running(self) -> bool:
        return self._app.is_running

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        size = self._output.get_size()
        return size.columns, size.rows

    def _accept(self, buffer: Buffer) -> bool:
        self._lines.put_nowait(printable(buffer.text))
        return False  # the line is empty again

    def _layout(self) -> Layout:
        control = BufferControl(
            self._buffer,
            search_buffer_control=self._search.control,
            input_processors=[TabsProcessor(char1=" ", char2=" ")],
        )
        line = Window(
            control,
            height=Dimension(min=1, max=HIGHEST),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda number, wraps: (
                PROMPT if (number, wraps) == (0, 0) else " " * len(PROMPT)
            ),
        )
        drawn = FormattedTextControl(lambda: ANSI(self._drawn))
        above = ConditionalContainer(
            Window(drawn, dont_extend_height=True), Condition(lambda: bool(self._drawn))
        )
        menu = CompletionsMenu(max_height=IN_MENU)
        parts = HSplit([above, line, menu, self._search], align=VerticalAlign.TOP)
        return Layout(parts, focused_element=line)

    def _draw_above(self, _: "Application[None]") -> None:
        columns, rows = self.size
        below = min(self._buffer.document.line_count + 1, HIGHEST)
        if self._buffer.complete_state is not None:
            below += min(len(self._buffer.complete_state.completions), IN_MENU)
        self._drawn = self._above(columns, max(rows - below, 1))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        typing = has_focus(self._buffer)
        empty = Condition(lambda: not self._buffer.text)

        @keys.add("enter", filter=typing)
        def send(event: KeyPressEvent) -> None:
            self._buffer.validate_and_handle()
            self._buffer.load_history_if_not_yet_loaded()  # the next key may be an arrow

        @keys.add("escape", "enter", filter=typing)
        def begin_a_line(event: KeyPressEvent) -> None:
            self._buffer.newline(copy_margin=False)

        @keys.add("tab", filter=typing)
        def complete(event: KeyPressEvent) -> None:
            self._complete()

        @keys.add("c-c", filter=typing & ~empty)
        def clear(event: KeyPressEvent) -> None:
            self._buffer.reset()
            self._buffer.load_history_if_not_yet_loaded()

        @keys.add("c-c", filter=typing & empty)
        def leave(event: KeyPressEvent) -> None:
            signal.raise_signal(signal.SIGINT)  # as it is where keys are not read one by one

        @keys.add("c-d", filter=typing & empty)
        def end(event: KeyPressEvent) -> None:
            event.app.exit()

        @keys.add("c-z")
        def suspend(event: KeyPressEvent) -> None:
            self._suspended = True
            event.app.suspend_to_background()

        return keys

    def _complete(self) -> None:
        """As far as it is clear, and at once: the next key may be here already. Then a menu."""
        buffer = self._buffer
        if buffer.complete_state is not None:
            buffer.complete_next()
        elif not buffer.text.startswith("/"):
            buffer.insert_text("\t")  # of a text that was pasted as if it were typed
        else:
            found = list(self._completer.get_completions(buffer.document, CompleteEvent()))
            buffer.insert_text(get_common_complete_suffix(buffer.document, found))
            if len(found) > 1:
                buffer.start_completion()

    @contextmanager
    def _continued(self) -> Iterator[None]:
        """A shell that stopped us and continues us has left the terminal as it likes it."""
        loop = asyncio.get_running_loop()
        with ExitStack() as taken:

            def take_again() -> None:
                if not self._app.is_running:
                    return
                taken.enter_context(self._app.input.raw_mode())
                if not self._suspended:
                    self._app.renderer.reset()
                    self._app.invalidate()
                self._suspended = False

            loop.add_signal_handler(signal.SIGCONT, take_again)
            taken.callback(loop.remove_signal_handler, signal.SIGCONT)
            yield


class _Keys(Vt100Input):
    def read_keys(self) -> list[KeyPress]:
        """A terminal that was closed can be read for ever, and has nothing to say."""
        keys = super().read_keys()
        if not keys:
            terminal = select.poll()
            terminal.register(self.fileno(), 0)  # a hang-up is told in any case
            self.stdin_reader.closed = bool(terminal.poll(0))
        return keys


class _Output(Vt100_Output):
    def flush(self) -> None:
        with suppress(OSError):  # of a terminal that was closed: nobody sees it any more
            super().flush()


class _Commands(Completer):
    def __init__(self, commands: Sequence[CommandSpec]) -> None:
        self._commands = sorted(commands, key=lambda spec: spec.name)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        typed = document.text_before_cursor
        if not typed.startswith("/") or document.text_after_cursor:
            return
        for spec in self._commands:
            name = f"/{spec.name}"
            if name.startswith(typed.lower()):
                yield Completion(
                    f"{name} " if spec.argument else name,
                    start_position=-len(typed),
                    display=name,
                    display_meta=spec.description,
                )


def _unless_closed(fault: BaseException) -> None:
    """A terminal that is gone is the end of the input."""
    if not isinstance(fault, EOFError):
        raise fault
