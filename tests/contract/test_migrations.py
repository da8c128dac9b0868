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

from storage.errors import NotFound
from storage.records.buttons import ActOnChild, ButtonRow, Decide, RunCommand
from storage.sql.dialect import parse_url, writer_engine
from storage.sql.store import SqlStore
from storage.store import Transaction
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


def migrate(file: Path, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", "storage.sql:migrations")
    engine = writer_engine(parse_url(url_of(file)))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database as the first version left it."""
    file = tmp_path / "old.db"
    migrate(file, "0001")
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


async def test_entries_stay_append_only(old: Path) -> None:
    await (await SqlStore.open(url_of(old))).close()
    connection = sqlite3.connect(old)
    for statement in ("UPDATE entries SET author = ''", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


PAYLOAD = {"body": {"text": "x"}, "buttons": [], "nonce": "", "reply_to": "", "handle": ""}
CHOICES = json.dumps([{"key": "retry", "label": "Try again 🌳", "style": "primary"}])


@pytest.fixture
def asked(old: Path) -> Path:
    """The same as the version before the one button table left it: an open question (1), what
    /agents asked and still shows (2) and asked before (3), and a menu with one of two used up."""
    migrate(old, "0003")
    with sqlite3.connect(old) as raw:
        for outbox in (1, 2, 3, 4, 5):
            row = (
                outbox,
                "telegram:1",
                "post",
                json.dumps(PAYLOAD),
                None,
                None,
                "sent",
                "m",
                "",
                0,
            )
            raw.execute(f"INSERT INTO outbox VALUES ({','.join('?' * 10)})", row)
        for question, kind, state, subject, key in (
            (1, "escalation", "open", {"delegation": 7}, "retry"),
            (2, "control", "open", {"by": "telegram:7"}, "stop:3"),
            (3, "control", "withdrawn", {"by": "telegram:7"}, "pause:3"),
        ):
            values = (kind, "**What?**", CHOICES, 1, "telegram:1", json.dumps(subject), 9.0, 0.0)
            raw.execute(
                "INSERT INTO questions VALUES (?,?,?,?,?,?,?,?,?,?,0,NULL,'','',NULL)",
                (question, *values, state),
            )
            raw.execute("INSERT INTO question_posts VALUES (?,?,'telegram:1',?)", (question,) * 3)
            raw.execute(
                "INSERT INTO buttons VALUES (?,?,?,?,'telegram:1')",
                (f"token {question}", question, key, question),
            )
        for token, outbox, used in (("fresh", 4, ""), ("used", 5, "Ada: Go on")):
            menu = (
                token,
                "telegram:1",
                outbox,
                "Go on",
                "goto #7",
                "telegram:9",
                '{"leaf":7}',
                used,
            )
            raw.execute("INSERT INTO menu_buttons VALUES (?,?,?,?,?,?,?,?)", menu)
    raw.close()
    return old


async def test_buttons_from_before_there_was_one_table_do_what_they_did(asked: Path) -> None:
    store = await SqlStore.open(url_of(asked))

    def buttons(t: Transaction) -> list[ButtonRow | None]:
        tokens = ("token 1", "token 2", "token 3", "fresh", "used")
        return [t.buttons.get(token) for token in tokens]

    here, goto = "telegram:1", RunCommand("goto #7", {"leaf": 7})
    stop, pause = ActOnChild("stop", 3, session=1), ActOnChild("pause", 3, session=1)
    assert await store.read(buttons) == [
        ButtonRow("token 1", here, 1, "Try again 🌳", Decide(1, "retry")),
        ButtonRow("token 2", here, 2, "Stop #3", stop, "telegram:7", 9.0),
        ButtonRow("token 3", here, 3, "Pause #3", pause, "telegram:7", 9.0, "withdrawn"),
        ButtonRow("fresh", here, 4, "Go on", goto, "telegram:9"),
        ButtonRow("used", here, 5, "Go on", goto, "telegram:9", used="Ada: Go on"),
    ]
    open_ = await store.read(lambda t: t.questions.open())
    assert [(one.id, one.kind) for one in open_] == [(1, "escalation")]
    assert [post.outbox for post in await store.read(lambda t: t.questions.posts(1))] == [1]
    with pytest.raises(NotFound):
        await store.read(lambda t: t.questions.get(2))
    panel = await store.read(lambda t: t.outbox.get(2))
    assert panel.payload == {**PAYLOAD, "text": "**What?**"}
    await store.close()


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
