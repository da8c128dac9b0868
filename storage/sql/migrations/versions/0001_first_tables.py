"""The first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Boolean, Column, Double, ForeignKey, Integer, String, Text

from storage.sql.dialect import ID, append_only

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
    for statement in append_only("entries"):
        op.execute(statement)


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        Column("id", ID, primary_key=True),
        Column("kind", String, nullable=False),
        Column("leaf", ID),
        Column("epoch", Integer, nullable=False),
        Column("last_number", Integer, nullable=False),
        Column("title", Text, nullable=False),
        Column("parent_session", ID, ForeignKey("sessions.id"), index=True),
        Column("parent_entry", ID),
        Column("created", Double, nullable=False),
    )
    op.create_table(
        "entries",
        Column("id", ID, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), nullable=False),
        Column("parent", ID, ForeignKey("entries.id")),
        Column("number", Integer, nullable=False),
        Column("depth", Integer, nullable=False),
        Column("kind", String, nullable=False),
        Column("body", Text, nullable=False),
        Column("first_kept", ID),
        Column("author", Text, nullable=False),
        Column("tokens", Integer, nullable=False),
        Column("time", Double, nullable=False),
        sa.UniqueConstraint("session", "number"),
    )
    op.create_table(
        "leaf_moves",
        Column("id", ID, primary_key=True),
        Column("session", ID, ForeignKey("sessions.id"), nullable=False, index=True),
        Column("from_entry", ID, ForeignKey("entries.id")),
        Column("to_entry", ID, ForeignKey("entries.id")),
        Column("moved_by", Text, nullable=False),
        Column("time", Double, nullable=False),
    )


def _create_boxes() -> None:
    op.create_table(
        "conversations",
        Column("address", String, primary_key=True),
        Column("platform", String, nullable=False, index=True),
        Column("session", ID, ForeignKey("sessions.id"), index=True),
        Column("cursor", Text),
    )
    op.create_table(
        "inbox",
        Column("id", ID, primary_key=True),
        Column("key", String, nullable=False, unique=True),
        Column("kind", String, nullable=False),
        Column("address", String, nullable=False),
        Column("payload", Text, nullable=False),
        Column("session", ID, ForeignKey("sessions.id")),
        Column("entry", ID, ForeignKey("entries.id")),
        Column("state", String, nullable=False),
        Column("time", Double, nullable=False),
    )
    op.create_index("ix_inbox_state_session", "inbox", ["state", "session"])
    op.create_table(
        "outbox",
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
    op.create_table(
        "message_links",
        Column("address", String, primary_key=True),
        Column("message_id", String, primary_key=True),
        Column("entry", ID, ForeignKey("entries.id"), nullable=False),
    )


def _create_questions() -> None:
    op.create_table(
        "questions",
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
    )
    op.create_index("ix_questions_state_session", "questions", ["state", "session"])
    op.create_table(
        "question_posts",
        Column("id", ID, primary_key=True),
        Column("question", ID, ForeignKey("questions.id"), nullable=False, index=True),
        Column("address", String, nullable=False),
        Column("outbox", ID, ForeignKey("outbox.id"), nullable=False),
    )
    op.create_table(
        "buttons",
        Column("token", String, primary_key=True),
        Column("question", ID, ForeignKey("questions.id"), nullable=False),
        Column("choice", String, nullable=False),
        Column("post", ID, ForeignKey("question_posts.id"), nullable=False),
        Column("address", String, nullable=False),
    )


def _create_delegations() -> None:
    op.create_table(
        "delegations",
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


def _create_ledger() -> None:
    op.create_table(
        "ledger",
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
    op.create_index("ledger_address", "ledger", ["address", "time"])


def _create_directory() -> None:
    op.create_table(
        "people",
        Column("identity", String, primary_key=True),
        Column("name", Text, nullable=False),
        Column("first_seen", Double, nullable=False),
    )
    op.create_table(
        "audit",
        Column("id", ID, primary_key=True),
        Column("what", String, nullable=False, index=True),
        Column("who", Text, nullable=False),
        Column("details", Text, nullable=False),
        Column("time", Double, nullable=False),
    )
    op.create_table(
        "facts",
        Column("name", String, primary_key=True),
        Column("value", Text, nullable=False),
    )
