"""What becomes of a row of the outbox, in the transaction that records it."""

import logging
from collections.abc import Callable

from storage.records.inbox_outbox import OutboxRow, OutboxState
from storage.store import Transaction

log = logging.getLogger(__name__)

UNREACHED = "what it said did not reach this chat"
"""Why what repeats is paused."""


def is_over(tx: Transaction, row: OutboxRow) -> bool:
    return tx.outbox.get(row.id).state is not OutboxState.PENDING


def late(tx: Transaction, row: OutboxRow, work: Callable[[Transaction], None]) -> None:
    if not is_over(tx, row):
        work(tx)


def sent(tx: Transaction, row: OutboxRow, message_id: str | None) -> None:
    tx.outbox.sent(row.id, message_id)
    _drop_file(tx, row)


def put_aside(tx: Transaction, row: OutboxRow, why: str, *, unreachable: bool = False) -> None:
    log.error("a message for %s is put aside: %s", row.address, why)
    tx.outbox.failed(row.id, why)
    if row.kind == "thread":
        tx.directory.refuse_thread(row.address)
        return tx.directory.audit("thread", "", {"address": row.address, "why": why})
    tx.directory.audit("undelivered", "", {"outbox": row.id, "why": why})
    if unreachable and (count := tx.schedules.pause_fired(row.address, UNREACHED)):
        # Else a model is asked again and again, for nobody.
        tx.directory.audit("schedules paused", "", {"address": row.address, "count": count})
    _drop_file(tx, row)


def _drop_file(tx: Transaction, row: OutboxRow) -> None:
    """Nobody needs it any more, and it may be large."""
    if row.payload.get("file") is not None:
        tx.outbox.drop(row.payload["file"])
