"""PostgreSQL as we use it: psycopg 3 and a pool of connections.

What writes does so at REPEATABLE READ: a transaction sees one state, and one that would overwrite
what it did not see fails and is done again. So work that reads and then writes is as safe as with
SQLite's one writer, as long as what it writes, or locks, is what it read.

Nothing here assumes to be the only process: other gateways may use the same database.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Dialect,
    Engine,
    RootTransaction,
    Table,
    create_engine,
    event,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.types import TypeEngine

from storage.errors import NotFound, StoreError, StoreUnavailable
from storage.sql.prepared import failure, flush
from storage.sql.shared.alone import Announce, Peers, say_nothing
from storage.sql.writer import Job

DRIVER_MISSING = (
    "[storage] url names PostgreSQL, whose driver is missing: install bough[postgres] "
    "(pip install 'bough[postgres]', in a checkout: uv sync --extra postgres)"
)

_CONNECT = {
    "connect_timeout": "10",
    # A host that is gone without a word is noticed within a minute, not after two hours.
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "application_name": "bough",
}
"""What is not said in the URL. Seconds; milliseconds for the user timeout."""

_OTHERS = text("""
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'bough' AND pid <> pg_backend_pid()""")

_SETTINGS = (
    # A process that stands still within a transaction must not hold up the others for ever.
    "SET idle_in_transaction_session_timeout = '60s'",
    "SET lock_timeout = '10s'",
)

_CONFLICTS = frozenset(
    {
        "40001",  # somebody else wrote in between
        "40P01",  # a deadlock
        "26000",  # the server forgot what was prepared (DISCARD ALL, a pooler)
    }
)
_ATTEMPTS = 10
_LONGEST_PAUSE = 0.2

_IN_ERROR = 3
"""libpq's number for it."""

_MIGRATING = 0x626F756768  # "bough": the key of the advisory lock


class Postgres:
    """A database on a server."""

    readers = 4
    in_files = False

    def __init__(self, url: URL) -> None:
        self._url = url.set(drivername="postgresql+psycopg")
        host = url.host or url.query.get("host") or "the local socket"
        where = f"{host}:{url.port}" if url.port else str(host)
        self.description = f"PostgreSQL database {url.database or url.username or ''} at {where}"
        self.place = self.description

    def is_there(self) -> bool:
        return True

    def warning(self) -> str:
        return ""

    def keep_room(self, size: int) -> None:
        return  # its disk is the server's matter

    def make_room(self) -> bool:
        return False

    def restore_room(self) -> str:
        return ""

    def peers(self) -> Peers:
        # Late: who migrates or copies a database needs no job engine, which takes its time.
        try:
            shared = import_module("storage.sql.shared.peers")
        except ImportError as error:
            raise StoreUnavailable(DRIVER_MISSING) from error
        _, parameters = self._engine("READ COMMITTED").dialect.create_connect_args(self._url)
        parameters.pop("context", None)  # SQLAlchemy's own
        defaults = {name: value for name, value in _CONNECT.items() if name not in self._url.query}
        peers: Peers = shared.Peers({**defaults, **parameters})
        return peers

    def committer(self, announce: Announce = say_nothing) -> "Commits":
        engine = self._engine("REPEATABLE READ", pool_size=1)
        with engine.connect():
            return Commits(engine, self, announce)

    def reader_engine(self) -> Engine:
        return self._engine("REPEATABLE READ", read_only=True, pool_size=self.readers)

    @contextmanager
    def checking(self) -> Iterator[Connection]:
        with self._engine("READ COMMITTED").connect() as connection:
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        # At READ COMMITTED, to see what was done while it waited for another process.
        with self._engine("READ COMMITTED").begin() as connection:
            encoding = connection.scalar(text("SHOW server_encoding"))
            if encoding != "UTF8":
                raise StoreUnavailable(
                    f"{self.description}: its encoding is {encoding}; create the database with "
                    "ENCODING 'UTF8' (and TEMPLATE template0)"
                )
            connection.execute(text("SELECT set_config('lock_timeout', '0', true)"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
            yield connection

    def others(self) -> int:
        with self._engine("READ COMMITTED").connect() as connection:
            return connection.scalar(_OTHERS) or 0

    def again(self, error: DBAPIError) -> bool:
        return error.connection_invalidated or _state(error) in _CONFLICTS

    def store_error(self, error: DBAPIError) -> StoreError:
        # The first line: those below may repeat values.
        detail = str(error.orig).partition("\n")[0].strip()
        state = _state(error)
        if state == "23503":
            return NotFound("a row was to refer to something that is not there")
        if state[:2] in ("22", "23"):
            return StoreError(f"the database refused it: {detail}")
        return StoreUnavailable(f"{self.description}: {detail}; {_way_out(error, state)}")

    def _engine(self, isolation: str, *, read_only: bool = False, pool_size: int = 0) -> Engine:
        pool: dict[str, Any] = {"poolclass": NullPool}
        if pool_size:
            pool = {"poolclass": QueuePool, "pool_size": pool_size, "max_overflow": 0}
        defaults = {name: value for name, value in _CONNECT.items() if name not in self._url.query}
        try:
            engine = create_engine(
                self._url, **pool, isolation_level=isolation, connect_args=defaults
            )
        except ImportError as error:
            raise StoreUnavailable(DRIVER_MISSING) from error

        def prepare(connection: Any, _record: Any) -> None:
            connection.autocommit = True
            for setting in _SETTINGS:
                connection.execute(setting)
            connection.autocommit = False
            connection.read_only = read_only

        event.listen(engine, "connect", prepare)
        # Late: the driver may be missing.
        lay = import_module("storage.sql.wire.pipeline").lay_pipelines
        lay(engine, isolation, read_only=read_only)
        return engine


class Commits:
    """What waits is committed together, because a commit costs a flush to the disk. Where that
    comes to nothing, each job gets a transaction of its own, and several where others are in its
    way."""

    def __init__(self, engine: Engine, database: Postgres, announce: Announce) -> None:
        self._engine = engine
        self._database = database
        self._announce = announce

    def commit(self, group: Sequence[Job[Any]]) -> None:
        done = 0
        try:
            if len(group) > 1 and (self._together(group) or self._together(group)):
                return
            for job in group:
                self._alone(job)
                done += 1
        except Exception as error:  # noqa: BLE001 - handed to each caller
            # The server is away; nobody waits for it once for each job.
            for job in group[done:]:
                job.error = self._translated(error)

    def moved(self) -> str:
        return ""  # a server that is gone is away, and comes back

    def rescue(self) -> str:
        return ""

    def hasten(self) -> None:
        """Others hold single rows, and not for long."""

    def close(self) -> None:
        self._engine.dispose()

    def _together(self, group: Sequence[Job[Any]]) -> bool:
        with self._engine.connect() as connection, connection.begin() as transaction:
            for job in group:
                _attempt(job, connection)
                if job.error is not None:
                    transaction.rollback()
                    return False
            try:
                self._announce(connection, group)
                flush(connection)
            except DBAPIError:
                transaction.rollback()
                return False
            return _conflict_in_commit(transaction) is None

    def _alone(self, job: Job[Any]) -> None:
        for attempt in range(_ATTEMPTS):
            if self._once(job):
                return
            time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.002 * 2**attempt)))  # noqa: S311
        assert job.error is not None
        job.error = self._translated(job.error)

    def _once(self, job: Job[Any]) -> bool:
        """False where others were in the way, or the connection broke, and nothing was done."""
        with self._engine.connect() as connection, connection.begin() as transaction:
            _attempt(job, connection)
            if job.error is None:
                self._tell(job, connection)
            if job.error is None:
                job.error = _conflict_in_commit(transaction)
                return job.error is None
            transaction.rollback()
        if isinstance(job.error, DBAPIError) and self._database.again(job.error):
            return False
        job.error = self._translated(job.error)
        return True

    def _tell(self, job: Job[Any], connection: Connection) -> None:
        try:
            self._announce(connection, [job])
            flush(connection)
        except DBAPIError as error:
            job.error = error

    def _translated(self, error: BaseException) -> BaseException:
        if not isinstance(error, DBAPIError):
            return error
        translated = self._database.store_error(error)
        translated.__cause__ = error
        return translated


def append_only(table: str) -> list[str]:
    function = f"{table}_append_only"
    return [
        f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} is append-only' "
        "USING ERRCODE = 'integrity_constraint_violation'; END $$",
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
    ]


def append_only_lifted(table: str) -> list[str]:
    name = f"{table}_append_only"
    return [f"DROP TRIGGER {name} ON {table}", f"DROP FUNCTION {name}()"]


_SAME = (
    *("id", "session", "parent", "number", "depth", "strand", "kind", "sort", "first_kept"),
    *("tokens", "time"),
)
"""Columns of an entry that say where it stands and what it is."""
ONLY_TOMBSTONES = (
    "CREATE FUNCTION entries_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'entries is append-only' "
    "USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE TRIGGER entries_append_only BEFORE DELETE OR TRUNCATE ON entries "
    "FOR EACH STATEMENT EXECUTE FUNCTION entries_append_only()",
    "CREATE TRIGGER entries_only_tombstones BEFORE UPDATE ON entries FOR EACH ROW WHEN (NOT ("
    """NEW.body LIKE '{"tombstone":{"by":"%","hash":"%' """
    "AND (NEW.author = OLD.author OR NEW.author LIKE 'forgotten:%') AND "
    + " AND ".join(f"NEW.{name} IS NOT DISTINCT FROM OLD.{name}" for name in _SAME)
    + ")) EXECUTE FUNCTION entries_append_only()",
)

SEARCH_INDEX = (
    'CREATE TABLE search_index (entry BIGINT PRIMARY KEY, terms TEXT[] COLLATE "C" NOT NULL)',
    "CREATE INDEX ix_search_index_terms ON search_index USING gin (terms) "
    "WITH (gin_pending_list_limit = 512)",
    # What is still to be indexed. Ids are given out before they are committed, so one who asks
    # for "all after the last one I saw" misses what commits late; who waits in line is not missed.
    "CREATE TABLE search_queue (entry BIGINT PRIMARY KEY)",
    "INSERT INTO search_queue SELECT id FROM entries",
    "CREATE FUNCTION entries_to_search() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN INSERT INTO search_queue SELECT id FROM added; RETURN NULL; END $$",
    "CREATE TRIGGER entries_to_search AFTER INSERT ON entries REFERENCING NEW TABLE AS added "
    "FOR EACH STATEMENT EXECUTE FUNCTION entries_to_search()",
)


def next_entry_ids(connection: Connection, count: int) -> list[int]:
    """With gaps, where others take some at the same time."""
    statement = text("SELECT nextval('entries_id_seq') FROM generate_series(1, :count)")
    return list(connection.execute(statement, {"count": count}).scalars())


def insert_all(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    left = iter(rows)
    first = next(left, None)
    if first is None:
        return
    clean = [_cleaning(table.c[name].type, connection.dialect) for name in first]
    statement = f"COPY {table.name} ({', '.join(first)}) FROM STDIN"
    driver: Any = connection.connection.driver_connection
    errors: Any = connection.dialect.dbapi
    flush(connection)
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in chain([first], left):
                copy.write_row(
                    [function(value) for function, value in zip(clean, row.values(), strict=True)]
                )
    except errors.Error as error:
        raise failure(connection, statement, error) from error


def _cleaning(type_: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any]:
    """What SQLAlchemy does to a value of this type before it gives it to the driver."""
    return type_.dialect_impl(dialect).bind_processor(dialect) or _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _attempt(job: Job[Any], connection: Connection) -> None:
    job.attempt(connection)
    if job.error is None:
        driver: Any = connection.connection.driver_connection
        if driver.info.transaction_status == _IN_ERROR:
            # The server would answer a COMMIT by rolling back, without an error.
            job.error = StoreError("work went on after an error of the database; nothing is kept")


def _conflict_in_commit(transaction: RootTransaction) -> DBAPIError | None:
    """Commit. Where the connection breaks, that raises: nobody knows whether it was committed, so
    it is not done again."""
    try:
        transaction.commit()
    except DBAPIError as error:
        if _state(error) not in _CONFLICTS:
            raise
        return error
    return None


def _state(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _way_out(error: DBAPIError, state: str) -> str:
    match state[:2], state:
        case _ if error.connection_invalidated:
            return "the connection broke; it is opened again when it is needed"
        case _ if state in _CONFLICTS:
            return "others wrote to the same rows all the time; try again"
        case _, "55P03":
            return "another process works on the same rows for too long: see what it does"
        case "53", _:
            return "the server is out of disk, memory or connections: give it more"
        case _, "25006":
            return "the server only lets read (a standby?): name the primary in [storage] url"
        case _, "42501":
            return (
                "give this user the right to create and write tables there, "
                "for instance by making it the database's owner"
            )
        case _, "":
            return "see that the server runs and that all of [storage] url is right"
        case _:
            return "see the server's log"
