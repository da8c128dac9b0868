"""Copies in workspaces: files of people in inbox/, what commands said in .outputs/, what MCP
servers gave in mcp/. They go with what they are copies of.

A file that an entry names goes when that entry's content goes, in the workspaces of the whole
family: a fork has copies of its own. What no entry names goes by its age. What an agent copied
elsewhere in its workspace is its own work, and stays. All of it blocks.
"""

import logging
import stat
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.tools.files.workspace import Missing, Workspace, WorkspaceError
from agent.tools.mcp.results import FOLDER as MCP
from agent.tools.terminal.sandbox.quota import Walk
from agent.tools.terminal.terminal import OUTPUTS
from storage.records.attached import INBOX

log = logging.getLogger(__name__)

SENT = f"{INBOX}/"
"""Where in a workspace stands what people send. Other paths are a claim: an entry that was imported
may name any file."""


@dataclass(frozen=True, slots=True)
class Copies:
    workspace: Callable[[int], Workspace]
    """Of a session."""

    @property
    def shared(self) -> bool:
        """Whether all sessions have one and the same workspace."""
        return self.workspace(1).root == self.workspace(2).root

    def remove(self, sessions: Collection[int], paths: Collection[str]) -> int:
        """Remove files that people sent; how many there were."""
        count = 0
        for root in self._roots(sessions):
            for path in paths:
                if not path.startswith(SENT):
                    continue
                try:
                    Workspace(root).remove(path)
                    count += 1
                except Missing:
                    continue
                except WorkspaceError as error:
                    log.warning("a copy of a file that is not kept cannot be removed: %s", error)
        return count

    def expire(
        self, sessions: Collection[int], before: Mapping[str, float], named: Collection[str]
    ) -> int:
        """Remove what came to these folders before a time (Unix seconds), but for the files that an
        entry still shows; how many there were."""
        return sum(
            _expire(root, folder, until, named)
            for root in self._roots(sessions)
            for folder, until in before.items()
        )

    def clear(self, sessions: Collection[int]) -> None:
        """Remove all copies of sessions that are forgotten wholly; nothing of a workspace that
        others have too."""
        if not self.shared:
            self.expire(sessions, {INBOX: _EVER, OUTPUTS: _EVER, MCP: _EVER}, ())

    def remove_output(self, session: int, path: str) -> None:
        """Of a command. Rows of imports do not name any, so the path is ours."""
        if path.startswith(f"{OUTPUTS}/"):
            with suppress(WorkspaceError):
                self.workspace(session).remove(path)

    def _roots(self, sessions: Collection[int]) -> list[Path]:
        """Of those that have a workspace."""
        roots = dict.fromkeys(self.workspace(session).root for session in sessions)
        return [root for root in roots if root.is_dir()]


_EVER = float("inf")


def _expire(root: Path, folder: str, before: float, named: Collection[str]) -> int:
    """By the time of the last change of a file, which no program can set."""
    workspace, walk, faults = Workspace(root), Walk(), []
    try:
        old = [
            f"{folder}/{path}"
            for path, found in walk.below(root / folder)
            if found.st_ctime < before and not stat.S_ISDIR(found.st_mode)
        ]
    except OSError as error:
        log.warning("%s cannot be looked through: %s", root / folder, error.strerror)
        return 0
    count = 0
    for path in old:
        if path in named:
            continue
        try:
            workspace.remove(path)
            count += 1
        except WorkspaceError as error:
            faults.append(error)
    if faults:
        log.warning("%d files in %s cannot be removed: %s", len(faults), root, faults[0])
    return count
