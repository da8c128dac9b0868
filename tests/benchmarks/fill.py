"""Sessions of a given length, made through the store."""

from functools import partial

from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.store import Store, Transaction

AT_ONCE = 1_000
"""Entries in a transaction."""

QUESTION = "How long does the crossing take in winter, and must one book a cabin? "
ANSWER = (
    "In winter the crossing takes eleven hours. A cabin need not be booked, but most people do. "
)


async def fill(store: Store, length: int, *, compaction_at: int | None = None) -> int:
    """A new session with so many entries, questions and answers in turn; its id.

    With `compaction_at`, the entry of that number is a compaction which keeps the entry before it.
    """
    session = await store.run(lambda tx: tx.tree.create(SessionDraft(SessionKind.CHAT)).id)
    for first in range(1, length + 1, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, length + 1))
        await store.run(partial(_append, session=session, numbers=numbers, at=compaction_at))
    return session


def _append(tx: Transaction, session: int, numbers: range, at: int | None) -> None:
    leaf = tx.tree.session(session).leaf
    for number in numbers:
        leaf = tx.tree.append(session, _draft(number, leaf, number == at), after=leaf).id


def _draft(number: int, leaf: int | None, compaction: bool) -> Draft:
    if compaction:
        return Draft(
            Kind.COMPACTION, {"summary": ANSWER, "first_kept": leaf, "tokens_before": number}
        )
    if number % 2:
        return Draft(Kind.MESSAGE, message("user", f"{QUESTION}({number})"), "telegram:1001")
    text = f"{ANSWER}({number})"
    usage = {"input": 900, "output": 25, "cost": 0.001}
    body = message("assistant", text, model="scripted:rules.yaml", usage=usage)
    return Draft(Kind.MESSAGE, body, "parent", 25)
