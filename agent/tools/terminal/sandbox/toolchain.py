"""Tries what commands have to work with: git, and the interpreter of a workspace's .venv.

Nothing of a workspace is run or changed: its interpreter is followed to where it is, outside, and
that is started in a sandbox with a folder of its own.
"""

import asyncio
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ToolError
from agent.settings import ToolsConfig
from agent.tools.files.workspace import WorkspaceError
from agent.tools.terminal.sandbox.bubblewrap import environment
from agent.tools.terminal.sandbox.launcher import Bubblewrap, look
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.place import SYSTEM, Place, prepare, workspaces
from agent.tools.terminal.sandbox.probe import Probed
from agent.tools.terminal.sandbox.process import Order, Running
from agent.tools.terminal.sandbox.shown import Shown, shown

INTERPRETER = ".venv/bin/python"
_MOST_WORKSPACES = 10
_MOST_LINKS = 20
_SECONDS = 30.0
_PYTHON = re.compile(r"python[0-9.]*")
_GIT = """\
command -v git >/dev/null || exit 0
git init -q . && git commit -q --allow-empty -m probe && echo commits
"""
_RUN = """"$1" -I -S -c 'import sys; print("runs", sys.version.split()[0])'"""


@dataclass(frozen=True, slots=True)
class Hands:
    """What commands are given besides the workspace. `secret`: see place.prepare."""

    config: ToolsConfig
    secret: tuple[Path, ...]

    async def tried(self) -> list[Probed]:
        """Git, and the interpreter of each workspace that has one."""
        said = await self._said(_GIT, ())
        if isinstance(said, Probed):
            return [said]
        git = "git commits, as Bough agent where nobody else is named"
        text = git if "commits" in said else f"git is not there, or cannot commit: {said.strip()}"
        found = await asyncio.to_thread(_with_interpreter, self.config.workspace)
        return [Probed(True, text), *[await self._interpreter(folder) for folder in found]]

    async def _interpreter(self, folder: Path) -> Probed:
        link = folder / INTERPRETER
        steps = await asyncio.to_thread(_steps, link)
        outside = [step for step in steps if not step.is_relative_to(folder)]
        if not outside:
            return Probed(True, f"{link} is in the workspace itself, and not tried")
        if not await asyncio.to_thread(link.exists):
            return Probed(
                False, f"{link} leads to {outside[-1]}, where nothing is: make .venv anew"
            )
        said = await self._said(_RUN, (str(outside[0]),))
        if isinstance(said, Probed):
            return said
        if found := re.search(r"^runs (\S+)$", said, re.MULTILINE):
            return Probed(True, f"{link} runs: Python {found[1]}")
        advice = await asyncio.to_thread(self._advice, outside[0])
        return Probed(False, f"{link} cannot run in the sandbox: {advice or said.strip()[:300]}")

    def _advice(self, step: Path) -> str:
        """What to show so that a path outside of the workspace runs; "" where that is no matter of
        showing. A workspace's links are an agent's to set: nothing is named that looks like no
        Python, or that would be refused."""
        real = step.resolve()
        now = [each.real for each in self._shown(self.config.read_only)]
        if any(real.is_relative_to(folder) for folder in (*now, *map(Path, SYSTEM))):
            return ""
        both = (step, real)
        if not all(_PYTHON.fullmatch(each.name) and each.parent.name == "bin" for each in both):
            return f"it leads to {real}, which commands do not see"
        named = dict.fromkeys(str(each.parent.parent) for each in both)
        if (step.parent.parent).resolve() == real.parent.parent:
            named = dict.fromkeys([str(step.parent.parent)])
        try:
            self._shown(tuple(named))
        except WorkspaceError as error:
            return f"it leads to {real}, which commands do not see, and that is refused ({error})"
        listed = ", ".join(f'"{name}"' for name in (*self.config.read_only, *named))
        return f"put read_only = [{listed}] under [tools]"

    def _shown(self, paths: Sequence[str]) -> list[Shown]:
        in_workspace = workspaces(self.config.workspace)
        return list(shown(map(Path, paths), self.secret, in_workspace))

    async def _said(self, line: str, arguments: tuple[str, ...]) -> str | Probed:
        """What a command said in a folder of its own; else why it could not be run."""
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="bough-probe-"))
        try:
            await asyncio.to_thread(folder.chmod, 0o711)
            place = await asyncio.to_thread(self._place, folder / "workspace")
            base = environment(place, self.config.environment, confined=True)
            return await _ran(
                place, base, Order(line, arguments, place.root, {}, _SECONDS, place.root)
            )
        except (ToolError, WorkspaceError) as error:
            return Probed(False, str(error))
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _place(self, folder: Path) -> Place:
        read_only = tuple(map(Path, self.config.read_only))
        return prepare(folder, (), self.secret, read_only, self.config.workspace)


async def _ran(place: Place, base: Mapping[str, str], order: Order) -> str:
    system = await asyncio.to_thread(look)
    running = Running(order, Limits(), Output(Limits().kept))
    await running.run(Bubblewrap(system, place, Limits(), network=False, base=base))
    return running.output.whole().decode(errors="replace")


def _with_interpreter(template: str) -> list[Path]:
    """Workspaces that have one, the newest first."""
    path = Path(template).absolute()
    pattern = glob.escape(str(path).lstrip("/")).replace("{session}", "*")
    found = [each for each in Path("/").glob(pattern) if _has(each)]
    return sorted(found, key=lambda each: -each.stat().st_mtime)[:_MOST_WORKSPACES]


def _has(folder: Path) -> bool:
    return not folder.name.startswith(".") and os.path.lexists(folder / INTERPRETER)


def _steps(link: Path) -> list[Path]:
    """Where a link leads, one link after the other."""
    found: list[Path] = []
    while link.is_symlink() and len(found) < _MOST_LINKS:
        link = Path(os.path.normpath(link.parent / link.readlink()))
        found.append(link)
    return found
