"""Writing SQLite's log back into its database, where nobody else has it open."""

import sqlite3
from contextlib import closing

from storage.errors import StoreError, StoreInUse
from storage.lock import file_of, hold_lock

_WAIT = 5.0
"""Seconds for another program that reads."""


def empty_log(url: str) -> str:
    """Why it could not be done, for people; "" where it was. A bot that runs does it by itself."""
    file = file_of(url)
    if file is None:
        return "it is no SQLite database"
    try:
        with hold_lock(url), closing(sqlite3.connect(file, timeout=_WAIT)) as connection:
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except StoreInUse:
        return "the bot is running: stop it first"
    except (StoreError, sqlite3.Error):
        return "the database cannot be written"
    return "another program reads the database" if busy else ""
