"""A `bough chat` in a process of its own, on a terminal."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stand_ins.terminal import Terminal

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
"""Seconds."""


@contextmanager
def chatting(shown: Terminal, folder: Path) -> Iterator[None]:
    """Started in a folder, with nothing of the environment of whoever runs this."""
    command = [sys.executable, "-m", "gateway", "chat"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, stdin=shown.input, stdout=shown.output, cwd=folder, env=environment
    )
    try:
        yield
        shown.type("\x15quit\r")
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
