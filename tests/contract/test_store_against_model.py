"""Whatever is done to trees, both stores agree with a model that is too simple to be wrong."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from storage.errors import EpochLost, LeafMoved, StoreError
from storage.memory import MemoryStore
from storage.records.entries import Draft, Entry, Kind, Session, SessionDraft, SessionKind
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.contract.stores import Clock, compaction, new_session, said, url_of


@dataclass
class ModelSession:
    leaf: int | None = None
    epoch: int = 0
    last_number: int = 0
    moves: list[tuple[int | None, int | None, str]] = field(default_factory=list)


@dataclass
class ModelEntry:
    session: int
    parent: int | None
    number: int
    depth: int
    kept: int | None
    """Only of compactions."""
    compacts: bool


class Trees(RuleBasedStateMachine):
    def __init__(self, database: Path) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.sql: Store = self.runner.run(self._open(database))
        self.stores: tuple[Store, Store] = (MemoryStore(Clock()), self.sql)
        self.sessions: dict[int, ModelSession] = {}
        self.entries: dict[int, ModelEntry] = {}

    @staticmethod
    async def _open(database: Path) -> Store:
        return await SqlStore.open(url_of(database), Clock())

    def teardown(self) -> None:
        self.runner.run(self.sql.close())
        self.runner.close()

    def both(self, ask: Callable[[Store], Awaitable[Any]]) -> Any:
        """Ask both stores the same, and give the answer, which may be an error."""

        async def answer(store: Store) -> Any:
            try:
                return await ask(store)
            except StoreError as error:
                return type(error)

        memory, sql = (self.runner.run(answer(store)) for store in self.stores)
        assert memory == sql
        return memory

    def any_session(self, data: st.DataObject) -> tuple[int, ModelSession]:
        id_ = data.draw(st.sampled_from(sorted(self.sessions)))
        return id_, self.sessions[id_]

    def any_place(self, data: st.DataObject) -> int | None:
        return data.draw(st.sampled_from([None, *sorted(self.entries)]))

    @rule()
    def create(self) -> None:
        created = self.both(new_session)
        self.sessions[created.id] = ModelSession()

    @precondition(lambda self: self.sessions)
    @rule(
        data=st.data(), compacts=st.booleans(), stale=st.sampled_from([None, None, "leaf", "epoch"])
    )
    def append(self, data: st.DataObject, compacts: bool, stale: str | None) -> None:
        id_, session = self.any_session(data)
        kept = self.any_place(data) if compacts else None
        draft = compaction(kept) if compacts else said(f"after {session.leaf}")
        after = self.any_place(data) if stale == "leaf" else session.leaf
        epoch = session.epoch - 1 if stale == "epoch" else session.epoch
        result = self.both(lambda s: s.run(_append(id_, draft, after, epoch)))
        if epoch != session.epoch:
            assert result is EpochLost
        elif after != session.leaf:
            assert result is LeafMoved
        else:
            depth = 0 if after is None else self.entries[after].depth + 1
            session.last_number += 1
            self.entries[result.id] = ModelEntry(
                id_, after, session.last_number, depth, kept, compacts
            )
            session.leaf = result.id
            assert (result.parent, result.number, result.depth) == (
                after,
                session.last_number,
                depth,
            )

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def append_aside(self, data: st.DataObject) -> None:
        id_, session = self.any_session(data)
        after = self.any_place(data)
        append = _append(id_, said("aside"), after, session.epoch, aside=True)
        result = self.both(lambda s: s.run(append))
        depth = 0 if after is None else self.entries[after].depth + 1
        session.last_number += 1
        self.entries[result.id] = ModelEntry(id_, after, session.last_number, depth, None, False)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def label(self, data: st.DataObject) -> None:
        id_, session = self.any_session(data)
        target = data.draw(st.sampled_from(sorted(self.entries)))
        body = {"label": data.draw(st.sampled_from(["a", "b", ""])), "target": target}
        draft = Draft(Kind.LABEL, body)
        result = self.both(lambda s: s.run(_append(id_, draft, session.leaf, session.epoch)))
        depth = 0 if session.leaf is None else self.entries[session.leaf].depth + 1
        session.last_number += 1
        self.entries[result.id] = ModelEntry(
            id_, session.leaf, session.last_number, depth, None, False
        )
        session.leaf = result.id

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(sorted(self.entries)))
        source = self.entries[start].session

        def work(t: Transaction) -> Session:
            made = t.tree.create(SessionDraft(SessionKind.CHAT, "", source, start))
            return t.tree.move_leaf(made.id, start, after=None, by="me")

        made = self.both(lambda s: s.run(work))
        moves: list[tuple[int | None, int | None, str]] = [(None, start, "me")]
        self.sessions[made.id] = ModelSession(start, 0, self.entries[start].number, moves)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def survey(self, data: st.DataObject) -> None:
        """Both stores agree on what is asked by strand, and it is what walking the tree gives."""
        id_, _ = self.any_session(data)
        place = data.draw(st.sampled_from(sorted(self.entries)))
        limit = data.draw(st.integers(1, 4))

        def ask(t: Transaction) -> list[Any]:
            strands = t.tree.strands(id_)
            return [
                t.tree.route(place),
                strands,
                t.tree.path_end(place, limit),
                t.tree.child_entries(id_, place),
                t.tree.child_entries(id_, None),
                t.tree.labels(id_),
                [t.tree.numbered(id_, number) for number in range(1, 9)],
                [
                    t.tree.along(s.first, 2, 9, sorts=["user", "label"], limit=limit, newest=newest)
                    for s in strands
                    for newest in (True, False)
                ],
            ]

        route, strands, end, children, *_ = self.both(lambda s: s.read(ask))
        path = self.path(place)
        assert [entry.id for entry in end] == path[-limit:]
        assert route[-1].last == place
        assert all(part.last in path and part.strand in path for part in route)
        own = [e for e, entry in self.entries.items() if entry.session == id_]
        below = [e for e in own if self.entries[e].parent == place]
        assert [entry.id for entry in children] == below
        assert sum(s.tip_depth - s.depth + 1 for s in strands) == len(own)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        id_, session = self.any_session(data)
        session.epoch += 1
        assert self.both(lambda s: s.run(lambda t: t.tree.claim(id_))).epoch == session.epoch

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), stale=st.booleans())
    def move(self, data: st.DataObject, stale: bool) -> None:
        id_, session = self.any_session(data)
        to = self.any_place(data)
        after = self.any_place(data) if stale else session.leaf
        result = self.both(
            lambda s: s.run(lambda t: t.tree.move_leaf(id_, to, after=after, by="me"))
        )
        if after != session.leaf:
            assert result is LeafMoved
            return
        session.moves.append((after, to, "me"))
        session.leaf = to
        if to is not None:
            session.last_number = max(session.last_number, self.entries[to].number)

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        place = self.any_place(data)
        path = self.path(place)
        found = self.both(lambda s: s.read(lambda t: t.tree.path(place)))
        assert [entry.id for entry in found] == path
        found = self.both(lambda s: s.read(lambda t: t.tree.context_path(place)))
        assert [entry.id for entry in found] == self.context_path(path)

    @invariant()
    def sessions_agree(self) -> None:
        for id_, session in self.sessions.items():

            def read(t: Transaction, id_: int = id_) -> tuple[int | None, int, list[Any]]:
                found = t.tree.session(id_)
                moves = [(m.source, m.target, m.by) for m in t.tree.leaf_moves(id_)]
                return found.leaf, found.epoch, moves

            found = self.both(lambda s, read=read: s.read(read))  # type: ignore[misc]
            assert found == (session.leaf, session.epoch, session.moves)

    def path(self, place: int | None) -> list[int]:
        if place is None:
            return []
        return [*self.path(self.entries[place].parent), place]

    def context_path(self, path: list[int]) -> list[int]:
        compactions = [id_ for id_ in path if self.entries[id_].compacts]
        if not compactions:
            return path
        newest = compactions[-1]
        kept = self.entries[newest].kept
        on_the_way = kept is not None and kept in path[: path.index(newest)]
        return path[path.index(kept if on_the_way and kept is not None else newest) :]


def _append(
    session: int, draft: Draft, after: int | None, epoch: int, *, aside: bool = False
) -> Callable[[Transaction], Entry]:
    return lambda t: t.tree.append(session, draft, after=after, epoch=epoch, aside=aside)


def test_both_stores_do_to_trees_what_the_model_does(
    empty_database: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    class Here(Trees):
        def __init__(self) -> None:
            folder = tmp_path_factory.mktemp("trees")
            super().__init__(Path(shutil.copy(empty_database, folder / "bough.db")))

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=30,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
