"""How large a tree may grow."""

from gateway.configuration.config import SessionConfig
from storage.store import Transaction


def no_room_below(
    tx: Transaction, session: int, entry: int | None, config: SessionConfig
) -> str | None:
    """Why no new branch may begin below an entry, for people; None where one may."""
    most = config.max_children
    if len(tx.tree.child_entries(session, entry)) < most:
        return None
    there_are = "There is 1 branch" if most == 1 else f"There are {most} branches"
    return (
        f"{there_are} from here already, which is the limit "
        "(`max_children` under `[session]`). Go on with one of them, or branch elsewhere."
    )


def too_deep(depth: int, config: SessionConfig) -> str | None:
    """Why nothing may be added below an entry of this depth, for people; None where it may."""
    if depth + 1 < config.max_depth:
        return None
    entries = "1 entry" if config.max_depth == 1 else f"{config.max_depth} entries"
    return (
        f"This branch has {entries}, which is the limit (`max_depth` under "
        "`[session]`). /new begins another conversation, /branch goes back in this one."
    )
