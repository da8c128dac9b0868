"""Two processes write to the tree of one session at the same time: one wins, the other is told,
and nothing that was acknowledged is lost."""

import asyncio
import json
import os
import random
import sys
from collections.abc import Callable
from typing import Any

from storage.errors import LeafMoved
from storage.records.entries import Draft, Entry, Kind, LeafMove, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.gateway_process import PATIENCE, ROOT

OPERATIONS = 150
"""Of each process."""


async def race(url: str, session: int, who: str) -> list[tuple[str, int | None]]:
    """What this process was told of each of its operations: its name with the entry appended or
    moved to, or "lost"."""
    store = await SqlStore.open(url)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    told: list[tuple[str, int | None]] = []
    choice = random.Random(who)
    for number in range(OPERATIONS):
        seen = await store.read(lambda tx: (tx.tree.session(session), tx.tree.entries(session)))
        leaf, entries = seen[0].leaf, seen[1]
        name = choice.choice(["say", "say", "label", "move"])
        to = choice.choice([None, *entries]) if name == "move" else choice.choice(entries)
        work = _work(name, session, leaf, to, f"{who}:{number}")
        try:
            told.append((name, await store.run(work)))
        except LeafMoved:
            told.append(("lost", None))
    await store.close()
    return told


def _work(
    name: str, session: int, leaf: int | None, entry: Entry | None, by: str
) -> Callable[[Transaction], int | None]:
    def work(tx: Transaction) -> int | None:
        match name:
            case "say":
                draft = Draft(Kind.MESSAGE, message("user", by), by)
            case "label":
                assert entry is not None
                draft = Draft(Kind.LABEL, {"label": by, "target": entry.id}, by)
            case _:
                to = entry.id if entry is not None else None
                return tx.tree.move_leaf(session, to, after=leaf, by=by, why="goto").leaf
        return tx.tree.append(session, draft, after=leaf).id

    return work


async def test_one_wins_and_the_other_is_told(url: str) -> None:
    store = await SqlStore.open(url)
    session = await store.run(_begin)
    told = await _raced(url, session)
    entries, moves, leaf = await store.read(
        lambda tx: (
            tx.tree.entries(session),
            tx.tree.leaf_moves(session, 10_000),
            tx.tree.session(session).leaf,
        )
    )
    await store.close()
    kept = {entry.id for entry in entries}
    acknowledged = [one for answers in told.values() for one in answers]
    appended = [entry for name, entry in acknowledged if entry and name in ("say", "label")]
    assert sorted([*appended, entries[0].id]) == sorted(kept)
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert all(entry.parent is None or entry.parent in kept for entry in entries)
    assert [move.target for move in moves] == _targets(moves, told)
    assert any(name == "lost" for name, _ in acknowledged)
    assert leaf == _replayed(entries, moves)


def _begin(tx: Transaction) -> int:
    session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
    tx.tree.append(session, Draft(Kind.MESSAGE, message("user", "first")), after=None)
    return session


async def _raced(url: str, session: int) -> dict[str, list[tuple[str, int | None]]]:
    """What each process was told."""
    racers = {who: await _racer(url, session, who) for who in ("left", "right")}
    for racer in racers.values():
        assert racer.stdin is not None
        racer.stdin.write(b"go\n")
    async with asyncio.timeout(PATIENCE):
        outputs = await asyncio.gather(*(racer.communicate() for racer in racers.values()))
    return {who: json.loads(out) for who, (out, _) in zip(racers, outputs, strict=True)}


async def _racer(url: str, session: int, who: str) -> asyncio.subprocess.Process:
    racer = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, url, str(session), who),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert racer.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await racer.stdout.readline() == b"ready\n"
    return racer


def _targets(moves: list[LeafMove], told: dict[str, Any]) -> list[int | None]:
    """Where the acknowledged moves went, in the order of the recorded ones."""
    left = {who: [to for name, to in answers if name == "move"] for who, answers in told.items()}
    targets = [left[move.by.partition(":")[0]].pop(0) for move in moves]
    assert not any(left.values())
    return targets


def _replayed(entries: list[Entry], moves: list[LeafMove]) -> int | None:
    """Where the leaf must be, by what was appended and moved: each was made where the one before
    had left it, so every leaf but the last is left exactly as often as it is reached."""
    reached: list[int | None] = [*(entry.id for entry in entries), *(m.target for m in moves)]
    for leaf in [*(entry.parent for entry in entries[1:]), *(move.source for move in moves)]:
        reached.remove(leaf)
    (last,) = reached
    return last


if __name__ == "__main__":
    url, session, who = sys.argv[1:]
    print(json.dumps(asyncio.run(race(url, int(session), who))))
