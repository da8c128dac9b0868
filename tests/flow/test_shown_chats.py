"""The chats that the documents show, typed into the real program on a terminal."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.doctor import examine
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.terminal import Terminal, terminal
from tests.support.chat_process import PATIENCE, ROOT, chatting
from tests.support.stores import make_database

COLUMNS = 100
LEFT_OUT = "[…]"
TOKEN = "1000:test-token"


def blocks(document: str, language: str, beginning: str = "") -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for block in found if block.startswith(beginning)]


def said(document: str) -> Iterator[tuple[str, list[str]]]:
    """Each line that is typed, with what is to be seen after it, in order."""
    shown = "".join(blocks(document, "text", "you> "))
    for part in re.split(r"^you> ", shown, flags=re.MULTILINE)[1:]:
        typed, *lines = part.splitlines()
        pieces = [piece.strip() for line in lines for piece in line.split(LEFT_OUT)]
        yield typed, [piece for piece in pieces if piece]


def missing(pieces: list[str], text: str) -> str | None:
    """The first that does not stand in the text where it should."""
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return piece
        at += len(piece)
    return None


async def typed(shown: Terminal, line: str, pieces: list[str]) -> None:
    before = len(re.findall("^you> .", shown.display.text, re.MULTILINE))
    shown.type(f"{line}\r")
    lacking: str | None = line
    try:
        async with asyncio.timeout(PATIENCE):
            while lacking is not None:
                await asyncio.sleep(0.02)
                turns = re.split("^you> (?=.)", shown.display.text, flags=re.MULTILINE)
                lacking = missing([line, *pieces], "".join(turns[before + 1 :]))
    except TimeoutError:
        pytest.fail(f"after {line!r}, {lacking!r} is not shown:\n{shown.display.text}")


@pytest.mark.parametrize("document", ["adapters/README.md", "agent/README.md", "storage/README.md"])
async def test_a_chat_that_is_shown_can_be_typed(tmp_path: Path, document: str) -> None:
    if scripts := [text for text in blocks(document, "yaml") if text.startswith("rules:")]:
        (tmp_path / "mail.yaml").write_text(scripts[0], encoding="utf-8")
        (config,) = blocks(document, "toml", '[models.parent]\nmodel = "scripted:')
        (tmp_path / "bough.toml").write_text(config, encoding="utf-8")
    lines = list(said(document))
    assert lines
    with terminal(COLUMNS) as shown, chatting(shown, tmp_path):
        await shown.shows("completes a command")
        for line, pieces in lines:
            await typed(shown, line, pieces)


def test_the_chat_of_the_first_page_is_one_that_is_shown_in_full() -> None:
    (short,), (full,) = (
        blocks(document, "text", "you> ") for document in ("README.md", "adapters/README.md")
    )
    pieces = [piece.strip() for line in short.splitlines() for piece in line.split(LEFT_OUT)]
    assert missing(pieces, full) is None


def without_figures(text: str) -> str:
    return " ".join(re.sub(r"[\d.,]+", "0", text).split())


def test_the_tour_is_as_it_is_shown(tmp_path: Path) -> None:
    """Its figures change with every word of a prompt."""
    command = [sys.executable, "-m", "gateway", "demo"]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (scene,) = blocks("adapters/README.md", "text", "──")
    pieces = [without_figures(piece) for piece in re.split(r"\[…\]|\n", scene)]
    assert missing(pieces, without_figures(done.stdout)) is None


async def test_doctor_says_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (shown,) = blocks("gateway/README.md", "text", "ok    configuration")
    async with TelegramServer(token=TOKEN) as telegram:
        lines = [f"{key} = '{getattr(telegram, key)}'" for key in ("base_url", "base_file_url")]
        text = "\n".join(["[telegram]", f"token = '{TOKEN}'", *lines])
        (tmp_path / "bough.toml").write_text(text, encoding="utf-8")
        make_database(tmp_path / "bough.db")
        assert await examine(None) == 0
    assert capsys.readouterr().out == shown
