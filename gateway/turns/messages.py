"""What came in, as entries of a session."""

from collections.abc import Callable
from dataclasses import replace

from adapters.cleaning import display_name
from storage.records.attached import HEARD, KEY, attached, digests, line
from storage.records.entries import Draft, Entry, Json, Kind, message
from storage.records.inbox_outbox import Event, InboxKind, InboxRow
from storage.records.speakers import happened, spoken
from storage.store import Transaction
from storage.traces import without_trace

WORDLESS = "[a message without words]"
"""Only the bot's name was said. Providers refuse a conversation with an empty message in it."""


_AS_FILES = {"image": "photo", "file": "document"}
"""Discord's names of what came with a message → kinds of files."""


def author_of(row: InboxRow) -> str:
    """Identity of who sent it; "" for what nobody sent."""
    if row.kind is InboxKind.EVENT:
        return Event(**without_trace(row.payload)).person
    user = row.payload.get("user")
    return f"{user['platform']}:{user['id']}" if user else ""


def speaker_in(row: InboxRow) -> str:
    """Identity of whose words it has answered: of /retry and /fan, who wrote the message."""
    again = row.kind in (InboxKind.RETRY, InboxKind.FAN)
    return str((again and row.payload.get("of")) or author_of(row))


Received = Callable[[Transaction, str, str], Json]
"""What an entry says of when it was appended: of an address and who wrote it (identity)."""


def message_draft(row: InboxRow, late: str = "", received: Json | None = None) -> Draft:
    """A person's message as the model reads it, in a group with who speaks; or an event. `late`:
    a note on when it was said. `received`: what it says of when it was appended."""
    draft = _draft(row, late)
    return replace(draft, body=draft.body | received) if received else draft


def _draft(row: InboxRow, late: str) -> Draft:
    payload = row.payload
    if row.kind is InboxKind.EVENT:
        event = Event(**without_trace(payload))
        body = {"role": "user", **happened(event.title, event.text)}
        return Draft(Kind.MESSAGE, body, author=event.person)
    given = []
    if payload["quoted"]:
        given.append(_quotation(payload))
    if unread := _unread(payload):
        given.append(f"[attached, but not readable here: {', '.join(unread)}]")
    typed = payload["text"] if payload["text"].strip() else ""
    files = {KEY: payload["attached"]} if payload.get("attached") else {}
    if heard := [file for file in attached(files) if file.kind in HEARD and file.text]:
        typed = "\n\n".join([*(f"{line(file)} {file.text}" for file in heard), typed]).strip()
    if not (given or typed or files):
        given.append(WORDLESS)
    if late:
        given.insert(0, late)
    ours = "\n\n".join([*given, ""] if typed else given)
    who = author_of(row)
    if payload["private"]:
        return Draft(Kind.MESSAGE, message("user", ours + typed, **files), author=who)
    name = display_name(payload["user"]["name"], who)
    body = {"role": "user", **spoken(who, name, ours, typed), **files}
    return Draft(Kind.MESSAGE, body, author=who)


def _unread(payload: Json) -> list[str]:
    """Kinds of what came with a message and is no file that is fetched."""
    fetched = {one.get("kind", "document") for one in payload.get("files") or ()}
    return [kind for kind in payload["attachments"] if _AS_FILES.get(kind, kind) not in fetched]


def _quotation(payload: Json) -> str:
    """What the message replies to, with who said it where that is known."""
    lines = [f"> {line}" for line in payload["quoted"].splitlines()]
    who = payload.get("quoted_from", "")
    return "\n".join([f"In reply to {display_name(who, who)}:", *lines] if who else lines)


def link_message(tx: Transaction, entry: Entry, row: InboxRow) -> None:
    """Say which entry a row, and the platform's message, became; who wrote it takes part now."""
    tx.inbox.link(row.id, entry.id)
    tx.blobs.use(entry.id, digests(entry.body))
    if row.kind is InboxKind.EVENT:
        return
    if author := author_of(row):
        tx.directory.join(entry.session, author)
    if row.payload["message_id"]:
        tx.outbox.link_message(row.address, row.payload["message_id"], entry.id)


def note_privacy(tx: Transaction, row: InboxRow) -> None:
    """Say whose private conversation a message, or what a session begins with instead of one, came
    from, where that is not known yet."""
    if row.kind not in (InboxKind.MESSAGE, InboxKind.MODEL):
        return
    who = author_of(row) if row.payload["private"] else ""
    if tx.directory.private_with(row.address) != who:
        tx.directory.set_private(row.address, who)


def append_message(
    tx: Transaction, row: InboxRow, session: int, after: int | None, late: str, received: Json
) -> Entry:
    entry = tx.tree.append(session, message_draft(row, late, received), after=after)
    link_message(tx, entry, row)
    return entry
