"""The tables of what tools keep. The others, and what holds for all tables, are in schema.py."""

from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Table, Text, false

from storage.sql.dialect import ID, Count, Words
from storage.sql.schema import metadata

notes = Table(
    "notes",
    metadata,
    Column("id", ID, primary_key=True),
    Column("scope", Words, nullable=False),
    # A person's identity, or a conversation's address, as the scope says.
    Column("owner", Words, nullable=False),
    Column("text", Words, nullable=False),
    Column("by_whom", Words, nullable=False),
    Column("address", Words, nullable=False),
    Column("time", Double, nullable=False),
    Index(None, "scope", "owner"),
    # A button for a note that is gone must not be about another one.
    sqlite_autoincrement=True,
)

schedules = Table(
    "schedules",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("address", Words, nullable=False, index=True),
    Column("person", Words, nullable=False),
    Column("text", Words, nullable=False),
    Column("rule", Words, nullable=False),
    Column("zone", Words, nullable=False),
    Column("next", Double, nullable=False),
    Column("state", Words, nullable=False),
    Column("created", Double, nullable=False),
    Column("fired", Double),
    Column("reason", Words, nullable=False),
    Column("unasked", Boolean, nullable=False, server_default=false()),
)
for _name, _column in (("due", schedules.c.next), ("active", schedules.c.person)):
    Index(
        f"ix_schedules_{_name}",
        _column,
        sqlite_where=schedules.c.state == "active",
        postgresql_where=schedules.c.state == "active",
    )

zones = Table(
    "zones",
    metadata,
    Column("person", Words, primary_key=True),
    Column("zone", Words, nullable=False),
)

grants = Table(
    "grants",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("address", Words, nullable=False),
    Column("tool", Words, nullable=False),
    Column("hash", Words, nullable=False),
    Column("shown", Words, nullable=False),
    Column("granted_by", Words, nullable=False),
    Column("granted_name", Words, nullable=False),
    Column("time", Double, nullable=False),
    Column("until", Double),
    Column("runs", Words, nullable=False, server_default=""),
    Column("files", Text, nullable=False, server_default='{"*": "any"}'),
    Column("used", Count, nullable=False, server_default="0"),
)
Index(
    "grants_call",
    grants.c.session,
    grants.c.address,
    grants.c.tool,
    grants.c.hash,
    unique=True,
)

commands = Table(
    "commands",
    metadata,
    Column("id", ID, primary_key=True),
    Column("session", ID, ForeignKey("sessions.id"), nullable=False),
    Column("home", ID, ForeignKey("sessions.id"), nullable=False),
    Column("address", Words, nullable=False),
    Column("person", Words, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("child", Boolean, nullable=False),
    Column("tool", Words, nullable=False),
    Column("line", Words, nullable=False),
    Column("directory", Words, nullable=False),
    Column("background", Boolean, nullable=False),
    Column("state", Words, nullable=False, index=True),
    Column("status", Count),
    Column("why", Words, nullable=False),
    Column("output", Words, nullable=False),
    Column("started", Double, nullable=False),
    Column("ended", Double),
)
Index("commands_home", commands.c.home, commands.c.id)

shells = Table(
    "shells",
    metadata,
    Column("session", ID, ForeignKey("sessions.id"), primary_key=True, autoincrement=False),
    Column("entry", ID, nullable=False),
    Column("directory", Words, nullable=False),
    Column("environment", Text, nullable=False),
    Column("directory_before", Words, nullable=False),
    Column("environment_before", Text, nullable=False),
)
