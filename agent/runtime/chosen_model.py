"""The model that people chose for a branch, with /model: the newest change of it on the path."""

from collections.abc import Sequence
from operator import attrgetter

from storage.records.entries import Entry, Kind
from storage.store import Store, Transaction

_kind = attrgetter("kind")


def chosen_at(tx: Transaction, leaf: int | None) -> str:
    """The name of what was chosen on the path to an entry; "" where nothing was, or the default
    was chosen again."""
    change = tx.tree.model_change(leaf)
    return _name(change) if change is not None else ""


async def chosen_on(store: Store, path: Sequence[Entry]) -> str:
    """The same by a path as its context is read. Where that is whole, the store is not asked."""
    if Kind.MODEL_CHANGE in map(_kind, path):
        return _name(next(entry for entry in reversed(path) if entry.kind is Kind.MODEL_CHANGE))
    above = path[0].parent if path else None
    if above is None:
        return ""
    return await store.read(lambda tx: chosen_at(tx, above))


def _name(change: Entry) -> str:
    model = change.body.get("model")
    return model if isinstance(model, str) else ""
