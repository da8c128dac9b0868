"""The tables. Both databases get the same ones, and each its own for the search index; what differs
between them is in dialect.py.

JSON is kept as text and decoded by us, so that it comes back byte by byte: no JSON type of a
database takes part, and none is needed, because what SQL must look at has a column of its own.
"""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from storage.sql.dialect import ID, Count, Words

HEAD = "0067_unasked"
"""The newest migration. Read at start instead of Alembic, which is slow to import; a test keeps
the two equal."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _where(rows: ColumnElement[bool], name: str, *columns: Column[Any]) -> None:
    """An index of some rows alone."""
    Index(name, *columns, sqlite_where=rows, postgresql_where=rows)


sessions = Table(
    "sessions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("kind", Words, nullable=False),
    # No foreign keys to entries here: entries point at sessions, and a circle of keys cannot be
    # created in one go. Both columns are checked where they are written.
    Column("leaf", ID),
    Column("epoch", Count, nullable=False),
    Column("last_number", Count, nullable=False),
    Column("title", Words, nullable=False),
    Column("parent_session", ID, ForeignKey("sessions.id"), index=True),
    Column("parent_entry", ID),
    Column("created", Double, nullable=False),
    Column("run_role", Words),
    Column("run_number", Count),
    Column("unasked_turns", Count),
    Column("unasked_row", ID),
    Column("unasked_told", Words),
)
Index(
    "sessions_run",
    sessions.c.parent_session,
    sessions.c.run_role,
    sessions.c.run_number,
    unique=True,
)

entries = Table(
    "entries",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("parent", ID, ForeignKey("entries.id")),
    Column("number", Count, nullable=False),
    Column("depth", Count, nullable=False),
    # The first entry of the strand it continues; empty in the first one itself. See entries.Strand.
    Column("strand", ID),
    Column("kind", Words, nullable=False),
    # The kind, or a message's role: see tree.sort_of. Copied out of the body, for SQL.
    Column("sort", Words, nullable=False),
    Column("body", Text, nullable=False),
    # Of a compaction: where reading a context stops. Copied out of the body, so that SQL need not
    # read JSON. Not a foreign key: what it names may be anything.
    Column("first_kept", ID),
    Column("author", Words, nullable=False),
    Column("tokens", Count, nullable=False),
    Column("time", Double, nullable=False),
    UniqueConstraint("session", "number"),
)
Index("ix_entries_parent", entries.c.parent)
Index("ix_entries_strand", entries.c.strand, entries.c.number)
_where(entries.c.strand.is_(None), "ix_entries_first", entries.c.session)
_where(entries.c.kind == "label", "ix_entries_label", entries.c.session)
_where(entries.c.kind == "compaction", "ix_entries_compaction", entries.c.strand, entries.c.number)
_where(
    entries.c.kind == "model_change", "ix_entries_model_change", entries.c.strand, entries.c.number
)

original_ids = Table(
    "original_ids",
    metadata,
    Column("session", ID, ForeignKey("sessions.id"), primary_key=True),
    Column("original", Words, primary_key=True),
    Column("entry", ID, ForeignKey("entries.id"), nullable=False),
)

leaf_moves = Table(
    "leaf_moves",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False, index=True),
    Column("from_entry", ID, ForeignKey("entries.id")),
    Column("to_entry", ID, ForeignKey("entries.id")),
    Column("moved_by", Words, nullable=False),
    Column("why", Words, nullable=False),
    Column("time", Double, nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    Column("address", Words, primary_key=True),
    Column("platform", Words, nullable=False, index=True),
    # Empty until it is bound: a cursor may arrive first.
    Column("session", ID, ForeignKey("sessions.id"), index=True),
    Column("cursor", Words),
    # Identity of the only person in it; NULL where that is not known, "" where there are more.
    Column("private_with", Words),
)

# Conversations that are threads of a channel, where their address does not say so.
threads = Table(
    "threads",
    metadata,
    Column("address", Words, primary_key=True),
    Column("channel", Words, nullable=False),
    Column("opened", Boolean, nullable=False),
    Column("refused", Boolean, nullable=False),
)

session_members = Table(
    "session_members",
    metadata,
    # A person's identity, or a conversation's address.
    Column("member", Words, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), primary_key=True, index=True),
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", ID, primary_key=True),
    Column("key", Words, nullable=False, unique=True),
    Column("kind", Words, nullable=False),
    Column("address", Words, nullable=False),
    Column("payload", Text, nullable=False),
    Column("session", ID, ForeignKey("sessions.id")),
    Column("entry", ID, ForeignKey("entries.id")),
    Column("state", Words, nullable=False),
    Column("time", Double, nullable=False),
    # Whose it is and what they are called; "" for nobody's. Copied out of the payload, which goes
    # when the row is done, unless it is held.
    Column("person", Words, nullable=False, server_default=""),
    Column("name", Words, nullable=False, server_default=""),
    Column("held", Boolean, nullable=False, server_default=false()),
    Index(None, "state", "session"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", ID, primary_key=True),
    Column("address", Words, nullable=False),
    Column("kind", Words, nullable=False),
    Column("payload", Text, nullable=False),
    Column("entry", ID, ForeignKey("entries.id")),
    Column("edits", ID, ForeignKey("outbox.id")),
    Column("state", Words, nullable=False),
    Column("message_id", Words),
    Column("error", Words, nullable=False),
    Column("time", Double, nullable=False),
)

_where(outbox.c.state == "pending", "ix_outbox_pending", outbox.c.address, outbox.c.id)

_where(outbox.c.edits.is_not(None), "ix_outbox_edits", outbox.c.edits)

live_messages = Table(
    "live_messages",
    metadata,
    Column("outbox", ID, ForeignKey("outbox.id"), primary_key=True, autoincrement=False),
    Column("inbox", ID, ForeignKey("inbox.id"), nullable=False, index=True),
    Column("kind", Words, nullable=False),
)

files = Table(
    "files",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", Words, nullable=False),
    Column("picture", Boolean, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", Words, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("put", Double, nullable=False),
)

blob_uses = Table(
    "blob_uses",
    metadata,
    Column("digest", Words, primary_key=True),
    Column("entry", ID, ForeignKey("entries.id"), primary_key=True, autoincrement=False),
)

message_links = Table(
    "message_links",
    metadata,
    Column("address", Words, primary_key=True),
    Column("message_id", Words, primary_key=True),
    Column("entry", ID, ForeignKey("entries.id"), nullable=False),
    sqlite_with_rowid=False,
)

questions = Table(
    "questions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("kind", Words, nullable=False),
    Column("text", Words, nullable=False),
    Column("choices", Text, nullable=False),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("address", Words, nullable=False),
    Column("subject", Text, nullable=False),
    Column("expires", Double),
    Column("created", Double, nullable=False),
    Column("state", Words, nullable=False),
    Column("level", Count, nullable=False),
    Column("choice", Words),
    Column("decided_by", Words, nullable=False),
    Column("decided_name", Words, nullable=False),
    Column("decided_at", Double),
    Column("details", Words, nullable=False),
    Column("words", Words, nullable=False),
    Index(None, "state", "session"),
)

question_posts = Table(
    "question_posts",
    metadata,
    Column("id", ID, primary_key=True),
    Column("question", ID, ForeignKey("questions.id"), nullable=False, index=True),
    Column("address", Words, nullable=False, index=True),
    Column("outbox", ID, ForeignKey("outbox.id"), nullable=False, index=True),
    Column("prompt", Boolean, nullable=False),
)

buttons = Table(
    "buttons",
    metadata,
    Column("token", Words, primary_key=True),
    Column("address", Words, nullable=False),
    Column("outbox", ID, ForeignKey("outbox.id"), nullable=False, index=True),
    Column("label", Words, nullable=False),
    # What a press does, and with what: see records/buttons.py.
    Column("action", Words, nullable=False),
    Column("body", Text, nullable=False),
    Column("by_whom", Words, nullable=False),
    Column("expires", Double),
    Column("used", Words, nullable=False),
)
_where(
    buttons.c.expires.is_not(None) & (buttons.c.used == ""),
    "ix_buttons_temporary",
    buttons.c.outbox,
)

delegations = Table(
    "delegations",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False, index=True),
    Column("call_id", Words, nullable=False),
    Column("call_entry", ID, ForeignKey("entries.id"), nullable=False, index=True),
    Column("task_index", Count, nullable=False),
    Column("journal", ID, ForeignKey("sessions.id"), nullable=False),
    Column("root", ID, ForeignKey("sessions.id"), nullable=False),
    Column("top", ID, ForeignKey("delegations.id")),
    Column("background", Boolean, nullable=False),
    Column("person", Words, nullable=False),
    Column("address", Words, nullable=False),
    Column("goal", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("tier", Words, nullable=False),
    Column("model", Words, nullable=False),
    Column("input_tokens", Count, nullable=False),
    Column("output_tokens", Count, nullable=False),
    Column("calls", Count, nullable=False),
    Column("cost", Double),
    Column("result", Words, nullable=False),
    Column("created", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("cached_tokens", Count, nullable=False, server_default="0"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", ID, primary_key=True),
    Column("time", Double, nullable=False, index=True),
    Column("day", Words, nullable=False),
    Column("tier", Words, nullable=False),
    Column("model", Words, nullable=False),
    Column("input_tokens", Count, nullable=False),
    Column("output_tokens", Count, nullable=False),
    Column("calls", Count, nullable=False),
    Column("cost", Double),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("address", Words, nullable=False),
    Column("person", Words, nullable=False),
    Column("delegation", ID, ForeignKey("delegations.id")),
    Column("cached_tokens", Count, nullable=False, server_default="0"),
)
_where(ledger.c.delegation.is_not(None), "ix_ledger_delegation", ledger.c.delegation)
Index("ledger_address", ledger.c.address, ledger.c.time)

# Beside the search index (dialect.SEARCH_INDEX): its words, to find those that begin alike.
search_words = Table(
    "search_words",
    metadata,
    Column("word", Words, primary_key=True),
    sqlite_with_rowid=False,
)

people = Table(
    "people",
    metadata,
    Column("identity", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("first_seen", Double, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", ID, primary_key=True),
    Column("what", Words, nullable=False, index=True),
    Column("who", Words, nullable=False),
    Column("details", Text, nullable=False),
    Column("time", Double, nullable=False),
)

facts = Table(
    "facts",
    metadata,
    Column("name", Words, primary_key=True),
    Column("value", Text, nullable=False),
)

chat_settings = Table(
    "chat_settings",
    metadata,
    Column("address", Words, primary_key=True),
    Column("key", Words, primary_key=True),
    Column("value", Words, nullable=False),
    Column("by_whom", Words, nullable=False),
    Column("time", Double, nullable=False),
)
