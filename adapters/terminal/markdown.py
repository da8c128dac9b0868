"""Markdown of a chat as a terminal shows it."""

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.text import Text

from adapters.cleaning import printable
from adapters.terminal.wrapping import wrapped_drawing

TAB = 8
"""Columns."""

_SHOWN_AS = {"softbreak": "hardbreak", "html_inline": "text", "html_block": "code_block"}
"""In a chat a line end is a line end, and what looks like HTML is what somebody wrote."""


class _Code(CodeBlock):
    """As it stands: no colours, and no empty lines around it besides those of a paragraph."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in str(self.text).rstrip().split("\n"):
            for row in wrapped_drawing(line.expandtabs(TAB), options.max_width):
                yield Text(row, overflow="fold")


class _Chat(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
    }


def markdown(source: str) -> Markdown:
    """Links stand as text: what they lead to is seen."""
    shown = _Chat(printable(source), hyperlinks=False)
    for token in shown.parsed:
        for part in (token, *(token.children or ())):
            part.type = _SHOWN_AS.get(part.type, part.type)
    return shown
