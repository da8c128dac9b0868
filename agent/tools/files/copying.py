"""Files from one workspace to another. Blocks."""

from collections.abc import Iterable

from agent.tools.files.workspace import Missing, Workspace, WorkspaceError

MOST_BYTES = 100_000_000
"""Of all that is copied at once."""


def copy_files(paths: Iterable[str], source: Workspace, target: Workspace) -> list[str]:
    """Copy these files, where they are still there; nothing else is looked at. Gives those that
    could not be copied, or that are more than MOST_BYTES with those before them."""
    left, room = [], MOST_BYTES
    for path in paths:
        try:
            if source.stat(path).state.size > room:
                left.append(path)
                continue
            data = source.read(path).data
            target.write(source.relative(path), data)
            room -= len(data)
        except Missing:
            continue
        except WorkspaceError:
            left.append(path)
    return left
