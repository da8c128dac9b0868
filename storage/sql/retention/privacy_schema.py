"""The tables of what is being forgotten. The others are in schema.py."""

from sqlalchemy import Boolean, Column, Double, Table, Text

from storage.sql.dialect import ID, Words
from storage.sql.schema import metadata

salts = Table(
    "salts",
    metadata,
    # What tombstones name: a pseudonym, or a month in which entries had had their time.
    Column("name", Words, primary_key=True),
    Column("salt", Words, nullable=False),
    Column("made", Double, nullable=False, index=True),
)

forgettings = Table(
    "forgettings",
    metadata,
    Column("id", ID, primary_key=True),
    # Empty once it is done, and so are names, addresses and sessions.
    Column("identity", Words, nullable=False),
    Column("pseudonym", Words, nullable=False),
    Column("salt", Words, nullable=False),
    Column("names", Text, nullable=False),
    Column("addresses", Text, nullable=False),
    Column("sessions", Text, nullable=False),
    Column("bounds", Text, nullable=False),
    Column("step", Words, nullable=False, index=True),
    Column("reached", ID, nullable=False),
    Column("rights", Boolean, nullable=False),
    Column("started", Double, nullable=False),
)
