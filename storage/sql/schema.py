"""The tables. Both databases get the same ones; what differs between them is in dialect.py.

JSON is kept as text and decoded by us: no JSON type of a database takes part, and none is needed,
because what SQL must look at has a column of its own.
"""

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from storage.sql.dialect import ID

HEAD = "0011_runs"
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

sessions = Table(
    "sessions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("kind", String, nullable=False),
    # No foreign keys to entries here: entries point at sessions, and a circle of keys cannot be
    # created in one go. Both columns are checked where they are written.
    Column("leaf", ID),
    Column("epoch", Integer, nullable=False),
    Column("last_number", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("parent_session", ID, ForeignKey("sessions.id"), index=True),
    Column("parent_entry", ID),
    Column("created", Double, nullable=False),
    Column("run_role", String),
    Column("run_number", Integer),
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
    Column("number", Integer, nullable=False),
    Column("depth", Integer, nullable=False),
    # The first entry of the strand it continues; empty in the first one itself. See entries.Strand.
    Column("strand", ID),
    Column("kind", String, nullable=False),
    # The kind, or a message's role: see tree.sort_of. Copied out of the body, for SQL.
    Column("sort", String, nullable=False),
    Column("body", Text, nullable=False),
    # Of a compaction: where reading a context stops. Copied out of the body, so that SQL need not
    # read JSON. Not a foreign key: what it names may be anything.
    Column("first_kept", ID),
    Column("author", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("time", Double, nullable=False),
    UniqueConstraint("session", "number"),
)
Index("ix_entries_parent", entries.c.parent)
Index("ix_entries_strand", entries.c.strand, entries.c.number)
Index(
    "ix_entries_first",
    entries.c.session,
    sqlite_where=entries.c.strand.is_(None),
    postgresql_where=entries.c.strand.is_(None),
)
Index(
    "ix_entries_label",
    entries.c.session,
    sqlite_where=entries.c.kind == "label",
    postgresql_where=entries.c.kind == "label",
)

original_ids = Table(
    "original_ids",
    metadata,
    Column("session", ID, ForeignKey("sessions.id"), primary_key=True),
    Column("original", String, primary_key=True),
    Column("entry", ID, ForeignKey("entries.id"), nullable=False),
)

leaf_moves = Table(
    "leaf_moves",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False, index=True),
    Column("from_entry", ID, ForeignKey("entries.id")),
    Column("to_entry", ID, ForeignKey("entries.id")),
    Column("moved_by", Text, nullable=False),
    Column("why", String, nullable=False),
    Column("time", Double, nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    Column("address", String, primary_key=True),
    Column("platform", String, nullable=False, index=True),
    # Empty until it is bound: a cursor may arrive first.
    Column("session", ID, ForeignKey("sessions.id"), index=True),
    Column("cursor", Text),
)

session_members = Table(
    "session_members",
    metadata,
    # A person's identity, or a conversation's address.
    Column("member", String, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), primary_key=True, index=True),
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", ID, primary_key=True),
    Column("key", String, nullable=False, unique=True),
    Column("kind", String, nullable=False),
    Column("address", String, nullable=False),
    Column("payload", Text, nullable=False),
    Column("session", ID, ForeignKey("sessions.id")),
    Column("entry", ID, ForeignKey("entries.id")),
    Column("state", String, nullable=False),
    Column("time", Double, nullable=False),
    Index(None, "state", "session"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", ID, primary_key=True),
    Column("address", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("payload", Text, nullable=False),
    Column("entry", ID, ForeignKey("entries.id")),
    Column("edits", ID, ForeignKey("outbox.id")),
    Column("state", String, nullable=False, index=True),
    Column("message_id", String),
    Column("error", Text, nullable=False),
    Column("time", Double, nullable=False),
)

files = Table(
    "files",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("picture", Boolean, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

menu_buttons = Table(
    "menu_buttons",
    metadata,
    Column("token", String, primary_key=True),
    Column("address", String, nullable=False),
    Column("outbox", ID, ForeignKey("outbox.id"), nullable=False, index=True),
    Column("label", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("by_whom", String, nullable=False),
    Column("subject", Text, nullable=False),
    Column("used", Text, nullable=False),
)

message_links = Table(
    "message_links",
    metadata,
    Column("address", String, primary_key=True),
    Column("message_id", String, primary_key=True),
    Column("entry", ID, ForeignKey("entries.id"), nullable=False),
)

questions = Table(
    "questions",
    metadata,
    Column("id", ID, primary_key=True),
    Column("kind", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("choices", Text, nullable=False),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("address", String, nullable=False),
    Column("subject", Text, nullable=False),
    Column("expires", Double),
    Column("created", Double, nullable=False),
    Column("state", String, nullable=False),
    Column("level", Integer, nullable=False),
    Column("choice", String),
    Column("decided_by", Text, nullable=False),
    Column("decided_name", Text, nullable=False),
    Column("decided_at", Double),
    Index(None, "state", "session"),
)

question_posts = Table(
    "question_posts",
    metadata,
    Column("id", ID, primary_key=True),
    Column("question", ID, ForeignKey("questions.id"), nullable=False, index=True),
    Column("address", String, nullable=False),
    Column("outbox", ID, ForeignKey("outbox.id"), nullable=False),
)

buttons = Table(
    "buttons",
    metadata,
    Column("token", String, primary_key=True),
    Column("question", ID, ForeignKey("questions.id"), nullable=False),
    Column("choice", String, nullable=False),
    Column("post", ID, ForeignKey("question_posts.id"), nullable=False),
    Column("address", String, nullable=False),
)

delegations = Table(
    "delegations",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False, index=True),
    Column("call_id", String, nullable=False),
    Column("call_entry", ID, ForeignKey("entries.id"), nullable=False, index=True),
    Column("task_index", Integer, nullable=False),
    Column("journal", ID, ForeignKey("sessions.id"), nullable=False),
    Column("root", ID, ForeignKey("sessions.id"), nullable=False),
    Column("top", ID, ForeignKey("delegations.id")),
    Column("background", Boolean, nullable=False),
    Column("person", String, nullable=False),
    Column("address", String, nullable=False),
    Column("goal", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("tier", String, nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("cost", Double),
    Column("result", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("updated", Double, nullable=False),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", ID, primary_key=True),
    Column("time", Double, nullable=False, index=True),
    Column("day", String, nullable=False),
    Column("tier", String, nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("cost", Double),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("address", String, nullable=False),
    Column("person", String, nullable=False),
    Column("delegation", ID, ForeignKey("delegations.id"), index=True),
)
Index("ledger_address", ledger.c.address, ledger.c.time)

# Beside the search index (dialect.SEARCH_INDEX): its words, to find those that begin alike.
search_words = Table(
    "search_words",
    metadata,
    Column("word", String, primary_key=True),
    sqlite_with_rowid=False,
)

people = Table(
    "people",
    metadata,
    Column("identity", String, primary_key=True),
    Column("name", Text, nullable=False),
    Column("first_seen", Double, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", ID, primary_key=True),
    Column("what", String, nullable=False, index=True),
    Column("who", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("time", Double, nullable=False),
)

facts = Table(
    "facts",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)
