"""What a turn leaves in each database, of short and of ordinary answers, beside its text.

No two texts are the same, and words are as frequent as in a language (made up, so that nothing is
gained by repetition): an index has as many to hold as in real talk. The text of a turn is what was
asked and what was answered. PostgreSQL is vacuumed now and then, as it is by itself every minute.
"""

import asyncio
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import psycopg

from agent.models.base import Reply, Request
from agent.models.scripted import Answer, Rule, ScriptedModel
from tests.benchmarks.figures import Figure
from tests.benchmarks.load.gateways import People, config_of, databases, served
from tests.benchmarks.processes import scratch
from tests.benchmarks.search import Texts

CHATS = 100
QUESTION = 80
"""Characters."""
ANSWERS = {"short": 290, "ordinary": 1_330}
"""Characters of an answer."""
WARM_UP = 5
PARTS = 8
EACH = 5
"""Messages of each chat in a part."""
BAR = 4.0
LARGEST = 20
"""Tables and indexes that are listed."""


async def run() -> list[Figure]:
    figures = []
    for name, length in ANSWERS.items():
        with scratch() as folder, databases(folder) as urls:
            for database, url in urls.items():
                left = await measure(url, length)
                what = f"{database}: {name} turn of {QUESTION + length:,} characters"
                figures.append(Figure(f"{what}, left in the database", left, "B"))
                share = left / (QUESTION + length)
                figures.append(Figure(f"{what}, of its text", share, "×", bar=BAR))
    return figures


async def measure(url: str, length: int) -> float:
    """Bytes that a turn leaves."""
    texts = iter(Texts())
    people, model = People(), _Talkative(texts, length)
    async with served(config_of(url), people, model):
        for _ in range(WARM_UP):
            await _talk(people, texts)
        before = await _settled(url)
        for _ in range(PARTS):
            for _ in range(EACH):
                await _talk(people, texts)
            after = await _settled(url)
    print("\n".join(islice(_tables(url), LARGEST)), file=sys.stderr)
    return (after - before) / (PARTS * EACH * CHATS)


class _Talkative:
    """Says something else each time."""

    def __init__(self, texts: Iterator[str], length: int) -> None:
        self._texts = texts
        self._length = length

    async def complete(self, request: Request) -> Reply:
        rule = Rule(reply=Answer(text=_text(self._texts, self._length)))
        return await ScriptedModel([rule]).complete(request)


def _text(texts: Iterator[str], length: int) -> str:
    text = next(texts)
    while len(text) < length:
        text += f"\n\n{next(texts)}"
    return text[:length]


async def _talk(people: People, texts: Iterator[str]) -> None:
    """A message in each chat."""
    chats = range(1, CHATS + 1)
    await asyncio.gather(*(people.ask(str(chat), _text(texts, QUESTION)) for chat in chats))
    people.forget()


async def _settled(url: str) -> int:
    await asyncio.sleep(2)  # what is new is in the search index then
    return await asyncio.to_thread(size_of, url)


def size_of(url: str) -> int:
    """Bytes of a database, without its log of changes: SQLite's is written over once it has 4 MB,
    PostgreSQL's likewise, and neither grows with the turns."""
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return file.stat().st_size
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


def _tables(url: str) -> Iterator[str]:
    """Bytes of each table and index."""
    if url.startswith("sqlite"):
        query = "SELECT name, sum(pgsize), sum(unused) FROM dbstat GROUP BY name ORDER BY 2 DESC"
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            yield from (
                f"{name:40}{size:12,}{free:12,}" for name, size, free in file.execute(query)
            )
        return
    query = (
        "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i') "
        "AND relnamespace = 'public'::regnamespace ORDER BY 2 DESC"
    )
    with psycopg.connect(url) as connection:
        yield from (f"{name:40}{size:12,}" for name, size in connection.execute(query))
