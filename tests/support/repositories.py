"""Repositories made by git, and looked at by our own tools."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agent.models.base import ToolCall
from agent.tools.base import Done, Setting, run_call, toolbox
from agent.tools.files.workspace import Workspace
from agent.tools.git.tools import git_kit

WHO = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-11-01T12:00:00+0100",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "2026-11-01T12:00:00+0100",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str, env: Mapping[str, str] = {}) -> str:
    """What git itself says; it must succeed."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **WHO, **env},
        check=True,
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )
    return done.stdout


class Repo:
    """One in a folder, with three commits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
        for number, text in enumerate(("one\n", "one\ntwo\n", "one\n2\n"), 1):
            self.put("a.txt", text)
            self.put(f"sub/file{number}.txt", f"{number}\n")
            git(folder, "add", "-A")
            git(folder, "commit", "-q", "-m", f"Change {number}\n\nIts words.")

    def put(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)


async def look(root: Path, name: str, **arguments: object) -> str:
    """What git_status, git_diff or git_log answers over a workspace."""
    tools = toolbox(*git_kit(lambda _: Workspace(root))(Setting(1, "terminal:1", False, None)))
    call = ToolCall("c1", name, json.dumps(arguments))
    outcome = await run_call(
        tools, call, session=1, entry=7, address="terminal:1", person="terminal:local"
    )
    assert isinstance(outcome, Done)
    return outcome.text
