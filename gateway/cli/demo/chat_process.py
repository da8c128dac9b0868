"""A `bough chat` in another process, spoken to line by line through pipes."""

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from gateway.configuration.config import LIMIT_VARIABLE
from gateway.configuration.faults import PREFIX

PATIENCE = 60.0
"""Seconds to wait for a line before a tour gives up."""


class TourFailed(Exception):
    """The gateway did not do what the tour shows. The text says what was not seen."""


def without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without keys of a configuration: a tour has its own."""
    ours = (PREFIX, LIMIT_VARIABLE)
    return {name: value for name, value in environ.items() if not name.startswith(ours)}


class Chat:
    def __init__(self, config: Path) -> None:
        """Start it on a configuration. What is said is printed as it is listened to."""
        command = [sys.executable, "-m", "gateway", "chat", "--config", str(config)]
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=without_settings(os.environ),
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def say(self, line: str) -> None:
        print(f"you>   {line}", flush=True)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise TourFailed(f"the chat ended before {line!r} could be said") from None

    def hear(self, pattern: str, what: str = "") -> re.Match[str]:
        """Print what is said until a line matches. TourFailed when nothing does in time.

        `what`: what the line shows, in words, for that.
        """
        missed = f"{what} (no line like {pattern!r})" if what else f"a line like {pattern!r}"
        end = time.monotonic() + PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TourFailed(f"not seen in {PATIENCE:g} s: {missed}") from None
            if not line:
                raise TourFailed(f"the chat ended before this was seen: {missed}")
            print(line.rstrip(), flush=True)
            if found := re.search(pattern, line):
                return found

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise TourFailed(f"the chat did not end in {PATIENCE:g} s") from None
        if status != 0:
            raise TourFailed(f"the chat ended with status {status}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")


def title(text: str) -> None:
    print(f"\n── {text}", flush=True)


def note(text: str) -> None:
    """A line of the tour's own, between what is said."""
    print(f"       ({text})", flush=True)
