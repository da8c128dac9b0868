"""`bough demo --hands`: tools on real projects, pages, servers and commands, in real processes."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.test_shown_chats import blocks, missing, without_figures
from tests.support.chat_process import ROOT

LONGEST = 300.0
"""Seconds, on a machine that is busy with other tests."""
DOCUMENT = "gateway/README.md"


def played(folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", "demo", "--hands"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": path, "BOUGH_TOOLS__SANDBOX": "nonsense"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST
    )


@pytest.fixture
def without_bubblewrap() -> Iterator[str]:
    """A PATH like ours, but for that. Everybody may look into it, as commands are somebody else."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for place in reversed(os.environ["PATH"].split(os.pathsep)):
            for program in Path(place).iterdir() if Path(place).is_dir() else ():
                link = folder / program.name
                if program.name != "bwrap":
                    link.unlink(missing_ok=True)
                    link.symlink_to(program)
        yield name


def test_the_tour_of_the_tools_is_as_it_is_shown(tmp_path: Path) -> None:
    done = played(tmp_path, os.environ["PATH"])
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}"
    scenes = blocks(DOCUMENT, "text", "──")
    assert scenes
    for scene in scenes:
        pieces = [without_figures(piece) for piece in re.split(r"\[…\]|\n", scene)]
        assert missing(pieces, without_figures(done.stdout)) is None
    assert list(tmp_path.iterdir()) == []


def test_without_bubblewrap_the_tour_says_so_and_goes_on(
    tmp_path: Path, without_bubblewrap: str
) -> None:
    done = played(tmp_path, without_bubblewrap)
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}"
    assert 'commands run unconfined in this tour, sandbox = "none"' in done.stdout
