"""What came in, as entries of a session."""

from storage.boxes import InboxRow
from storage.entries import Draft, Entry, Kind, message
from storage.store import Transaction

WORDLESS = "[a message without words]"
"""Only the bot's name was said. Providers refuse a conversation with an empty message in it."""


def author_of(row: InboxRow) -> str:
    """Identity of who sent it; "" for what nobody sent."""
    user = row.payload.get("user")
    return f"{user['platform']}:{user['id']}" if user else ""


def message_draft(row: InboxRow) -> Draft:
    """A person's message as the model reads it. In a group it says who speaks."""
    payload = row.payload
    parts = []
    if payload["quoted"]:
        parts.append("\n".join(f"> {line}" for line in payload["quoted"].splitlines()))
    if payload["attachments"]:
        kinds = ", ".join(payload["attachments"])
        parts.append(f"[attached, but not readable here: {kinds}]")
    if payload["text"].strip():
        parts.append(payload["text"])
    text = "\n\n".join(parts) or WORDLESS
    if not payload["private"]:
        name = " ".join(payload["user"]["name"].split())
        text = f"{name}: {text}"
    return Draft(Kind.MESSAGE, message("user", text), author=author_of(row))


def link_message(tx: Transaction, entry: Entry, row: InboxRow) -> None:
    """Say which entry a row, and the platform's message, became; who wrote it takes part now."""
    tx.inbox.link(row.id, entry.id)
    if author := author_of(row):
        tx.directory.join(entry.session, author)
    if row.payload["message_id"]:
        tx.outbox.link_message(row.address, row.payload["message_id"], entry.id)


def append_message(tx: Transaction, row: InboxRow, session: int, after: int | None) -> Entry:
    entry = tx.tree.append(session, message_draft(row), after=after)
    link_message(tx, entry, row)
    return entry
