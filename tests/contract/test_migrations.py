"""A database of an earlier version is brought up to date with everything in it."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from storage.records.entries import Run, RunRole
from storage.sql.dialect import parse_url, writer_engine
from storage.sql.schema import HEAD
from storage.sql.store import SqlStore
from tests.contract.stores import url_of
from tests.support.gateway_process import ROOT

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


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database as the first version left it."""
    file = tmp_path / "old.db"
    config = Config()
    config.set_main_option("script_location", "storage.sql:migrations")
    engine = writer_engine(parse_url(url_of(file)))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    with sqlite3.connect(file) as raw:
        for id_, parent_entry in ((1, None), (2, 2)):
            parent = 1 if parent_entry else None
            row = (id_, "chat", None, 0, 9, "", parent, parent_entry, 0.0)
            raw.execute(f"INSERT INTO sessions VALUES ({','.join('?' * 9)})", row)
        for id_, session, parent, number, what in ENTRIES:
            raw.execute(
                "INSERT INTO entries VALUES (?,?,?,?,0,'message',?,NULL,'telegram:7',0,0.0)",
                (id_, session, parent, number, json.dumps(BODIES[what])),
            )
        raw.execute("INSERT INTO conversations VALUES ('telegram:1','telegram',1,NULL)")
    raw.close()
    return file


async def test_entries_of_the_first_version_get_their_strands_and_members(old: Path) -> None:
    store = await SqlStore.open(url_of(old))
    strands = await store.read(lambda tx: tx.tree.strands(1))
    assert [(s.first, s.parent, s.tip) for s in strands] == [(1, None, 5), (3, 1, 3)]
    assert [s.first for s in await store.read(lambda tx: tx.tree.strands(2))] == [4]
    silent = await store.read(lambda tx: tx.tree.along(1, 1, 9, sorts=["calls"], limit=9))
    assert [entry.id for entry in silent] == [2]
    assert await store.read(lambda tx: tx.directory.members(1)) == ["telegram:1", "telegram:7"]
    await store.close()


async def test_a_childs_run_was_its_title(old: Path) -> None:
    titles = ["delegation", "worker 2", "worker 2, commands as text", "overseer 1"]
    with sqlite3.connect(old) as raw:
        for title in titles:
            values = "'subagent', NULL, 0, 0, ?, 1, NULL, 0.0"
            names = "kind, leaf, epoch, last_number, title, parent_session, parent_entry, created"
            raw.execute(f"INSERT INTO sessions ({names}) VALUES ({values})", (title,))
    raw.close()
    store = await SqlStore.open(url_of(old))
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


async def test_entries_stay_append_only(old: Path) -> None:
    await (await SqlStore.open(url_of(old))).close()
    connection = sqlite3.connect(old)
    for statement in ("UPDATE entries SET author = ''", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


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
async def test_a_process_killed_in_a_migration_leaves_the_database_as_it_was(old: Path) -> None:
    def content() -> list[str]:
        connection = sqlite3.connect(old)
        lines = list(connection.iterdump())
        connection.close()
        return lines

    before = content()
    for statements in (2, 9, 17, 24):
        died = subprocess.run(
            [sys.executable, "-c", DIES, url_of(old), str(statements)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert died.returncode == -signal.SIGKILL
        assert content() == before
    store = await SqlStore.open(url_of(old))
    assert len(await store.read(lambda tx: tx.tree.strands(1))) == 2
    await store.close()
