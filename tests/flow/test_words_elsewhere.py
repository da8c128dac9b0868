"""Answers in words on Discord, by a form, and in a terminal, by the next line."""

import asyncio
import io
import threading
from pathlib import Path
from typing import Any

from adapters.terminal.adapter import ASK, NO_ANSWER, TerminalAdapter
from adapters.terminal.plain_screen import PlainScreen
from gateway.app import bootstrap
from gateway.configuration.config import Config
from storage.records.entries import Json
from storage.store import Store
from tests.flow.conftest import PATIENCE, SpyModel
from tests.flow.delegating import ANSWER as SHOWN
from tests.flow.delegating import ASKING, delegates, reports, results_in
from tests.flow.discord_gateway import ANN, MALLORY, OLGA, TABLE, DiscordGateway, discord_gateway
from tests.flow.discord_gateway import delegates as on_discord
from tests.flow.telegram_gateway import ANSWER, report
from tests.flow.telegram_gateway import results_in as one_result
from tests.stand_ins.discord_world import Interaction

WORDS = "Look at the mirror, please.\nIt is new."
RULES = [
    on_discord(TABLE),
    report(1, "fine", "on the mirror", when={"last": "the mirror"}),
    report(2, "match", "404"),
    ANSWER,
]


async def asks(g: DiscordGateway) -> Json:
    g.mentions("go")
    return await g.reads("May it be dead?", g.discord.general)


async def opened(g: DiscordGateway, press: Interaction) -> None:
    await g.discord.wait_for(lambda: press.form)


async def went_on(g: DiscordGateway, question: Json) -> None:
    await g.reads("result: ", g.discord.general)
    await g.settled()
    result = one_result(g.asked("parent")[-1].messages[-1]["content"])
    assert result["instructions"] == [{"name": "olga", "words": WORDS}]
    assert (result["branch"], result["resolved_by"]) == ("fine", "worker")
    assert len(g.asked("worker")) == 2
    assert len(g.asked("parent")) == 2
    shown = "✅ olga answered: Look at the mirror, please. It is new."
    assert question["content"].endswith(shown)
    assert g.discord.buttons(question) == {}


async def test_a_form_comes_up_at_once_and_its_words_are_the_answer(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        press = g.discord.press(question, "Answer in words", OLGA)
        await opened(g, press)
        assert press.form is not None
        field = press.form["components"][0]["component"]
        assert (field["style"], field["max_length"]) == (2, 4_000)
        given = g.discord.submit(press, WORDS)
        await went_on(g, question)
        assert given.answered == 6


async def test_a_form_that_is_sent_after_a_restart_is_the_answer(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        press = g.discord.press(question, "Answer in words", OLGA)
        await opened(g, press)
        await g.settled()
        await g.stop()
        await g.start()
        g.discord.submit(press, WORDS)
        await went_on(g, question)


async def test_a_form_of_somebody_who_may_not_decide_changes_nothing(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        for number, user in enumerate((MALLORY, ANN), 1):
            press = g.discord.press(question, "Answer in words", user)
            await opened(g, press)
            g.discord.submit(press, "I decide")
            assert (await g.whispered(number)).startswith("You may not decide this")
        assert g.discord.buttons(question)
        mine = g.discord.press(question, "Answer in words", OLGA)
        await opened(g, mine)
        g.discord.press(question, "Stop", OLGA)
        await g.reads("result: ", g.discord.general)
        g.discord.submit(mine, WORDS)
        assert await g.whispered(3) == "olga: Stop"
        assert len(g.asked("worker")) == 1


async def test_a_reply_on_discord_is_the_answer_too(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        g.discord.say(g.discord.general, OLGA, WORDS, reply_to=question)
        await went_on(g, question)
        g.discord.say(g.discord.general, OLGA, "Wait!", reply_to=question)
        told = await g.reads("Your reply changes nothing any more", g.discord.general)
        assert "olga answered: Look at the mirror" in told["content"]
        assert len(g.asked("parent")) == 2


class Typist(io.StringIO):
    """A person at a terminal, who types each line once something new is shown."""

    def __init__(self, script: list[tuple[str, str]], shown: io.StringIO) -> None:
        super().__init__()
        self._script = script
        self._shown = shown
        self._seen = 0
        self.left = threading.Event()

    def readline(self, _size: int | None = -1, /) -> str:  # type: ignore[override]
        if not self._script:
            self.left.wait()
            return ""
        text, line = self._script.pop(0)
        while text not in self._shown.getvalue()[self._seen :]:
            if self.left.wait(0.01):
                return ""
        self._seen = len(self._shown.getvalue())
        return line


async def test_in_a_terminal_the_line_after_the_button_is_the_answer(store: Store) -> None:
    rules: list[Any] = [
        delegates({"goal": "look", "branch_table": ASKING}),
        reports("There", "seen", "on the mirror", last="the mirror"),
        reports("Gone", "match"),
        SHOWN,
    ]
    output = io.StringIO()
    script = [
        ("", "go\n"),
        ("type a number", "#2\n"),
        (ASK, "\n"),
        (NO_ANSWER, "#2\n"),
        (ASK, "Look at the mirror\n"),
    ]
    source = Typist(script, output)
    terminal = TerminalAdapter(PlainScreen(source, output))
    config = Config.model_validate({"access": {"owners": ["terminal:local"]}})
    app = await bootstrap(config, adapters=[terminal], store=store, model=SpyModel(rules))
    running = asyncio.create_task(app.run())
    try:
        async with asyncio.timeout(PATIENCE):
            while "result: " not in output.getvalue():
                await asyncio.sleep(0.01)
    finally:
        source.left.set()
        running.cancel()
        await asyncio.wait([running])
    shown = output.getvalue()
    assert "✅ you answered: Look at the mirror" in shown
    (result,) = results_in(shown[shown.index("result: ") :].replace("\n       ", ""))
    assert result["instructions"] == [{"name": "you", "words": "Look at the mirror"}]
