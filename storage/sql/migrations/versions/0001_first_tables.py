"""The first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column, Double, ForeignKey, Text

from storage.sql.dialect import ID, Count, Words, append_only

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_sessions()
    _create_boxes()
    _create_questions()
    _create_delegations()
    _create_ledger()
    _create_directory()
    for statement in append_only("entries", op.get_bind().dialect):
        op.execute(statement)


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        Column("id", ID, primary_key=True),
        Column("kind", Words, nullable=False),
        Column("leaf", ID),
        Column("epoch", Count, nullable=False),
        Column("last_number", Count, nullable=False),
        Column("title", Words, nullable=False),
        Column("parent_session", ID, ForeignKey("sessions.id"), index=True),
        Column("parent_entry", ID),
        Column("created", Double, nullable=False),
    )
    op.create_table(
        "entries",
        Column("id", ID, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), nullable=False),
        Column("parent", ID, ForeignKey("entries.id")),
        Column("number", Count, nullable=False),
        Column("depth", Count, nullable=False),
        Column("kind", Words, nullable=False),
        Column("body", Text, nullable=False),
        Column("first_kept", ID),
        Column("author", Words, nullable=False),
        Column("tokens", Count, nullable=False),
        Column("time", Double, nullable=False),
        sa.UniqueConstraint("session", "number"),
    )
    op.create_table(
        "leaf_moves",
        Column("id", ID, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), nullable=False, index=True),
        Column("from_entry", ID, ForeignKey("entries.id")),
        Column("to_entry", ID, ForeignKey("entries.id")),
        Column("moved_by", Words, nullable=False),
        Column("time", Double, nullable=False),
    )


def _create_boxes() -> None:
    op.create_table(
        "conversations",
        Column("address", Words, primary_key=True),
        Column("platform", Words, nullable=False, index=True),
        Column("session", ID, ForeignKey("sessions.id"), index=True),
        Column("cursor", Words),
    )
    op.create_table(
        "inbox",
        Column("id", ID, primary_key=True),
        Column("key", Words, nullable=False, unique=True),
        Column("kind", Words, nullable=False),
        Column("address", Words, nullable=False),
        Column("payload", Text, nullable=False),
        Column("session", ID, ForeignKey("sessions.id")),
        Column("entry", ID, ForeignKey("entries.id")),
        Column("state", Words, nullable=False),
        Column("time", Double, nullable=False),
    )
    op.create_index("ix_inbox_state_session", "inbox", ["state", "session"])
    op.create_table(
        "outbox",
        Column("id", ID, primary_key=True),
        Column("address", Words, nullable=False),
        Column("kind", Words, nullable=False),
        Column("payload", Text, nullable=False),
        Column("entry", ID, ForeignKey("entries.id")),
        Column("edits", ID, ForeignKey("outbox.id")),
        Column("state", Words, nullable=False, index=True),
        Column("message_id", Words),
        Column("error", Words, nullable=False),
        Column("time", Double, nullable=False),
    )
    op.create_table(
        "message_links",
        Column("address", Words, primary_key=True),
        Column("message_id", Words, primary_key=True),
        Column("entry", ID, ForeignKey("entries.id"), nullable=False),
    )


def _create_questions() -> None:
    op.create_table(
        "questions",
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
    )
    op.create_index("ix_questions_state_session", "questions", ["state", "session"])
    op.create_table(
        "question_posts",
        Column("id", ID, primary_key=True),
        Column("question", ID, ForeignKey("questions.id"), nullable=False, index=True),
        Column("address", Words, nullable=False),
        Column("outbox", ID, ForeignKey("outbox.id"), nullable=False),
    )
    op.create_table(
        "buttons",
        Column("token", Words, primary_key=True),
        Column("question", ID, ForeignKey("questions.id"), nullable=False),
        Column("choice", Words, nullable=False),
        Column("post", ID, ForeignKey("question_posts.id"), nullable=False),
        Column("address", Words, nullable=False),
    )


def _create_delegations() -> None:
    op.create_table(
        "delegations",
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
    )


def _create_ledger() -> None:
    op.create_table(
        "ledger",
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
        Column("delegation", ID, ForeignKey("delegations.id"), index=True),
    )
    op.create_index("ledger_address", "ledger", ["address", "time"])


def _create_directory() -> None:
    op.create_table(
        "people",
        Column("identity", Words, primary_key=True),
        Column("name", Words, nullable=False),
        Column("first_seen", Double, nullable=False),
    )
    op.create_table(
        "audit",
        Column("id", ID, primary_key=True),
        Column("what", Words, nullable=False, index=True),
        Column("who", Words, nullable=False),
        Column("details", Text, nullable=False),
        Column("time", Double, nullable=False),
    )
    op.create_table(
        "facts",
        Column("name", Words, primary_key=True),
        Column("value", Text, nullable=False),
    )
