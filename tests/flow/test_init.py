"""`bough init` as a process: through pipes and in a pseudo-terminal, against real servers."""

import asyncio
import os
import pty
import signal
import stat
import sys
import termios
import tomllib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.models.scripted import Rule
from gateway.configuration.config import load
from storage.records.entries import Json
from tests.flow.telegram_gateway import KEY, OWNER, TOKEN, says
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.model import ModelServer
from tests.stand_ins.telegram import TelegramServer

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
SECRET = TOKEN.partition(":")[2]
DONE = "Start the bot with: bough run"


@dataclass
class Place:
    folder: Path
    telegram: TelegramServer
    models: ModelServer

    @property
    def file(self) -> Path:
        return self.folder / "bough.toml"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if "BOUGH_" not in name}
        return kept | {
            "PYTHONPATH": str(ROOT),
            "BOUGH_TELEGRAM__BASE_URL": self.telegram.base_url,
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "PATH": str(self.folder / "bin"),
            "TERM": "dumb",
            **more,
        }

    def answers(self) -> list[str]:
        """To all questions, where there is no systemd: platform, token, owner, model, its server
        and key, worker."""
        return ["1", TOKEN, str(OWNER), "openai/parent", self.models.url, KEY, ""]

    def with_systemd(self) -> None:
        (self.folder / "bin").mkdir()
        program = self.folder / "bin" / "systemctl"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)

    async def piped(
        self, lines: Sequence[str], *arguments: str, environment: Json | None = None
    ) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", "init", *arguments),
            cwd=self.folder,
            env=environment or self.environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(PATIENCE):
            said, _ = await process.communicate("".join(f"{line}\n" for line in lines).encode())
        text = said.decode()
        assert process.returncode is not None
        assert "Traceback" not in text
        assert SECRET not in text
        assert KEY not in text
        return process.returncode, text


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    rules = [Rule.model_validate(says(tier, "OK")) for tier in ("parent", "worker")]
    async with TelegramServer(token=TOKEN) as telegram, ModelServer(rules, api_key=KEY) as models:
        yield Place(tmp_path, telegram, models)
        assert telegram.violations == []


async def test_lines_from_a_pipe_become_a_file_that_works(place: Place) -> None:
    status, text = await place.piped(place.answers())
    assert status == 0, text
    assert "signed in as @bough_bot" in text
    assert "openai/parent answers" in text
    assert text.rstrip().endswith(DONE)
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    assert tomllib.loads(place.file.read_text()) == {
        "telegram": {"token": TOKEN},
        "access": {"owners": [f"telegram:{OWNER}"]},
        "models": {
            "parent": {"model": "openai/parent", "api_base": place.models.url, "api_key": KEY}
        },
    }
    assert load(place.file, {}).telegram is not None
    assert {each.name for each in place.folder.iterdir()} == {"bough.toml", "bough.db"}
    assert {call.method for call in place.telegram.sent} == {"getMe", "getWebhookInfo"}


async def test_a_bot_on_discord_is_tried_there(place: Place) -> None:
    async with DiscordServer("discord-token-of-tests") as discord:
        environment = place.environment(BOUGH_DISCORD__API_BASE=discord.api_base)
        lines = ["discord", "wrong-token", "discord-token-of-tests", "discord:42", ""]
        status, text = await place.piped(lines, environment=environment)
        assert discord.violations == []
    assert status == 0, text
    assert "Discord refuses the bot token" in text
    assert "discord: signed in as bough" in text
    assert "discord-token-of-tests" not in text
    config = load(place.file, {})
    assert config.discord is not None
    assert config.access.owners == ("discord:42",)


async def test_a_webhook_of_the_bot_is_left_where_it_is(place: Place) -> None:
    place.telegram.methods.webhook = "https://elsewhere.example/hook"
    status, _ = await place.piped(place.answers())
    assert status == 0
    assert place.telegram.methods.webhook == "https://elsewhere.example/hook"


async def test_what_is_wrong_is_said_and_asked_again(place: Place) -> None:
    _, token, owner, model, server, key, worker = place.answers()
    lines = ["telgram", "9", "1", "", "…", f"2000:{SECRET}", token, "olga", "*", owner]
    lines += ["openai/parent", server, f"{key}-wrong", "n", model, server, key, worker]
    status, text = await place.piped(lines)
    assert status == 0, text
    for said in (
        "That is none of them. Did you mean telegram? Type a number.",
        "telegram.token: must not be empty.",
        "telegram.token: has a character that no key or token has",
        "Telegram refused the token",
        "'telegram:olga' is not a number",
        "would make everybody an owner",
        "HTTP 401",
        "openai/parent answers",
    ):
        assert said in text, said
    assert load(place.file, {}).models.parent is not None


async def test_a_file_that_is_there_is_only_replaced_if_somebody_says_so(place: Place) -> None:
    old = f'[telegram]\ntoken = "7:old"\nbase_url = "{place.telegram.base_url}"\n'
    place.file.write_text(old)
    for lines in ([], [""], ["n"], ["maybe", "no"]):
        status, text = await place.piped(lines)
        assert "is there already. Replace it?" in text
        assert place.file.read_text() == old
        assert status == (0 if lines else 2)
    environment = place.environment()
    del environment["BOUGH_TELEGRAM__BASE_URL"]
    status, text = await place.piped(["y", *place.answers()], environment=environment)
    assert status == 0, text
    config = load(place.file, {})
    assert config.telegram is not None
    assert config.telegram.token.get_secret_value() == TOKEN
    assert config.telegram.base_url == place.telegram.base_url


async def test_answers_that_end_too_soon_write_nothing(place: Place) -> None:
    for count in (0, 2, 5):
        status, text = await place.piped(place.answers()[:count])
        assert (status, place.file.exists()) == (2, False)
        assert "the answers ended before the questions did; nothing was written" in text


async def test_a_token_of_the_environment_is_used_and_not_written(place: Place) -> None:
    environment = place.environment(BOUGH_TELEGRAM__TOKEN=TOKEN)
    status, text = await place.piped(["1", str(OWNER), "demo"], environment=environment)
    assert status == 0, text
    assert "BOUGH_TELEGRAM__TOKEN" in text
    assert TOKEN not in place.file.read_text()
    assert load(place.file, {"BOUGH_TELEGRAM__TOKEN": TOKEN}).telegram is not None


async def test_a_platform_that_is_away_does_not_stop_who_is_sure(place: Place) -> None:
    environment = place.environment(BOUGH_TELEGRAM__BASE_URL="http://127.0.0.1:9/bot")
    lines = ["1", TOKEN, "n", TOKEN, "y", "", ""]
    status, text = await place.piped(lines, environment=environment)
    assert status == 0, text
    assert "nothing answers at that address" in text
    assert "Errno" not in text
    assert "whoever writes it to the bot owns it" in text


async def test_a_place_where_nothing_can_be_written_is_said_before_anything_is_asked(
    place: Place,
) -> None:
    for name, said in (("nowhere/bough.toml", "nowhere is not there"), (".", "is a folder")):
        status, text = await place.piped(place.answers(), "--config", name)
        assert status == 2
        assert said in text
        assert "Where shall the bot be?" not in text


async def test_a_unit_is_offered_where_there_is_systemd(place: Place) -> None:
    place.with_systemd()
    unit = place.folder / "config" / "systemd" / "user" / "bough.service"
    status, text = await place.piped([*place.answers(), "n"])
    assert (status, unit.exists()) == (0, False), text
    status, text = await place.piped(["y", *place.answers(), "y"])
    assert status == 0, text
    written = unit.read_text()
    assert f'"run" "--config" "{place.file}"\n' in written
    assert f"WorkingDirectory={place.folder}\n" in written
    assert "systemctl --user daemon-reload && systemctl --user enable --now bough" in text
    unit.write_text("mine")
    assert (await place.piped(["y", *place.answers(), "y", "n"]))[0] == 0
    assert unit.read_text() == "mine"


class Typist:
    """Somebody at a pseudo-terminal."""

    def __init__(self, controller: int) -> None:
        self.controller = controller
        self.shown = ""
        os.set_blocking(controller, False)

    async def sees(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while text not in self.shown:
                try:
                    self.shown += os.read(self.controller, 4096).decode()
                except (BlockingIOError, OSError):
                    await asyncio.sleep(0.02)

    async def answers(self, question: str, line: str) -> None:
        await self.sees(question)
        self.shown = self.shown.partition(question)[2]
        os.write(self.controller, f"{line}\n".encode())


async def test_who_interrupts_it_leaves_no_file_and_a_terminal_that_shows_what_is_typed(
    place: Place,
) -> None:
    controller, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway", "init"),
        cwd=place.folder,
        env=place.environment(),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    typist = Typist(controller)
    try:
        await typist.answers("Number [1]: ", "1")
        await typist.sees("type): ")
        async with asyncio.timeout(PATIENCE):
            while termios.tcgetattr(terminal)[3] & termios.ECHO:
                await asyncio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
        assert termios.tcgetattr(terminal)[3] & termios.ECHO
    finally:
        if process.returncode is None:
            process.kill()
        os.close(controller)
        os.close(terminal)
    assert list(place.folder.iterdir()) == []


async def test_in_a_dumb_terminal_no_secret_is_shown_and_nothing_is_drawn(place: Place) -> None:
    controller, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway", "init"),
        cwd=place.folder,
        env=place.environment(),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    typist = Typist(controller)
    seen = ""
    try:
        for question, line in zip(
            ("Number [1]: ", "type): ", "telegram: ", "model): ", "(URL): ", "none): ", "same): "),
            place.answers(),
            strict=True,
        ):
            await typist.sees(question)
            seen += typist.shown
            await typist.answers(question, line)
        await typist.sees(DONE)
        seen += typist.shown
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        os.close(controller)
    assert SECRET not in seen
    assert KEY not in seen
    assert str(OWNER) in seen
    assert "\x1b" not in seen
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600


async def test_without_anybody_to_ask_or_tell_it_ends_in_words(place: Place) -> None:
    for shell in ("<&-", "</dev/null >&-", "</dev/null >/dev/full"):
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", f'exec "$0" -m gateway init {shell}', sys.executable),
            cwd=place.folder,
            env=place.environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            _, said = await process.communicate()
        assert "bough: standard " in said.decode(), shell
        assert "Traceback" not in said.decode()
        assert list(place.folder.iterdir()) == []


async def test_what_is_no_ordinary_file_is_not_replaced(place: Place) -> None:
    os.mkfifo(place.file)
    status, text = await place.piped(["y", *place.answers()])
    assert status == 2
    assert "is no ordinary file" in text
    assert stat.S_ISFIFO(place.file.stat().st_mode)


async def test_the_rest_of_a_line_that_is_too_long_answers_no_other_question(place: Place) -> None:
    status, text = await place.piped(["9" * 30_000, *place.answers()])
    assert status == 0, text
    assert text.count("That is none of them.") == 1


async def test_who_replaces_a_file_is_told_what_is_lost_with_it(place: Place) -> None:
    place.file.write_text("# mine\n")
    _, text = await place.piped(["n"])
    assert "comments and what is not asked for here are lost" in text
