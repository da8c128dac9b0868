"""Full-text search over a million entries: how soon hits come, what the index takes, how fast it is
filled.

Half of the messages are questions, half are answers that also hold the provider's message, as in a
real session. Words are as frequent as in a language: the second half as often as the first, the
third a third as often, and so on.
"""

import asyncio
import random
import sqlite3
import string
import time
from collections.abc import Collection, Iterator
from contextlib import closing
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from statistics import median

from storage.json_text import dumps
from storage.records.entries import Draft, Entry, Json, Kind, SessionDraft, SessionKind, message
from storage.search.indexer import AT_ONCE, follow
from storage.sql.migrate import upgrade
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch

ENTRIES = 1_000_000
LONG_SESSION = 100_000
SHORT_SESSION = 100
SESSIONS = 1 + (ENTRIES - LONG_SESSION) // SHORT_SESSION
TIMES = 20
FRESH_ENTRIES = 5
BAR_MS = 100.0
BAR_DISK = 2.5
BAR_FRESH_SECONDS = 2.0

_VOCABULARY = 50_000
_PHRASES = 50_000
_WORDS_IN_PHRASE = 5
_ROW = (
    "INSERT INTO entries (id, session, parent, number, depth, strand, kind, sort, body, author, "
    "tokens, time) VALUES (?, ?, ?, ?, ?, ?, 'message', ?, ?, ?, ?, ?)"
)


async def run() -> list[Figure]:
    with scratch() as folder:
        database = folder / "bough.db"
        url = f"sqlite:///{database}"
        upgrade(url)
        texts = Texts()
        content = _fill(database, texts)
        store = await SqlStore.open(url)
        rate = await index(store)
        figures = await searches(store, texts.words)
        seconds = await fresh(store)
        await store.close()  # which also moves the write-ahead log into the file
        ratio = database.stat().st_size / content
    return [
        *figures,
        Figure("search index filled", rate, "entries/s"),
        Figure("fresh entry found after", seconds, "s", bar=BAR_FRESH_SECONDS),
        Figure("disk per byte of text, with the index", ratio, "×", bar=BAR_DISK),
    ]


class Texts:
    """Messages of 300 to 600 characters in a language of its own."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        words: dict[str, None] = {}
        while len(words) < _VOCABULARY:
            length = self._random.randint(2, 9)
            words["".join(self._random.choices(string.ascii_lowercase, k=length))] = None
        self.words = list(words)
        """The most frequent first."""
        weights = list(accumulate(1 / rank for rank in range(1, _VOCABULARY + 1)))
        self._phrases = [
            " ".join(self._random.choices(self.words, cum_weights=weights, k=_WORDS_IN_PHRASE))
            for _ in range(_PHRASES)
        ]

    def __iter__(self) -> Iterator[str]:
        while True:
            yield ". ".join(self._random.choices(self._phrases, k=self._random.randint(10, 18)))


def _fill(database: Path, texts: Texts) -> int:
    """One long session and many short ones; the size of the texts in bytes."""
    content = 0

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal content
        for id_, text in enumerate(islice(texts, ENTRIES), start=1):
            content += len(text.encode())
            yield row(id_, text)

    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executemany(_ROW, rows())
        connection.execute(
            "INSERT INTO sessions (id, kind, leaf, epoch, last_number, title, created) "
            "SELECT session, 'chat', max(id), 1, max(number), '', min(time) FROM entries GROUP BY 1"
        )
        connection.commit()
    return content


def row(id_: int, text: str) -> tuple[object, ...]:
    place = id_ - 1 if id_ <= LONG_SESSION else (id_ - LONG_SESSION - 1) % SHORT_SESSION
    session = 1 if id_ <= LONG_SESSION else 2 + (id_ - LONG_SESSION - 1) // SHORT_SESSION
    parent, strand = (id_ - 1, id_ - place) if place else (None, None)
    role = "assistant" if place % 2 else "user"
    author = "parent" if place % 2 else "telegram:1001"
    tokens = 110 if place % 2 else 0
    body = dumps(_body(role, text))
    when = 1.7e9 + id_
    return id_, session, parent, place + 1, place, strand, role, body, author, tokens, when


def _body(role: str, text: str) -> Json:
    if role == "user":
        return message(role, text)
    usage = {"input": 900, "output": 110, "cost": 0.001}
    return message(role, text, model="scripted:rules.yaml", usage=usage)


async def index(store: Store) -> float:
    """Entries in a second."""
    began = time.perf_counter()
    while await store.run(lambda tx: tx.search.follow(AT_ONCE)):
        pass
    return ENTRIES / (time.perf_counter() - began)


async def searches(store: Store, words: list[str]) -> list[Figure]:
    """`words`: the most frequent first."""
    common, rare = words[0], words[20_000]
    beginning = next(word for word in words if len(word) == 3)
    everywhere = range(1, SESSIONS + 1)
    return [
        Figure(f"search, {name}", await _search(store, query, where), "ms", bar=BAR_MS)
        for name, query, where in (
            ("common word", common, everywhere),
            ("rare word", rare, everywhere),
            ("word that nobody wrote", "qqqqqqqqqqqq", everywhere),
            ("three common words", " ".join(words[:3]), everywhere),
            ("beginning of common words", beginning, everywhere),
            ("rare word, 1,000 sessions", rare, everywhere[2_000:3_000]),
            ("common word, 10 short sessions", common, everywhere[2_000:2_010]),
            ("rare word, 10 short sessions", rare, everywhere[2_000:2_010]),
            (f"rare word, session of {LONG_SESSION:,}", rare, everywhere[:1]),
        )
    ]


async def _search(store: Store, words: str, sessions: Collection[int]) -> float:
    """Milliseconds in the median."""
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await store.read(lambda tx: tx.search.find(words, sessions))
        taken.append(1e3 * (time.perf_counter() - began))
    return median(taken)


async def fresh(store: Store) -> float:
    """Seconds until an entry is found while the index is followed: the longest of a few."""
    session = await store.run(lambda tx: tx.tree.create(SessionDraft(SessionKind.CHAT)).id)
    follower = asyncio.create_task(follow(store))
    taken = []
    for number in range(FRESH_ENTRIES):
        await asyncio.sleep(0.37)  # so that they come at different moments of the follower's second
        draft = Draft(Kind.MESSAGE, message("user", f"qqfresh{number}"))
        await store.run(partial(_append, session=session, draft=draft))
        began = time.perf_counter()
        while not await store.read(partial(_find, words=f"qqfresh{number}", session=session)):
            await asyncio.sleep(0.005)
        taken.append(time.perf_counter() - began)
    follower.cancel()
    await asyncio.wait([follower])
    return max(taken)


def _append(tx: Transaction, session: int, draft: Draft) -> None:
    tx.tree.append(session, draft, after=tx.tree.session(session).leaf)


def _find(tx: Transaction, words: str, session: int) -> list[Entry]:
    return tx.search.find(words, [session])
