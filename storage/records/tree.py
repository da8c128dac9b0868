"""The seam's part about sessions and their trees."""

from collections.abc import Collection, Sequence
from typing import Protocol

from storage.records.entries import (
    Draft,
    Entry,
    Growth,
    ImportedEntry,
    Label,
    LeafMove,
    Session,
    SessionDraft,
    SessionKind,
    Strand,
    Stretch,
    Unasked,
)


class Tree(Protocol):
    """Sessions and their entries. No entry is ever changed or removed."""

    def create(self, draft: SessionDraft) -> Session: ...

    def session(self, session: int) -> Session:
        """NotFound where there is none."""
        ...

    def children(self, session: int) -> list[Session]:
        """Sessions whose parent is this one, oldest first."""
        ...

    def claim(self, session: int) -> Session:
        """Raise the epoch by one: whoever held the session before can no longer write."""
        ...

    def hold(self, session: int, epoch: int) -> None:
        """EpochLost where the session is in another epoch; else it stays in this one until the
        transaction ends. For what a turn writes besides entries."""
        ...

    def note_unasked(self, session: int, unasked: Unasked | None) -> None:
        """Keep what there is to know of turns that began by themselves."""
        ...

    def rename(self, session: int, title: str) -> Session: ...

    def complete(self, session: int, title: str) -> Session:
        """Make a conversation of what was taken in part by part (SessionKind.IMPORT)."""
        ...

    def append(
        self,
        session: int,
        draft: Draft,
        *,
        after: int | None,
        epoch: int | None = None,
        aside: bool = False,
    ) -> Entry:
        """Add an entry below `after` and move the leaf to it.

        LeafMoved where the leaf is not `after`; EpochLost where `epoch` is given and is not the
        session's; NotFound where there is no such session. With `aside`, the leaf may be anywhere,
        and stays there.
        """
        ...

    def move_leaf(
        self, session: int, to: int | None, *, after: int | None, by: str, why: str = ""
    ) -> Session:
        """Compare-and-set: LeafMoved where the leaf is not `after`; NotFound for an entry `to`
        that is not there. The move is itself recorded."""
        ...

    def leaf_moves(self, session: int, limit: int = 100) -> list[LeafMove]:
        """The newest recorded moves, oldest first. Appends are not among them."""
        ...

    def entry(self, entry: int) -> Entry: ...

    def numbered(self, session: int, number: int) -> Entry | None:
        """What people call #number in a session; in a fork, of what it begins with too."""
        ...

    def child_entries(self, session: int, entry: int | None) -> list[Entry]:
        """A session's own entries right below an entry, oldest first; its roots for None."""
        ...

    def path_end(self, leaf: int | None, limit: int) -> tuple[Entry, ...]:
        """The last `limit` entries of the path to `leaf`, upper first. Costs what it returns."""
        ...

    def route(self, entry: int | None) -> tuple[Stretch, ...]:
        """The path to an entry as the strands it takes, upper first. Costs as much as there are
        branches on it, whatever its length."""
        ...

    def strands(self, session: int) -> list[Strand]:
        """A session's own strands, oldest first."""
        ...

    def along(
        self,
        strand: int,
        low: int,
        high: int,
        *,
        sorts: Collection[str],
        limit: int,
        newest: bool = False,
    ) -> list[Entry]:
        """Entries of a strand with numbers from `low` to `high` and one of these sorts (see
        `tree.sort_of`): the first ones, or with `newest` the last ones, upper first."""
        ...

    def labels(self, session: int) -> list[Label]:
        """The labels that hold, oldest first; in a fork, also those it began with. A name is one
        entry's, and an entry has one name: the newest wins."""
        ...

    def plant(
        self,
        session: int,
        planted: Sequence[ImportedEntry],
        leaf: int | None,
        growth: Growth | None = None,
    ) -> list[int]:
        """Add entries that come from elsewhere, a parent before its children, and move the leaf to
        the one at place `leaf`; their ids, in order. For a session that nobody knows yet. `growth`:
        what was planted before them; their places go on from there."""
        ...

    def sessions(self, kind: SessionKind) -> list[tuple[Session, int]]:
        """All sessions of a kind, newest first, each with the number of its own entries."""
        ...

    def entries(self, session: int) -> list[Entry]:
        """All of a session's own entries, oldest first. Costs its size."""
        ...

    def original(self, session: int, original: str) -> Entry | None:
        """The planted entry that was called so; in a fork, among what it begins with too."""
        ...

    def originals(self, session: int) -> dict[int, str]:
        """What a session's own entries were called, by id."""
        ...

    def path(self, leaf: int | None) -> tuple[Entry, ...]:
        """The whole path from the root to `leaf`, root first; empty for None."""
        ...

    def context_path(self, leaf: int | None) -> tuple[Entry, ...]:
        """What a context is made of: the path from the first kept entry of the newest compaction
        on it, root first; the whole path where there is no compaction. Where the kept entry is not
        on the path, from the compaction on. Costs what it returns, never the session's size."""
        ...

    def model_change(self, leaf: int | None) -> Entry | None:
        """The newest change of the model on the path to `leaf`, above compactions too; None where
        there is none. Costs as much as there are branches on the path, whatever its length."""
        ...
