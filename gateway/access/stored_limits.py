"""Allowances that hold over processes and restarts: what is used up of them is a fact of the store.

What comes here has passed the limits in memory before (`strangers`), so it is little; and whoever
has the whole allowance again is forgotten, so the fact stays small however many there are.
"""

from hashlib import sha256

from gateway.access.strangers import Allowance
from storage.records.entries import Json
from storage.store import Transaction

FACT = "allowance:{}"
ANSWERED = "answered:{}"
"""The fact that says which events were answered last."""
MOST_ANSWERED = 200
"""Events that are remembered: as many as get an answer within an hour, where it is the most."""


def admits(tx: Transaction, name: str, allowance: Allowance, who: str) -> bool:
    """Whether there is one left for them; it is used up then."""
    fact = FACT.format(name)
    kept: Json = tx.directory.fact(fact) or {"total": None, "each": {}}
    total = _left(kept["total"], allowance.total, tx.now)
    each = {one: _left(used, allowance.each, tx.now) for one, used in kept["each"].items()}
    own = each.get(who, allowance.each[0])
    admitted = min(total, own) >= 1
    if admitted:
        total, each[who] = total - 1, own - 1
    if admitted or _is_ahead(kept, tx.now):
        used = {one: [left, tx.now] for one, left in each.items() if left < allowance.each[0]}
        tx.directory.set_fact(fact, {"total": [total, tx.now], "each": used})
    return admitted


def renew(tx: Transaction, name: str) -> None:
    """Everybody has the whole of an allowance again."""
    tx.directory.set_fact(FACT.format(name), None)


def was_answered(tx: Transaction, name: str, key: str) -> bool:
    """Whether an event that leaves no row of its own was answered before: its platform may bring
    it again, to another process or after a restart."""
    return _short(key) in (tx.directory.fact(ANSWERED.format(name)) or [])


def answered(tx: Transaction, name: str, key: str) -> None:
    """It is now. Of many, those that were answered first are forgotten."""
    fact = ANSWERED.format(name)
    before: list[str] = tx.directory.fact(fact) or []
    tx.directory.set_fact(fact, [*before[1 - MOST_ANSWERED :], _short(key)])


def _short(key: str) -> str:
    """Of an event's key, which names a chat, and so maybe a person."""
    return sha256(key.encode()).hexdigest()[:16]


def _is_ahead(kept: Json, now: float) -> bool:
    """Whether the clock was set back since."""
    return any(at > now for _, at in filter(None, [kept["total"], *kept["each"].values()]))


def _left(used: tuple[float, float] | None, of: tuple[float, float], now: float) -> float:
    """Of a bucket with a size, that gets one more each so many seconds. Where the clock was set
    back nothing was added."""
    size, seconds = of
    if used is None:
        return size
    left, at = used
    return min(size, left + max(now - at, 0.0) / seconds)
