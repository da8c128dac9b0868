"""The rows behind live messages: each is on record before it is sent, so a kill leaves none that
nobody completes."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from adapters.base import Body
from gateway.outbound.composer import Composer
from storage.records.chats.live_messages import LiveKind, LiveMessage
from storage.records.entries import Json
from storage.records.inbox_outbox import OutboxDraft, OutboxRow
from storage.store import Transaction

CURSOR = "▍"
"""Stands at the end of what is still being written."""
BEGUN = "…"
"""In its place in what is posted: of a message whose id was lost, by a kill or with the connection,
nobody can take the cursor away. As long, so that formats fit."""
STATUS_LEFT = "✔ Done."


def post_live(
    tx: Transaction, kind: LiveKind, inbox: int, address: str, body: Body, reply_to: str = ""
) -> OutboxRow:
    """Send a message that is going to be changed, for the turn that answers an inbox row."""
    payload: Json = {
        "body": {**body, "text": body["text"].replace(CURSOR, BEGUN)},
        "buttons": [],
        "nonce": secrets.token_hex(12),
        "reply_to": reply_to,
        "handle": "",
        "file": None,
    }
    row = tx.outbox.enqueue(OutboxDraft(address, "post", payload))
    tx.live_messages.put(LiveMessage(row.id, inbox, kind))
    return row


def live_of(tx: Transaction, rows: Sequence[int], kind: LiveKind) -> list[int]:
    """The outbox rows of a turn's live messages."""
    return [each.outbox for each in tx.live_messages.of(rows) if each.kind is kind]


def in_place(
    tx: Transaction,
    parcels: Sequence[OutboxDraft],
    rows: Sequence[int],
    bodies: Callable[[], Sequence[Body]],
) -> list[OutboxDraft]:
    """The parcels of an answer: the first of them change the live messages of the turn that answers
    these inbox rows, and those stay. `bodies`: the whole text, for live messages beyond them."""
    live = live_of(tx, rows, LiveKind.ANSWER)
    tx.live_messages.end(live)
    plain = [parcel for parcel in parcels if not _has_file(parcel)]
    changes = [
        replace(parcel, kind="edit", payload={**parcel.payload, "message_id": ""}, edits=row)
        for parcel, row in zip(plain, live, strict=False)
    ]
    beyond = live[len(changes) :]
    if beyond:
        whole = bodies()
        shown = whole[len(changes) : len(live)]
        for row, body in zip(beyond, [*shown, *[{"text": "⋯"}] * len(beyond)], strict=False):
            payload = {"body": body, "message_id": "", "buttons": []}
            changes.append(OutboxDraft(parcels[0].address, "edit", payload, edits=row))
    taken = min(len(plain), len(live))
    return [*changes, *plain[taken:], *(each for each in parcels if _has_file(each))]


def _has_file(parcel: OutboxDraft) -> bool:
    return parcel.file is not None or parcel.payload.get("file") is not None


def close_left(tx: Transaction, composer: Composer) -> None:
    """End the live messages whose turn is over: it was killed, and stopped before it went on."""
    left = tx.live_messages.left()
    for message in left:
        row = tx.outbox.get(message.outbox)
        if not row.payload:
            continue  # who it was for was forgotten meanwhile
        if message.kind is LiveKind.STATUS:
            body = composer.last_body(row.address, STATUS_LEFT)
        else:
            body = row.payload["body"]
        payload = {"body": body, "message_id": "", "buttons": []}
        tx.outbox.enqueue(OutboxDraft(row.address, "edit", payload, edits=row.id))
    if left:
        tx.live_messages.end([message.outbox for message in left])
