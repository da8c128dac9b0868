"""Whatever is done to trees, the store agrees with a model that is too simple to be wrong."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from storage.errors import EpochLost, LeafMoved, StoreError
from storage.records.entries import Draft, Entry, Kind, Session, SessionDraft, SessionKind
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.contract.naive import NaiveTree
from tests.support.examples import examples
from tests.support.postgres import PostgresServer
from tests.support.stores import Clock, compaction, fresh_url, new_session, said


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
    def __init__(self, url: str) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store: Store = self.runner.run(self._open(url))
        self.naive = NaiveTree()
        self.sessions: dict[int, ModelSession] = {}
        self.entries: dict[int, ModelEntry] = {}

    @staticmethod
    async def _open(url: str) -> Store:
        return await SqlStore.open(url, Clock())

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()

    def ask(self, ask: Callable[[Store], Awaitable[Any]]) -> Any:
        """The store's answer, which may be an error."""

        async def answer() -> Any:
            try:
                return await ask(self.store)
            except StoreError as error:
                return type(error)

        return self.runner.run(answer())

    def any_session(self, data: st.DataObject) -> tuple[int, ModelSession]:
        id_ = data.draw(st.sampled_from(sorted(self.sessions)))
        return id_, self.sessions[id_]

    def any_place(self, data: st.DataObject) -> int | None:
        return data.draw(st.sampled_from([None, *sorted(self.entries)]))

    @rule()
    def create(self) -> None:
        created = self.ask(new_session)
        self.naive.sessions[created.id] = created
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
        result = self.ask(lambda s: s.run(_append(id_, draft, after, epoch)))
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
            self.naive.entries[result.id] = result
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
        result = self.ask(lambda s: s.run(append))
        depth = 0 if after is None else self.entries[after].depth + 1
        session.last_number += 1
        self.entries[result.id] = ModelEntry(id_, after, session.last_number, depth, None, False)
        self.naive.entries[result.id] = result

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def label(self, data: st.DataObject) -> None:
        id_, session = self.any_session(data)
        target = data.draw(st.sampled_from(sorted(self.entries)))
        body = {"label": data.draw(st.sampled_from(["a", "b", ""])), "target": target}
        draft = Draft(Kind.LABEL, body)
        result = self.ask(lambda s: s.run(_append(id_, draft, session.leaf, session.epoch)))
        depth = 0 if session.leaf is None else self.entries[session.leaf].depth + 1
        session.last_number += 1
        self.entries[result.id] = ModelEntry(
            id_, session.leaf, session.last_number, depth, None, False
        )
        self.naive.entries[result.id] = result
        session.leaf = result.id

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(sorted(self.entries)))
        source = self.entries[start].session

        def work(t: Transaction) -> Session:
            made = t.tree.create(SessionDraft(SessionKind.CHAT, "", source, start))
            return t.tree.move_leaf(made.id, start, after=None, by="me")

        made = self.ask(lambda s: s.run(work))
        self.naive.sessions[made.id] = made
        moves: list[tuple[int | None, int | None, str]] = [(None, start, "me")]
        self.sessions[made.id] = ModelSession(start, 0, self.entries[start].number, moves)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def survey(self, data: st.DataObject) -> None:
        """What is asked by strand is what walking the tree gives."""
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

        naive, of = self.naive, ["user", "label"]
        assert self.ask(lambda s: s.read(ask)) == [
            naive.route(place),
            naive.strands(id_),
            tuple(naive.path(place)[-limit:]),
            naive.child_entries(id_, place),
            naive.child_entries(id_, None),
            naive.labels(id_),
            [naive.numbered(id_, number) for number in range(1, 9)],
            [
                naive.along(s.first, 2, 9, of, limit, newest)
                for s in naive.strands(id_)
                for newest in (True, False)
            ],
        ]

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        id_, session = self.any_session(data)
        session.epoch += 1
        assert self.ask(lambda s: s.run(lambda t: t.tree.claim(id_))).epoch == session.epoch

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), stale=st.booleans())
    def move(self, data: st.DataObject, stale: bool) -> None:
        id_, session = self.any_session(data)
        to = self.any_place(data)
        after = self.any_place(data) if stale else session.leaf
        result = self.ask(
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
        found = self.ask(lambda s: s.read(lambda t: t.tree.path(place)))
        assert [entry.id for entry in found] == path
        found = self.ask(lambda s: s.read(lambda t: t.tree.context_path(place)))
        assert [entry.id for entry in found] == self.context_path(path)

    @invariant()
    def sessions_agree(self) -> None:
        for id_, session in self.sessions.items():

            def read(t: Transaction, id_: int = id_) -> tuple[int | None, int, list[Any]]:
                found = t.tree.session(id_)
                moves = [(m.source, m.target, m.by) for m in t.tree.leaf_moves(id_)]
                return found.leaf, found.epoch, moves

            found = self.ask(lambda s, read=read: s.read(read))  # type: ignore[misc]
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


def _settings(share: float) -> settings:
    few = examples(share)
    return settings(few, stateful_step_count=25, suppress_health_check=list(HealthCheck))


def test_a_file_does_to_trees_what_the_model_does() -> None:
    class Here(Trees):
        def __init__(self) -> None:
            super().__init__(fresh_url())

    run_state_machine_as_test(Here, settings=_settings(0.4))


def test_a_server_does_to_trees_what_the_model_does(postgres_server: PostgresServer) -> None:
    class Here(Trees):
        def __init__(self) -> None:
            self.url = postgres_server.create()
            super().__init__(self.url)

        def teardown(self) -> None:
            super().teardown()
            postgres_server.give_back(self.url)

    run_state_machine_as_test(Here, settings=_settings(0.2))
