"""The servers of `local_site` in a process of their own."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.cli.demo.chat_process import PATIENCE, TourFailed


class SiteProcess:
    site: str
    """URLs, without a slash at their end."""
    search: str

    def __init__(self) -> None:
        """Start it. TourFailed where it does not start."""
        command = [sys.executable, "-m", "gateway.cli.demo.local_site"]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        try:
            where = json.loads(self._process.stdout.readline())
        except ValueError:
            self._process.kill()
            self._process.wait()
            raise TourFailed("the local site did not start") from None
        self.site, self.search = where["site"], where["search"]
        self._reached: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def end(self) -> tuple[str, ...]:
        """End it; a line for each time that somebody reached what nobody is meant to reach."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        return tuple(self._reached)

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._reached += self._process.stdout


@contextmanager
def local_site() -> Iterator[SiteProcess]:
    site = SiteProcess()
    try:
        yield site
    finally:
        site.end()
