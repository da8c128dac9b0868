"""A whole chat at a terminal: typed, answered, left, and opened again."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from adapters.terminal.adapter import TerminalAdapter
from adapters.terminal.live_screen import LiveScreen
from gateway.app import bootstrap
from gateway.commands.registry import command_specs
from gateway.configuration.config import Config
from gateway.views.reopening import reopened
from storage.sql.store import SqlStore
from tests.flow.conftest import PATIENCE, SpyModel
from tests.stand_ins.terminal import Terminal, terminal

RULES = [
    {"when": {"last": "^(1|2|3)$"}, "reply": {"text": "You said the number {last}."}},
    {"when": {"last": "apples"}, "reply": {"text": "How many apples?"}},
    {"reply": {"text": "Go on."}},
]


@dataclass
class Sitting:
    """A person at a terminal, from start to quit."""

    terminal: Terminal
    heard: int = field(default=0)

    async def says(self, line: str, answer: str) -> str:
        """All that is shown once the answer is there."""
        before = self.terminal.display.text.count(answer)
        self.terminal.type(f"{line}\r")
        async with asyncio.timeout(PATIENCE):
            while self.terminal.display.text.count(answer) <= before:
                await asyncio.sleep(0.01)
        return self.terminal.display.text


@asynccontextmanager
async def sitting(folder: Path, model: SpyModel) -> AsyncIterator[Sitting]:
    store = await SqlStore.open(f"sqlite:///{folder}/bough.db")
    with terminal(80) as shown:
        specs = command_specs()
        screen = LiveScreen(shown.input, shown.output, specs)
        adapter = TerminalAdapter(screen, specs, reopen=partial(store.read, reopened))
        app = await bootstrap(Config(), adapters=[adapter], store=store, model=model)
        task = asyncio.create_task(app.run())
        await shown.shows("you>")
        yield Sitting(shown)
        shown.type("\x15quit\r")
        async with asyncio.timeout(PATIENCE):
            await task
        assert not shown.reads_keys


async def test_a_number_answers_the_model_and_presses_no_old_button(tmp_path: Path) -> None:
    async with sitting(tmp_path, SpyModel(RULES)) as person:
        await person.says("apples", "How many apples?")
        shown = await person.says("/retry", "2/2")
        assert "[#1] ◀  [#2] 2/2  [#3] ▶" in shown
        shown = await person.says("1", "You said the number 1.")
        assert "1 was sent as a message; #1 presses the button" in shown
        assert "1/2" not in shown
        await person.says("#1", "1/2")


async def test_who_comes_back_is_told_where_they_are(tmp_path: Path) -> None:
    model = SpyModel(RULES)
    async with sitting(tmp_path, model) as person:
        assert "You go on" not in person.terminal.display.text
        await person.says("*Dear* diary", "Go on.")
        await person.says("/name My _diary_", "is called")
        await person.says("Two apples", "How many apples?")
    async with sitting(tmp_path, model) as person:
        shown = await person.terminal.shows("You go on with My _diary_ · 4 messages")
        assert "👤 Two apples" in shown
        assert "🤖 How many apples?" in shown
        for said in ("Two apples", "*Dear* diary"):
            person.terminal.type("\x1b[A")
            await person.terminal.shows(f"you> {said}")


async def test_what_was_left_unanswered_is_answered_when_the_chat_is_opened_again(
    tmp_path: Path,
) -> None:
    async with sitting(tmp_path, SpyModel(RULES)) as person:
        person.terminal.type("apples\rquit\r")
        await person.terminal.shows("How many apples?")


def test_a_gateway_for_platforms_loads_nothing_of_the_terminal() -> None:
    program = (
        "import sys, gateway.cli.main\n"
        "from gateway.app import platform_adapters\n"
        "from gateway.configuration.config import Config\n"
        "telegram = {'token': '1:x'}\n"
        "assert platform_adapters(Config.model_validate({'telegram': telegram}))\n"
        "ours = {'adapters.terminal.live_screen', 'adapters.terminal.line_editor'}\n"
        "print(sorted({'prompt_toolkit', *ours} & set(sys.modules)))"  # httpx has rich itself
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
