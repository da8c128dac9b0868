"""Programs that check what is in deploy/, where this machine has them."""

import os
import shutil
import subprocess

import pytest


def program(name: str, package: str, *, in_ci: bool = False) -> str:
    """Its path. Skips where it is missing, saying what gives it; `in_ci`: fails there instead."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is not None:
        return found
    missing = f"NOT CHECKED: {name} is missing: apt-get install -y {package}"
    if in_ci and os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


def run(*words: str) -> str:
    """What it said; fails with that where its status is not 0."""
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr
