"""What the SQL parts share."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Insert


def insert_row(connection: Connection, statement: Insert, values: Mapping[str, Any]) -> int:
    """Insert a row and return the id it got."""
    key: Any = connection.execute(statement, values).inserted_primary_key
    id_: int = key[0]
    return id_
