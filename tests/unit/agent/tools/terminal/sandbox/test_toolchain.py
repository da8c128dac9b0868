"""What the doctor says of git and of the interpreters that workspaces have."""

import sys
import venv
from pathlib import Path

import pytest

from agent.settings import ToolsConfig
from agent.tools.terminal.sandbox.place import SYSTEM
from agent.tools.terminal.sandbox.toolchain import Hands
from tests.support.sandboxes import need_bubblewrap

BASE = Path(sys.base_prefix).resolve()


def hands(workspace: Path | str, *read_only: Path, secret: tuple[Path, ...] = ()) -> Hands:
    need_bubblewrap()
    config = {"workspace": str(workspace), "read_only": [str(path) for path in read_only]}
    return Hands(ToolsConfig.model_validate(config), secret)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """With the interpreter of these tests, which is none of the system's."""
    if any(BASE.is_relative_to(name) for name in SYSTEM):
        pytest.skip("this Python is the system's, which a sandbox shows")
    folder = tmp_path / "project"
    venv.create(folder / ".venv", symlinks=True)
    return folder


def linked(workspace: Path, to: Path) -> None:
    link = workspace / ".venv" / "bin" / "python"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(to)


async def test_an_interpreter_that_commands_do_not_see_is_told_with_what_to_write(
    workspace: Path,
) -> None:
    git, python = await hands(workspace).tried()
    assert git.ok and "git commits" in git.text
    assert not python.ok and f'put read_only = ["{BASE}"] under [tools]' in python.text
    git, python = await hands(workspace, BASE).tried()
    assert python.ok and "runs: Python 3" in python.text


async def test_each_workspace_of_its_own_is_tried(workspace: Path) -> None:
    (workspace.parent / "none").mkdir()
    _, python = await hands(workspace.parent / "{session}", BASE).tried()
    assert python.ok and str(workspace) in python.text


async def test_what_is_shown_already_is_kept_in_the_line_to_write(
    workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    _, python = await hands(workspace, other).tried()
    assert f'read_only = ["{other}", "{BASE}"]' in python.text


async def test_a_folder_that_is_a_link_is_named_as_the_link(
    workspace: Path, tmp_path: Path
) -> None:
    """As uv and pyenv make them: cpython-3.11 leads to cpython-3.11.7."""
    alias = tmp_path / "cpython-3.11"
    alias.symlink_to(BASE)
    linked(workspace, alias / "bin" / "python3")
    _, python = await hands(workspace).tried()
    assert f'put read_only = ["{alias}"] under [tools]' in python.text
    _, python = await hands(workspace, alias).tried()
    assert python.ok


async def test_no_advice_shows_keys_or_what_is_no_python(workspace: Path, tmp_path: Path) -> None:
    """Links of a workspace are an agent's to set."""
    keys = tmp_path / ".ssh" / "bin" / "python3"
    keys.parent.mkdir(parents=True)
    keys.write_text("SECRET")
    linked(workspace, keys)
    _, python = await hands(workspace).tried()
    assert not python.ok and "put read_only" not in python.text and "refused" in python.text
    linked(workspace, Path("/root/.profile"))
    _, python = await hands(workspace).tried()
    assert not python.ok and "put read_only" not in python.text


async def test_an_interpreter_in_the_workspace_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    program = folder / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    program.chmod(0o755)
    _, python = await hands(folder).tried()
    assert python.ok and "not tried" in python.text
    assert not (folder / "ran").exists()


async def test_a_link_that_leads_to_nothing_is_told(workspace: Path, tmp_path: Path) -> None:
    linked(workspace, tmp_path / "gone" / "bin" / "python3")
    _, python = await hands(workspace).tried()
    assert not python.ok and "make .venv anew" in python.text


async def test_a_path_where_nothing_is_is_told(tmp_path: Path) -> None:
    (said,) = await hands(tmp_path / "w", tmp_path / "gone").tried()
    assert not said.ok and f"read_only: there is nothing at {tmp_path / 'gone'}" in said.text
