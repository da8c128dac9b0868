"""The units of systemd: what they hold themselves to, by systemd's own judgement."""

import os
import re
from pathlib import Path

import pytest

from gateway.configuration.config import Config
from tests.support.programs import program, run

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy/systemd"
SERVICES = ("bough.service", "bough@.service")
README = (ROOT / "deploy/README.md").read_text(encoding="utf-8")


def analyze() -> str:
    return program("systemd-analyze", "systemd", in_ci=True)


def settings(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (UNITS / name).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(\w+)=(.*)", line):
            found.setdefault(match[1], []).append(match[2])
    return found


def installed(folder: Path, *, commands: bool = False) -> list[Path]:
    """Copies whose program is there, as it is where they are installed."""
    bough = folder / "bough"
    bough.write_text("#!/bin/sh\n", encoding="utf-8")
    bough.chmod(0o755)
    for name in SERVICES:
        text = (UNITS / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("/opt/bough/.venv/bin/bough", str(bough)))
    if commands:
        for name in SERVICES:
            more = folder / f"{name}.d"
            more.mkdir()
            (more / "commands.conf").write_text((UNITS / "commands.conf").read_text())
    roles = [f"bough@{role}.service" for role in ("ingress", "worker", "delivery")]
    for role in roles:
        os.link(folder / "bough@.service", folder / role)
    return [folder / name for name in ("bough.service", *roles)]


@pytest.mark.parametrize("commands", [False, True])
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path, commands: bool) -> None:
    said = run(analyze(), "verify", "--man=no", *map(str, installed(tmp_path, commands=commands)))
    assert not [line for line in said.splitlines() if "bough" in line]


def exposure(unit: Path) -> str:
    said = run(analyze(), "security", "--offline=true", "--no-pager", str(unit))
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert found is not None, said
    return found[1]


@pytest.mark.parametrize("commands", [False, True])
def test_their_exposure_is_the_one_that_the_readme_tells(tmp_path: Path, commands: bool) -> None:
    units = installed(tmp_path, commands=commands)
    (level,) = {exposure(unit) for unit in (units[0], tmp_path / "bough@worker.service")}
    what = "with `commands.conf`" if commands else "as they are"
    told = re.search(rf"\| The units {re.escape(what)} \| ([\d.]+) \|", README)
    version = re.search(r"of systemd (\d+)", README)
    assert told is not None and version is not None
    if run(analyze(), "--version").split()[1] == version[1]:
        assert level == told[1]
    else:  # Each release weighs anew, and knows more to ask for.
        assert float(level) <= float(told[1]) + 1


@pytest.mark.parametrize("name", SERVICES)
def test_a_stop_waits_longer_than_the_gateway_drains(name: str) -> None:
    server = getattr(Config(), "server", None)
    drain = getattr(server, "drain", 20.0)
    assert int(settings(name)["TimeoutStopSec"][0]) > drain


def test_the_two_units_differ_in_nothing_but_their_role() -> None:
    one, many = map(settings, SERVICES)
    own = {"Description", "After", "ExecStart", "EnvironmentFile", "WorkingDirectory"}
    own |= {"StateDirectory"}
    assert {key for key in one.keys() | many.keys() if one.get(key) != many.get(key)} == own
    assert many["ExecStart"] == [one["ExecStart"][0].replace("run", "run --role %i")]
