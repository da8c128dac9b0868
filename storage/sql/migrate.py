"""Bring a database up to date. Imported only when that is needed: Alembic is slow to import."""

from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from storage.errors import StoreUnavailable
from storage.sql.dialect import Database, database_of

# Alembic keeps what it is doing in globals, so one process does one upgrade at a time.
_upgrading = Lock()


def upgrade(url: str) -> None:
    """Apply the migrations that are missing, all or none. Blocks.

    Whoever comes second, when two processes do this at once, waits and finds it done.
    StoreUnavailable where the database cannot be used or was written by a newer Bough.
    """
    upgrade_database(database_of(url))


def upgrade_database(database: Database) -> None:
    config = Config()
    config.set_main_option("script_location", "storage.sql:migrations")
    try:
        with _upgrading, database.migrating() as connection:
            _refuse_newer(config, connection)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except DBAPIError as error:
        raise database.store_error(error) from error


def _refuse_newer(config: Config, connection: Connection) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    for version in MigrationContext.configure(connection).get_current_heads():
        if version not in known:
            raise StoreUnavailable(
                f"the database was last used by a newer Bough (its tables are at {version!r}): "
                "install that one, or set [storage] url to another database"
            )
