"""The folder beside a workspace in which commands keep what they fetched and built. Blocks.

It is not in the workspace, so that no file tool shows it and no fork copies it. An agent writes it,
so that nothing here follows a link below it.
"""

import glob
import os
import re
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

from agent.tools.terminal.sandbox.shown import CACHE

WHERE = Path("/var/cache/agent")
"""Where a sandbox shows it."""
MOST_FILES = 100_000
_LONGEST = 3_000
"""Bytes of a path: below one that is longer than Linux takes, files could hide from the count."""
_BELOW = {
    "XDG_CACHE_HOME": "",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
}


def cache_of(workspace: Path) -> Path:
    return workspace.with_name(f".{workspace.name}{CACHE}")


def variables(folder: Path) -> dict[str, str]:
    """What tells programs of it."""
    return {name: str(folder / below) for name, below in _BELOW.items()}


def kept(workspace: Path, user: int, group: int, most: int) -> Path | None:
    """Make the cache of a workspace where there is none, and empty it where it has grown past
    `most` bytes. `user` and `group`: whom commands run as. None where it cannot be kept there;
    then commands have none."""
    folder = cache_of(workspace)
    try:
        if folder.exists() and too_large(folder, most):
            _remove(folder)
            if folder.exists():
                return None
        folder.mkdir(mode=0o700, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None  # such as a folder above that is not ours to write, or a link in its place
    try:
        owner = os.fstat(opened).st_uid
        if owner == 0 != user:
            os.fchown(opened, user, group)
        elif owner != user:
            return None
        os.fchmod(opened, 0o700)
    except OSError:
        return None
    finally:
        os.close(opened)
    return folder


def too_large(folder: Path, most: int) -> bool:
    """Whether there are more bytes or files in it than there may be, or what cannot be counted."""
    size, count, folders = 0, 0, [str(folder)]
    while folders:
        try:
            path = folders.pop()
            opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                with os.scandir(opened) as items:
                    for item in items:
                        count += 1
                        found = item.stat(follow_symlinks=False)
                        size += found.st_blocks * 512
                        below = f"{path}/{item.name}"
                        long = len(os.fsencode(below)) > _LONGEST
                        if count > MOST_FILES or size > most or long:
                            return True
                        if stat.S_ISDIR(found.st_mode):
                            folders.append(below)
            finally:
                os.close(opened)
        except (FileNotFoundError, NotADirectoryError):
            continue  # removed meanwhile, or exchanged
        except OSError:
            return True  # closed by a command, which could hide there what it keeps
    return False


def remove_orphans(template: str) -> int:
    """Remove the caches of workspaces that are gone; how many those were. `template`: as in
    [tools] workspace."""
    path = Path(template).absolute()
    above = glob.escape(str(path.parent).lstrip("/")).replace("{session}", "*")
    name = re.escape(path.name).replace(re.escape("{session}"), "[0-9]+")
    count = 0
    for folder in Path("/").glob(above) if above else [Path("/")]:
        for cache in folder.glob(f".*{CACHE}"):
            workspace = cache.name.removeprefix(".").removesuffix(CACHE)
            if re.fullmatch(name, workspace) and not os.path.lexists(folder / workspace):
                # One that is not ours to remove keeps nothing from starting.
                with suppress(OSError):
                    _remove(cache)
                    count += 1
    return count


def _remove(folder: Path) -> None:
    """By rm, which takes trees of any depth and follows no link, not even one that is set while it
    works. chmod may be led astray so: only who has no more rights than a command needs it."""
    if folder.is_dir() and not folder.is_symlink():
        opening = [["chmod", "-R", "u+rwx"]] if os.geteuid() != 0 else []
        for program in (*opening, ["rm", "-rf", "--one-file-system"]):
            subprocess.run(  # noqa: S603 - fixed programs; the path is ours
                [*program, "--", str(folder)], check=False, stderr=subprocess.DEVNULL
            )
