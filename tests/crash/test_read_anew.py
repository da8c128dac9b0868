"""SIGHUP: the configuration is read anew, all that can be taken over or nothing; and what a service
manager hears of it, and of a process that hangs."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.crash.patience import SECONDS, until
from tests.crash.rules import rules
from tests.crash.scene import ANN, BEN, Scene, scene
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

MUTED = {"owners": [f"telegram:{ANN}"]}


def rewrite(running: Scene, old: str, new: str) -> None:
    path = running.gateway.config
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


async def read_anew(running: Scene, words: str) -> None:
    before = len(running.gateway.log)
    running.gateway.hang_up()
    await until(lambda: any(words in line for line in running.gateway.log[before:]))


async def test_who_is_let_in_may_talk_at_once_and_who_is_not_any_more_is_cut(
    tmp_path: Path,
) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=600))}}
    async with scene(tmp_path, slow, access=MUTED) as running:
        rewrite(running, 'access = {"owners"', f'access = {{"allow" = ["telegram:{BEN}"], "owners"')
        await read_anew(running, "Configuration read anew: access.allow")
        running.telegram.say(BEN, BEN, "hello")
        await running.telegram.typing()
        rewrite(running, f'"allow" = ["telegram:{BEN}"]', '"allow" = []')
        await read_anew(running, f"telegram:{BEN} may not talk any more")
        await until(lambda: not running.database.open_rows())
        assert not any("answer" in text for text in running.telegram.texts(BEN))


async def test_a_wrong_one_changes_nothing_and_the_log_says_why(tmp_path: Path) -> None:
    async with scene(tmp_path, limits={"turns_per_minute": 1}) as running:
        rewrite(running, '"turns_per_minute" = 1', '"turns_per_minute" = "many"')
        rewrite(running, '"owners"', '"allow" = ["telegram:*"], "owners"')
        await read_anew(running, "not taken over")
        assert any("limits.turns_per_minute" in line for line in running.gateway.log)
        running.telegram.say(BEN, BEN, "hello")
        await running.telegram.hears("I do not know you", BEN)


async def test_what_waits_for_the_next_start_is_named(tmp_path: Path) -> None:
    async with scene(tmp_path, limits={"turns_per_minute": 100}) as running:
        rewrite(running, '"turns_per_minute" = 100', '"turns_per_minute" = 1')
        rewrite(
            running,
            'storage = {"url"',
            'mcp = {}\nsession = {"max_answer_messages" = 3}\nstorage = {"url"',
        )
        await read_anew(running, "Takes effect at the next start: session.max_answer_messages")
        for text in ("one", "two"):
            running.telegram.say(ANN, ANN, text)
        await running.telegram.hears("More than 1 turn in a minute")


class Manager:
    """Hears what systemd would, all the time: what comes to a socket that is full is lost."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.heard: list[str] = []
        asyncio.get_running_loop().add_reader(listening, self.look)

    def look(self) -> list[str]:
        while True:
            try:
                self.heard += self._listening.recv(4096).decode().split("\n")
            except BlockingIOError:
                return self.heard

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listening)

    async def hears(self, line: str) -> None:
        async with asyncio.timeout(SECONDS):
            while not any(one.startswith(line) for one in self.look()):
                await asyncio.sleep(0.01)


@pytest_asyncio.fixture(loop_scope="module")
async def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Manager]:
    place = str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", place)
    monkeypatch.setenv("WATCHDOG_USEC", "400000")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(place)
        listening.setblocking(False)
        heard = Manager(listening)
        yield heard
        heard.close()


async def test_a_manager_hears_when_it_is_ready_reloads_lives_and_stops(
    tmp_path: Path, manager: Manager
) -> None:
    async with scene(tmp_path) as running:
        await manager.hears("READY=1")
        await manager.hears("STATUS=Serving telegram.")
        await manager.hears("WATCHDOG=1")
        manager.heard.clear()
        running.gateway.hang_up()
        await manager.hears("READY=1")
        heard = manager.heard
        assert heard.index("RELOADING=1") < heard.index("READY=1")
        assert any(line.startswith("MONOTONIC_USEC=") for line in heard)
        running.gateway.terminate()
        await manager.hears("STOPPING=1")
        assert await running.gateway.wait() == 0


async def test_a_process_that_is_about_to_end_is_not_called_ready_when_it_reads_anew(
    tmp_path: Path, manager: Manager
) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=600))}}
    async with scene(tmp_path, slow, server={"drain": "10m"}) as running:
        running.telegram.say(ANN, ANN, "hello")
        await running.telegram.typing()
        running.gateway.terminate()
        await manager.hears("STOPPING=1")
        manager.heard.clear()
        running.gateway.hang_up()
        await manager.hears("STATUS=Stopping: waiting for 1 turn. The configuration was read anew.")
        assert "READY=1" not in manager.heard
        assert "RELOADING=1" not in manager.heard
        running.gateway.terminate()
        assert await running.gateway.wait() == 0


async def test_a_process_that_hangs_is_not_called_alive(tmp_path: Path, manager: Manager) -> None:
    async with scene(tmp_path) as running:
        await manager.hears("WATCHDOG=1")
        running.gateway.freeze()
        await asyncio.sleep(0.5)
        manager.look()
        manager.heard.clear()
        await asyncio.sleep(1.5)  # several times as long as between two of them
        assert manager.look() == []
        running.gateway.thaw()
        await manager.hears("WATCHDOG=1")
