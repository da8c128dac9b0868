"""On PostgreSQL too: killed with -9 at any time, every message is answered and every decision is
applied, once."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.crash.patience import until
from tests.crash.rules import BUTTONS
from tests.crash.scene import ANN, BEN, Scene, scene
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.crash


class Database:
    """The gateway's database, seen from another process."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        self.server = server
        self.url = url

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def run(self, *statements: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def stall(self, table: str, when: str) -> None:
        """From now on a transaction that inserts such a row does not end."""
        self.run(
            "CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$",
            f"CREATE TRIGGER stall BEFORE INSERT ON {table} FOR EACH ROW WHEN ({when}) "
            "EXECUTE FUNCTION stall()",
        )

    def is_stalling(self) -> bool:
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        return bool(self.rows(waiting))

    def mend(self) -> None:
        """The gateway must be dead; its transaction does not know that yet."""
        self.server.cut(self.url)
        self.run("DROP FUNCTION stall() CASCADE")

    def settled(self) -> bool:
        open_rows = "SELECT 1 FROM inbox WHERE state = 'open'"
        return not self.rows(f"{open_rows} UNION ALL SELECT 1 FROM outbox WHERE state = 'pending'")


@pytest.fixture
def database(postgres_server: PostgresServer, postgres_url: str) -> Database:
    return Database(postgres_server, postgres_url)


@pytest.fixture
async def running(tmp_path: Path, database: Database) -> AsyncIterator[Scene]:
    levels = {"levels": [{"to": [f"telegram:{BEN}"]}]}
    storage = {"url": database.url}
    async with scene(tmp_path, escalation=levels, storage=storage) as started:
        yield started


@pytest.mark.parametrize(
    ("table", "when"),
    [
        ("inbox", "true"),
        ("entries", "NEW.sort = 'user'"),
        ("entries", "NEW.sort = 'assistant'"),
        ("outbox", "true"),
    ],
)
async def test_a_message_is_answered_once_wherever_it_was_killed(
    running: Scene, database: Database, table: str, when: str
) -> None:
    database.stall(table, when)
    running.telegram.say(ANN, ANN, "hello")
    await until(database.is_stalling)
    await running.gateway.kill()
    database.mend()
    await running.gateway.start()
    await running.telegram.hears("answer to hello")
    await until(database.settled)
    assert running.telegram.texts() == ["answer to hello"]
    roles = "SELECT sort FROM entries WHERE kind = 'message' ORDER BY id"
    assert database.rows(roles) == [("user",), ("assistant",)]


async def test_a_question_is_decided_after_gateway_and_server_were_stopped(
    running: Scene, database: Database
) -> None:
    running.telegram.say(ANN, ANN, "delegate gone")
    for chat in (ANN, BEN):
        assert running.telegram.labels(await running.telegram.question(chat)) == BUTTONS
    await until(database.settled)
    await running.gateway.kill()
    database.server.stop()
    database.server.start()
    await running.gateway.start()
    running.telegram.press(await running.telegram.question(ANN), "Moved", ANN)
    await running.telegram.hears("gone is ")
    await until(database.settled)
    assert len(database.rows("SELECT 1 FROM audit WHERE what = 'decision'")) == 1
    texts = running.telegram.texts(ANN) + running.telegram.texts(BEN)
    assert sum("Ann: Moved" in text for text in texts) == 2
    assert sum("gone is " in text for text in texts) == 1
    assert running.telegram.buttons_left() == []
