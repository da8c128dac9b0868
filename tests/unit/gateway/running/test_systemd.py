"""What a service manager hears, over a real socket."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.running.process.systemd import ServiceManager


@pytest.fixture(params=["file", "abstract"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    name = str(tmp_path / "notify") if request.param == "file" else f"@bough-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name[1:]}" if name[0] == "@" else name)
        listening.setblocking(False)
        yield name, listening


def test_each_thing_is_one_datagram(place: tuple[str, socket.socket]) -> None:
    name, listening = place
    manager = ServiceManager.of({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000"})
    assert manager.watchdog == 30.0
    manager.ready("Serving\ntelegram.")
    manager.alive("x")
    manager.stopping("y")
    assert listening.recv(1000) == b"READY=1\nSTATUS=Serving telegram."
    assert listening.recv(1000) == b"WATCHDOG=1\nSTATUS=x"
    assert listening.recv(1000) == b"STOPPING=1\nSTATUS=y"


def test_a_reload_says_when_it_began(place: tuple[str, socket.socket]) -> None:
    name, listening = place
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    ServiceManager.of({"NOTIFY_SOCKET": name}).reloading()
    first, second, _ = listening.recv(1000).decode().split("\n")
    key, _, when = second.partition("=")
    assert (first, key) == ("RELOADING=1", "MONOTONIC_USEC")
    assert before <= int(when) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def test_without_a_manager_nothing_is_said() -> None:
    manager = ServiceManager.of({})
    assert (manager.address, manager.watchdog) == ("", 0.0)
    manager.ready("x")


def test_what_another_process_is_to_do_is_not_done() -> None:
    given = {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    assert ServiceManager.of(given).watchdog == 0.0
    ours = given | {"WATCHDOG_PID": str(os.getpid())}
    assert ServiceManager.of(ours).watchdog == 1.0


def test_a_manager_that_went_away_is_complained_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = ServiceManager(str(tmp_path / "nobody"))
    manager.status("x")
    manager.status("y")
    assert caplog.text.count("cannot be told") == 1
