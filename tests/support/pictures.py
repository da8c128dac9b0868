"""The pictures at the top of the README, made from the real program: make pictures.

`bough chat` runs in a terminal, on a database of its own, and somebody types. `chat.svg` is what
its screen shows then, `tree.png` what `/tree` sends.
"""

import asyncio
import io
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from tests.stand_ins.terminal import Display, Terminal, terminal
from tests.support.chat_process import ROOT, chatting

PICTURES = ROOT / "deploy" / "pictures"
COLUMNS = 88
SCENES = (
    ("hello", "watch a task being delegated"),
    ("what is Bough?", "asks a person with buttons"),
    ("/label about", "about is now"),
    ("/branch 3", "Bring a summary along"),
    ("check the site", "2/2"),
    ("check the shop", "sold out until Monday"),
    ("/branch 10", "Bring a summary along"),
    ("deploy", "] Other outcomes"),
    ("#8", "resolved by the human"),
    ("/tree", "no-tools"),
)
"""What is typed, and what is shown once that was done."""
FIRST_SHOWN = "you> deploy"
"""What stands above this line is not in the picture."""


@dataclass
class Coloured(Display):
    """A display whose cells carry their colours, in the notation they were written in."""

    style: str = ""

    def _obey(self, arguments: str, what: str) -> None:
        if what == "m":
            self.style = "" if arguments in ("", "0") else f"{self.style}\x1b[{arguments}m"
        super()._obey(arguments, what)

    def _show(self, cells: list[str]) -> None:
        super()._show([f"\x1b[0m{self.style}{cells[0]}", *cells[1:]])

    @property
    def ansi(self) -> str:
        """A style stands where it begins, and not before each of its characters."""
        parts = re.split(r"((?:\x1b\[[\d;]*m)+)", self.text)
        styles = [None, *parts[1::2]]
        return parts[0] + "".join(
            text if style == before else style + text
            for before, style, text in zip(styles, parts[1::2], parts[2::2], strict=False)
        )

    @property
    def plain(self) -> str:
        return Text.from_ansi(self.text).plain


async def conversation(shown: Terminal, screen: Coloured) -> None:
    for line, answer in (("", "completes a command"), *SCENES):
        before = screen.plain.count(answer) if line else 0
        if line:
            shown.type(f"{line}\r")
        async with asyncio.timeout(60):
            while screen.plain.count(answer) <= before:
                await asyncio.sleep(0.05)


def svg(screen: Coloured) -> str:
    lines = Text.from_ansi(screen.ansi).split("\n")
    first = next(number for number, line in enumerate(lines) if line.plain.startswith(FIRST_SHOWN))
    console = Console(record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True)
    console.print(Text("\n").join(lines[first:]), highlight=False)
    fetches_nothing = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="bough chat", unique_id="chat", code_format=fetches_nothing)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, terminal(COLUMNS) as shown:
        screen = shown.display = Coloured(COLUMNS)
        with chatting(shown, Path(folder)):
            asyncio.run(conversation(shown, screen))
        (PICTURES / "chat.svg").write_text(svg(screen), encoding="utf-8")
        drawn = Path(folder, "bough-files", "tree.png").read_bytes()
        (PICTURES / "tree.png").write_bytes(drawn)


if __name__ == "__main__":
    main()
