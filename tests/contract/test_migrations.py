"""A database of an earlier version is brought up to date with everything in it."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import IntegrityError

from storage.errors import NotFound
from storage.records.buttons import ActOnChild, ButtonRow, Decide, RunAction
from storage.records.entries import Json, Run, RunRole
from storage.records.questions import QuestionState
from storage.records.tools.grants import ANY
from storage.sql.dialect import database_of
from storage.sql.schema import HEAD
from storage.sql.store import SqlStore
from storage.store import Transaction
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


def migrate(url: str, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", "storage.sql:migrations")
    with database_of(url).migrating() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database as the first version left it."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/old.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_bare()
    migrate(url, "0001")
    with database_of(url).migrating() as connection:
        _fill(connection)
    return url


def _add(connection: Connection, table: str, *values: object) -> None:
    names = ", ".join(f":v{n}" for n in range(len(values)))
    numbered = {f"v{n}": value for n, value in enumerate(values)}
    connection.execute(text(f"INSERT INTO {table} VALUES ({names})"), numbered)


def _fill(connection: Connection) -> None:
    add = partial(_add, connection)
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


PAYLOAD = {"body": {"text": "x"}, "buttons": [], "nonce": "", "reply_to": "", "handle": ""}
CHOICES = json.dumps([{"key": "retry", "label": "Try again 🌳", "style": "primary"}])


@pytest.fixture
def asked(old: str) -> str:
    """The same as the version before the one button table left it: an open question (1), what
    /agents asked and still shows (2) and asked before (3), and a menu with one of two used up."""
    migrate(old, "0003")
    with database_of(old).migrating() as connection:
        add = partial(_add, connection)
        for outbox in (1, 2, 3, 4, 5):
            payload = json.dumps(PAYLOAD)
            add("outbox", outbox, "telegram:1", "post", payload, None, None, "sent", "m", "", 0)
        for question, kind, state, subject, key in (
            (1, "escalation", "open", {"delegation": 7}, "retry"),
            (2, "control", "open", {"by": "telegram:7"}, "stop:3"),
            (3, "control", "withdrawn", {"by": "telegram:7"}, "pause:3"),
        ):
            values = (kind, "**What?**", CHOICES, 1, "telegram:1", json.dumps(subject), 9.0, 0.0)
            add("questions", question, *values, state, 0, None, "", "", None)
            add("question_posts", question, question, "telegram:1", question)
            add("buttons", f"token {question}", question, key, question, "telegram:1")
        for token, outbox, used in (("fresh", 4, ""), ("used", 5, "Ada: Go on")):
            subject_ = '{"leaf":7}'
            named = ("Go on", "goto #7", "telegram:9", subject_, used)
            add("menu_buttons", token, "telegram:1", outbox, *named)
    return old


async def test_buttons_from_before_there_was_one_table_do_what_they_did(asked: str) -> None:
    store = await SqlStore.open(asked)

    def buttons(t: Transaction) -> list[ButtonRow | None]:
        tokens = ("token 1", "token 2", "token 3", "fresh", "used")
        return [t.buttons.get(token) for token in tokens]

    here, goto = "telegram:1", RunAction("goto #7", {"leaf": 7})
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


async def test_a_question_of_before_has_no_words_and_is_still_decided(old: str) -> None:
    migrate(old, "0011_runs")
    names = "id, kind, text, choices, session, address, subject, created, state, level"
    values = "9, 'escalation', 'Go?', :choices, 1, 'telegram:1', '{}', 0.0, 'open', 0"
    insert = f"INSERT INTO questions ({names}, decided_by, decided_name) VALUES ({values}, '', '')"
    choices = json.dumps([{"key": "report:1:go", "label": "go: It is", "style": "primary"}])
    with database_of(old).migrating() as connection:
        connection.execute(text(insert), {"choices": choices})
    store = await SqlStore.open(old)
    question = await store.read(lambda tx: tx.questions.get(9))
    assert (question.details, question.words, question.takes_words) == ("", "", False)
    assert [(c.key, c.effect, c.other) for c in question.choices] == [("report:1:go", "", False)]
    decided = QuestionState.DECIDED
    assert await store.run(lambda tx: tx.questions.close(9, decided, choice="report:1:go", by="x"))
    await store.close()


@pytest.fixture
def busy(old: str) -> str:
    """The same as the version before rows were emptied left it: what came and what went out."""
    migrate(old, "0059_ephemeral")
    said: Json = {"user": {"platform": "telegram", "id": "7", "name": "Ann 🌳"}, "text": "hi"}
    rows: list[tuple[str, Json]] = [
        ("done", said),
        ("open", said),
        ("failed", said),
        ("done", said),
        ("done", said),
    ]
    rows += [("done", {"title": "it is due", "text": "x", "person": "telegram:8"})]
    rows += [("done", {"question": number}) for number in range(2_000)]
    asks: Json = {
        "action": "action",
        "name": "reask",
        "payload": {"session": 1, "row": 4, "to": None},
    }
    before: Json = {"command": "reask #1", "subject": {"session": 1, "row": 5, "to": None}}
    with database_of(old).migrating() as connection:
        add = partial(_add, connection)
        for id_, (state, payload) in enumerate(rows, 1):
            held = json.dumps(payload)
            add("inbox", id_, f"k{id_}", "message", "telegram:1", held, 1, None, state, 0.0)
        for id_, state in enumerate(("sent", "sent", "sent", "pending", "failed"), 1):
            sent = json.dumps({**PAYLOAD, "file": id_})
            add("outbox", id_, "telegram:1", "post", sent, None, None, state, "m", "", 0)
        for token, outbox, action, does in (("a", 1, "action", asks), ("b", 2, "command", before)):
            what = (action, json.dumps(does))
            add("buttons", token, "telegram:1", outbox, "Again", *what, "", None, "")
        for id_ in range(1, 6):
            add("message_links", "telegram:1", f"m{6 - id_}", id_)
    return old


async def test_what_was_done_and_sent_before_keeps_no_words_but_for_what_is_asked_again(
    busy: str,
) -> None:
    store = await SqlStore.open(busy)
    rows = await store.read(lambda t: [t.inbox.get(row).payload for row in range(1, 2_007)])
    assert [bool(payload) for payload in rows[:6]] == [False, True, True, True, True, False]
    assert rows[6:] == [{}] * 2_000
    assert await store.read(lambda t: t.inbox.name_in(1, "telegram:7")) == ""  # 50 came since
    people = {one.identity: one.name for one in await store.read(lambda t: t.people.listed())}
    assert people["telegram:7"] == "Ann 🌳"
    sent = await store.read(lambda t: [t.outbox.get(row).payload for row in range(1, 6)])
    assert [payload.get("file") for payload in sent] == [1, 2, None, 4, 5]
    again = await store.read(lambda t: [t.inbox.get(row) for row in (4, 5)])
    await store.run(lambda t: t.inbox.finish([row.id for row in again]))
    assert await store.read(lambda t: [t.inbox.get(row.id) for row in again]) == again
    links = [("telegram:1", f"m{n}") for n in range(1, 6)]
    found = await store.read(lambda t: [t.outbox.linked_entry(*link) for link in links])
    assert found == [5, 4, 3, 2, 1]
    await store.close()


async def test_what_was_indexed_before_is_found_by_its_words_and_by_no_others(old: str) -> None:
    migrate(old, "0060_emptied")
    with database_of(old).migrating() as connection:
        if connection.dialect.name != "postgresql":
            pytest.skip("its index is another one")
        connection.execute(text("DELETE FROM search_queue WHERE entry < 5"))
        for entry in (1, 4):
            terms = ["\ue0001", "question", "ünïcode", "🌳"]
            _add(connection, "search_index", entry, terms)
        _add(connection, "search_index", 3, ["\ue0001", "answer", "an"])
    store = await SqlStore.open(old)

    def found(tx: Transaction) -> list[list[int]]:
        asked = ("question", "answer", "answers", "a", "question an")
        return [[entry.id for entry in tx.search.find(words, [1, 2])] for words in asked]

    assert await store.read(found) == [[4, 1], [3], [], [], []]
    assert await store.run(lambda tx: tx.search.follow(9)) == 1
    assert (await store.read(found))[1] == [5, 3]
    await store.close()


async def test_grants_of_before_are_kept_and_hold_for_whatever_their_files_hold(old: str) -> None:
    migrate(old, "0064_imports")
    with database_of(old).migrating() as connection:
        connection.execute(
            text(
                "INSERT INTO sessions (id, kind, title, created, epoch, last_number) "
                "VALUES (900, 'chat', '', 0, 0, 0)"
            )
        )
        connection.execute(
            text(
                "INSERT INTO grants (id, session, address, tool, hash, shown, granted_by, "
                "granted_name, time) VALUES (1, 900, 'telegram:1', 'run', 'abc', 'ls', "
                "'telegram:7', 'Ann', 5)"
            )
        )
    store = await SqlStore.open(old)
    try:
        grant = await store.read(lambda tx: tx.grants.find(900, "telegram:1", "run", "abc"))
        assert grant is not None
        assert (grant.until, grant.runs, grant.files, grant.used) == (None, "", ANY, 0)
    finally:
        await store.close()
