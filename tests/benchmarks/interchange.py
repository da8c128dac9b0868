"""A long session imported from a file and exported to one, beside nothing but reading and writing
its JSON."""

import gc
import json
import time

from storage.interchange.api import gather, read_session, take_in
from storage.interchange.pi.write import write_session
from storage.records.entries import Json
from storage.sql.store import SqlStore
from tests.benchmarks.figures import Figure
from tests.benchmarks.fill import ANSWER, QUESTION
from tests.benchmarks.processes import scratch

ENTRIES = 100_000
BAR_IMPORT = 8_000
STAMP = "2026-01-01T00:00:00.000Z"


async def run() -> list[Figure]:
    data = _file()
    gc.disable()  # as `bough sessions` does
    with scratch() as folder:
        store = await SqlStore.open(f"sqlite:///{folder / 'bough.db'}")
        began = time.perf_counter()
        imported = read_session(data, time.time())
        session = await store.run(lambda tx: take_in(tx, imported))
        taken = time.perf_counter() - began
        began = time.perf_counter()
        exported = await store.read(lambda tx: gather(tx, session.id))
        lines = sum(1 for _ in write_session(exported))
        written = time.perf_counter() - began
        await store.close()
    assert lines == ENTRIES + 1
    began = time.perf_counter()
    for line in data.splitlines():
        json.dumps(json.loads(line))
    plain = time.perf_counter() - began
    gc.enable()
    return [
        Figure(
            name, ENTRIES / seconds, "1/s", "at least", bar, ENTRIES / plain, "json there and back"
        )
        for name, seconds, bar in (
            (f"import of {ENTRIES:,} entries", taken, BAR_IMPORT),
            (f"export of {ENTRIES:,} entries", written, None),
        )
    ]


def _file() -> bytes:
    """Questions and answers in turn, as Pi writes them, with a branch at every tenth entry."""
    header = {"type": "session", "version": 3, "id": "bench", "timestamp": STAMP, "cwd": "/"}
    return "\n".join(json.dumps(line) for line in (header, *map(_line, range(ENTRIES)))).encode()


def _line(place: int) -> Json:
    parent = place - 2 if place % 10 == 2 else place - 1
    return {
        "type": "message",
        "id": f"{place:08x}",
        "parentId": f"{parent:08x}" if place else None,
        "timestamp": STAMP,
        "message": _answer(place) if place % 2 else _question(place),
    }


def _question(place: int) -> Json:
    return {"role": "user", "content": f"{QUESTION}({place})", "timestamp": 1767225600000}


def _answer(place: int) -> Json:
    return {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": QUESTION},
            {"type": "text", "text": f"{ANSWER}({place})"},
        ],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "large",
        "usage": {"input": 900, "output": 25, "cacheRead": 800, "cacheWrite": 0},
        "stopReason": "stop",
        "timestamp": 1767225600000,
    }
