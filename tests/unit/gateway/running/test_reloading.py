"""Signals that come while a program is loaded, and files that are still being written."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.running.process import reloading
from tests.support.gateway_process import ROOT

WHILE_IT_LOADS = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("gateway.cli", "gateway.cli.parser", "gateway.cli.main"):
            os.kill(os.getpid(), signal.SIGHUP)
sys.meta_path.insert(0, Finder())
from gateway.__main__ import main
sys.exit(main())
"""


def test_a_process_that_still_loads_its_program_does_not_die_of_it(tmp_path: Path) -> None:
    config = tmp_path / "bough.toml"
    config.write_text("[telgram]\n", encoding="utf-8")
    command = [sys.executable, "-c", WHILE_IT_LOADS, "run", "--config", str(config)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, "telgram" in ended.stderr) == (2, True)
    command[3] = "doctor"  # whose terminal has been closed ends
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode in (2, -signal.SIGHUP)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloading, "STEADY", 0.0)


async def test_a_file_is_read_once_it_is_not_written_any_more() -> None:
    contents: Iterator[bytes | None] = iter([None, b"", b"[bud", b"[budgets]", b"[budgets]", b"x"])
    await reloading.steady(lambda: next(contents))
    assert next(contents) == b"x"


async def test_a_file_that_is_written_for_ever_is_not_waited_for() -> None:
    numbers = iter(range(1_000_000))
    with pytest.raises(ConfigError, match="still being written"):
        await reloading.steady(lambda: str(next(numbers)).encode())
