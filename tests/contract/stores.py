"""What the tests of the stores share."""

from collections.abc import Sequence
from pathlib import Path

from storage.records.entries import Draft, Entry, Kind, Session, SessionDraft, SessionKind, message
from storage.store import Store, Transaction


class Clock:
    """Time that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def url_of(file: Path) -> str:
    return f"sqlite:///{file}"


def said(text: str) -> Draft:
    return Draft(Kind.MESSAGE, message("user", text))


def compaction(first_kept: int | None) -> Draft:
    body = {"summary": "what was said", "first_kept": first_kept, "tokens_before": 9}
    return Draft(Kind.COMPACTION, body)


async def new_session(store: Store, title: str = "") -> Session:
    return await store.run(lambda t: t.tree.create(SessionDraft(SessionKind.CHAT, title)))


async def append(store: Store, session: int, *drafts: Draft) -> list[Entry]:
    """Append at the leaf, wherever that is."""

    def work(t: Transaction) -> list[Entry]:
        leaf = t.tree.session(session).leaf
        entries: list[Entry] = []
        for draft in drafts:
            entries.append(t.tree.append(session, draft, after=leaf))
            leaf = entries[-1].id
        return entries

    return await store.run(work)


async def leaf_of(store: Store, session: int) -> int | None:
    return await store.read(lambda t: t.tree.session(session).leaf)


async def path_of(store: Store, session: int) -> tuple[Entry, ...]:
    return await store.read(lambda t: t.tree.path(t.tree.session(session).leaf))


def texts(entries: Sequence[Entry]) -> list[str]:
    return [entry.body.get("content", entry.kind.value) for entry in entries]
