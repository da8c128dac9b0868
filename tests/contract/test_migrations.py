"""A database of an earlier version is brought up to date with everything in it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import IntegrityError

from storage.records.entries import Run, RunRole
from storage.sql.dialect import database_of
from storage.sql.schema import HEAD
from storage.sql.store import SqlStore
from tests.support.gateway_process import ROOT
from tests.support.postgres import PostgresServer

BODIES = {
    "said": {"role": "user", "content": "a question"},
    "called": {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    "answered": {"role": "assistant", "content": "an answer"},
}
# id, session, parent, number, what it is: two branches below 1, and a fork that begins with 2.
ENTRIES = [
    (1, 1, None, 1, "said"),
    (2, 1, 1, 2, "called"),
    (3, 1, 1, 3, "answered"),
    (4, 2, 2, 3, "said"),
    (5, 1, 2, 4, "answered"),
]


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database as the first version left it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/old.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_bare()
    config = Config()
    config.set_main_option("script_location", "storage.sql:migrations")
    with database_of(url).migrating() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        _fill(connection)
    return url


def _fill(connection: Connection) -> None:
    def add(table: str, *values: object) -> None:
        names = ", ".join(f":v{n}" for n in range(len(values)))
        numbered = {f"v{n}": value for n, value in enumerate(values)}
        connection.execute(text(f"INSERT INTO {table} VALUES ({names})"), numbered)

    for id_, parent_entry in ((1, None), (2, 2)):
        parent = 1 if parent_entry else None
        add("sessions", id_, "chat", None, 0, 9, "", parent, parent_entry, 0.0)
    for id_, session, parent, number, what in ENTRIES:
        body = json.dumps(BODIES[what])
        add("entries", id_, session, parent, number, 0, "message", body, None, "telegram:7", 0, 0.0)
    add("conversations", "telegram:1", "telegram", 1, None)


async def test_entries_of_the_first_version_get_their_strands_and_members(old: str) -> None:
    store = await SqlStore.open(old)
    strands = await store.read(lambda tx: tx.tree.strands(1))
    assert [(s.first, s.parent, s.tip) for s in strands] == [(1, None, 5), (3, 1, 3)]
    assert [s.first for s in await store.read(lambda tx: tx.tree.strands(2))] == [4]
    silent = await store.read(lambda tx: tx.tree.along(1, 1, 9, sorts=["calls"], limit=9))
    assert [entry.id for entry in silent] == [2]
    assert await store.read(lambda tx: tx.directory.members(1)) == ["telegram:1", "telegram:7"]
    assert await store.run(lambda tx: tx.search.follow(9)) == 5
    await store.close()


async def test_a_childs_run_was_its_title(old: str) -> None:
    titles = ["delegation", "worker 2", "worker 2, commands as text", "overseer 1"]
    names = "id, kind, leaf, epoch, last_number, title, parent_session, parent_entry, created"
    values = ":id, 'subagent', NULL, 0, 0, :title, 1, NULL, 0.0"
    insert = text(f"INSERT INTO sessions ({names}) VALUES ({values})")
    with database_of(old).migrating() as connection:
        for id_, title in enumerate(titles, 11):
            connection.execute(insert, {"id": id_, "title": title})
    store = await SqlStore.open(old)
    children = await store.read(lambda tx: tx.tree.children(1))
    assert [child.run for child in children if child.title in titles] == [
        None,
        Run(RunRole.WORKER, 2),
        Run(RunRole.WORKER_AS_TEXT, 2),
        Run(RunRole.OVERSEER, 1),
    ]
    await store.close()


def test_the_newest_migration_is_what_a_store_looks_for() -> None:
    config = Config()
    config.set_main_option("script_location", "storage.sql:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


async def test_entries_stay_append_only(old: str) -> None:
    await (await SqlStore.open(old)).close()
    for statement in ("UPDATE entries SET author = ''", "DELETE FROM entries"):
        with (
            pytest.raises(IntegrityError, match="append-only"),
            database_of(old).checking() as connection,
        ):
            connection.execute(text(statement))


DIES = """
import os, signal, sys
from sqlalchemy import Engine, event
from storage.sql.migrate import upgrade

left = int(sys.argv[2])

@event.listens_for(Engine, "before_cursor_execute")
def count(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

upgrade(sys.argv[1])
"""


@pytest.mark.crash
async def test_a_process_killed_in_a_migration_leaves_the_database_as_it_was(old: str) -> None:
    def content() -> dict[str, list[str]]:
        with database_of(old).checking() as connection:
            return {
                table: sorted(map(str, connection.execute(text(f"SELECT * FROM {table}"))))
                for table in inspect(connection).get_table_names()
            }

    before = content()
    for statements in (2, 9, 17, 24):
        died = subprocess.run(
            [sys.executable, "-c", DIES, old, str(statements)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert died.returncode == -signal.SIGKILL
        assert content() == before
    store = await SqlStore.open(old)
    assert len(await store.read(lambda tx: tx.tree.strands(1))) == 2
    await store.close()
