"""The tables of who was let in from a chat, and of who asks to be."""

from sqlalchemy import Boolean, Column, Double, Table

from storage.sql.dialect import Words
from storage.sql.schema import metadata

rights = Table(
    "rights",
    metadata,
    Column("identity", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("role", Words, nullable=False),
    Column("since", Double, nullable=False),
    Column("until", Double),
    Column("by_whom", Words, nullable=False),
)

pairing_requests = Table(
    "pairing_requests",
    metadata,
    Column("identity", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("salt", Words, nullable=False),
    Column("digest", Words, nullable=False),
    Column("expires", Double, nullable=False),
    Column("asked", Double, nullable=False, index=True),
    Column("ignored", Boolean, nullable=False),
)
