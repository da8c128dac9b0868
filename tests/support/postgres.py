"""A throw-away PostgreSQL server, where its programs are installed: in a temporary folder, reached
by a socket there, and gone with the process that started it."""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from storage.sql.migrate import upgrade

HOW_TO_INSTALL = "apt-get install -y postgresql"
MISSING = f"the programs of PostgreSQL are not there ({HOW_TO_INSTALL})"

_PATIENCE = 60.0
_EMPTY = "empty"
"""The name of a database with all tables and no rows."""
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "deadlock_timeout": "50ms",
}
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def programs() -> Path | None:
    """The folder of the newest initdb and postgres."""
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    found = newest or (Path(on_path) if (on_path := shutil.which("initdb")) else None)
    return None if found is None else found.parent


class PostgresServer:
    """Started within `with`."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        """`settings` add to, or replace, those that trade safety for speed."""
        folder = programs()
        assert folder is not None, MISSING
        self._programs = folder
        self._settings = _SETTINGS | (settings or {})
        self._numbers = count(1)
        self._free: list[str] = []
        """Databases that were used and emptied, because to make one takes much longer."""
        self._process: subprocess.Popen[bytes] | None = None
        # Not among pytest's folders: only their owner may enter those, and here it is not us.
        self._folder = Path(tempfile.mkdtemp(prefix="bough-postgres-"))
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:  # whom PostgreSQL refuses
            user = _somebody_else()
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            self._user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def __enter__(self) -> Self:
        self._run("initdb", "-U", "bough", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()
        self._execute(f"CREATE DATABASE {_EMPTY}")
        upgrade(self.url(_EMPTY))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://bough@/{database}?host={self._folder}"

    def create(self) -> str:
        """The URL of a database with all tables and no rows, for one test at a time."""
        if self._free:
            return self._free.pop()
        name = f"bough_{os.getpid()}_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {_EMPTY}")
        return self.url(name)

    def create_bare(self, options: str = "") -> str:
        """The URL of a new database without tables."""
        name = f"bare_{os.getpid()}_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def give_back(self, url: str) -> None:
        """The end of `create`. Its tables must be as they were."""
        self.cut(url)
        with psycopg.connect(url) as connection:
            # So that no trigger and no foreign key is in the way.
            connection.execute("SET session_replication_role = replica")
            named = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            )
            for (table,) in named.fetchall():
                if table != "alembic_version":
                    connection.execute(f"DELETE FROM {table}".encode())
            connection.execute("SELECT setval(c.oid, 1, false) FROM pg_class c WHERE relkind = 'S'")
        self._free.append(url)

    def cut(self, url: str) -> None:
        """Cut all connections to a database."""
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        self._execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            f"WHERE datname = '{name}' AND pid <> pg_backend_pid()"
        )

    def start(self) -> None:
        """Start it and wait until it serves. It ends with the thread that does this."""
        program, data = self._programs / "postgres", self._folder / "data"
        settings = [f"-c{name}={value}" for name, value in self._settings.items()]
        self._process = process = subprocess.Popen(
            [program, "-D", data, "-k", self._folder, *settings],
            stdin=subprocess.DEVNULL,
            stdout=(self._folder / "log").open("ab"),
            stderr=subprocess.STDOUT,
            cwd="/",
            preexec_fn=_end_with_parent,
            **self._user,
        )
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._execute("SELECT 1")
            except psycopg.OperationalError as error:
                if process.poll() is not None or time.monotonic() > end:
                    log = (self._folder / "log").read_text(errors="replace")
                    raise RuntimeError(f"PostgreSQL does not start:\n{log}") from error
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: sessions are cut and everything is written; SIGQUIT: at once, as in a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_PATIENCE)
            self._process = None

    def freeze(self) -> None:
        """SIGSTOP, for it and all its sessions."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        """The server itself first, which begins sessions."""
        assert self._process is not None
        pid = self._process.pid
        os.kill(pid, number)
        for session in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(session), number)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, "-D", self._folder / "data", *arguments],
            capture_output=True,
            text=True,
            cwd="/",
            **self._user,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def _somebody_else() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGQUIT)
