"""Killed while a long file is taken in, on either database: nothing of what was stored by then is
seen, the file is taken in again, once, and so is the next one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.records.entries import SessionKind
from storage.sql.store import SqlStore
from tests.benchmarks.load.holdups import session_file
from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene
from tests.crash.test_killed_on_postgres import Database as Postgres

pytestmark = pytest.mark.crash

ENTRIES = 3_000
"""More than is read in the gateway's own process, and than is stored in one transaction."""
IN_THE_MIDDLE, AT_ITS_END = ("entries", "NEW.number = 2000"), ("outbox", "1 = 1")
"""What is not stored any more: a part, or all that makes a conversation of the parts."""


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def postgres(request: pytest.FixtureRequest) -> Postgres | None:
    """None for SQLite."""
    if request.param == "SQLite":
        return None
    server, url = map(request.getfixturevalue, ("postgres_server", "postgres_url"))
    return Postgres(server, url)


@pytest.fixture
async def running(tmp_path: Path, postgres: Postgres | None) -> AsyncIterator[Scene]:
    sections = {} if postgres is None else {"storage": {"url": postgres.url}}
    async with scene(tmp_path, **sections) as started:
        yield started


@pytest.mark.parametrize("where", [IN_THE_MIDDLE, AT_ITS_END])
async def test_what_was_stored_is_not_seen_and_the_file_is_taken_in_again_once(
    running: Scene, postgres: Postgres | None, tmp_path: Path, where: tuple[str, str]
) -> None:
    url = f"sqlite:///{tmp_path / 'bough.db'}" if postgres is None else postgres.url
    await _killed_at(where, running, postgres)
    chats, (left,) = await _sizes(url)
    assert chats == [] and 0 < left <= ENTRIES
    await running.gateway.start()
    await _settled(running, postgres)
    (told,) = running.telegram.texts()
    assert told.startswith("Taken in") and f"{ENTRIES:,} entries" in told
    assert await _sizes(url) == ([ENTRIES], [left])
    _send(running, ENTRIES)
    await until(lambda: len(_taken_in(running)) == 2)
    await _settled(running, postgres)
    assert await _sizes(url) == ([ENTRIES, ENTRIES], [left])
    running.telegram.say(ANN, ANN, "/sessions")
    listed = (await running.telegram.hears("Your conversations"))["text"]
    assert [f"conversation {number}" in listed for number in (1, 2, 3)] == [False, True, True]


def _send(running: Scene, entries: int) -> None:
    file = running.telegram.document("session.jsonl", session_file(entries))
    running.telegram.say(ANN, ANN, "/import", document=file, caption=True)


def _taken_in(running: Scene) -> list[str]:
    return [text for text in running.telegram.texts() if text.startswith("Taken in")]


async def _killed_at(where: tuple[str, str], running: Scene, postgres: Postgres | None) -> None:
    table, when = where
    if postgres is None:
        running.database.stall(f"INSERT ON {table}", when)
        _send(running, ENTRIES)
        await running.killed_once(running.database.is_being_written)
        return
    postgres.stall(table, when)
    _send(running, ENTRIES)
    await until(postgres.is_stalling)
    await running.gateway.kill()
    postgres.mend()


async def _settled(running: Scene, postgres: Postgres | None) -> None:
    await running.telegram.wait_for(lambda: not running.telegram.world.pending)
    await (running.database.settled() if postgres is None else until(postgres.settled))


async def _sizes(url: str) -> tuple[list[int], list[int]]:
    """Entries of each conversation, and of what is left of each import that broke off."""
    store = await SqlStore.open(url)
    try:
        kinds = (SessionKind.CHAT, SessionKind.IMPORT)
        chats, broken = await store.read(lambda tx: [tx.tree.sessions(kind) for kind in kinds])
    finally:
        await store.close()
    return [size for _, size in chats], [size for _, size in broken]
