"""The outline of any tree holds each entry once, in drawing order, and cuts where it must."""

from functools import partial
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gateway.views.outline import (
    RAILS,
    Run,
    Sizes,
    forks,
    outline,
    page_of_leaf,
    pages,
    shares,
    spoken,
)
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, Stretch, message
from storage.store import Store, Transaction
from tests.support.stores import fresh_store

Parents = list[int | None]
"""Of entry i + 1, the number of its parent."""


@st.composite
def trees(draw: st.DrawFn) -> Parents:
    count = draw(st.integers(1, 14))
    parents: Parents = [None]
    for number in range(2, count + 1):
        # Mostly straight on, as people do.
        any_place = st.sampled_from([None, *range(1, number)])
        parents.append(draw(st.one_of(st.just(number - 1), any_place)))
    return parents


async def planted(store: Store, parents: Parents, sort: str = "user") -> int:
    def work(tx: Transaction) -> int:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        for parent in parents:
            draft = Draft(Kind.MESSAGE, message(sort, "x"))
            tx.tree.append(session, draft, after=parent, aside=True)
        return session

    return await store.run(work)


def walked(parents: Parents, parent: int | None = None) -> list[int]:
    """Entries in drawing order, older branches first."""
    found = []
    for number, above in enumerate(parents, start=1):
        if above == parent:
            found += [number, *walked(parents, number)]
    return found


def children(parents: Parents, parent: int | None) -> list[int]:
    return [number for number, above in enumerate(parents, start=1) if above == parent]


async def runs_of(parents: Parents, leaf: int | None) -> list[Run]:
    async with fresh_store() as store:
        session = await planted(store, parents)
        return await store.read(lambda tx: outline(tx.tree.strands(session), tx.tree.route(leaf)))


def entries_of(parents: Parents, run: Run) -> list[int]:
    found, entry = [run.last], run.last
    while len(found) < run.count:
        above = parents[entry - 1]
        assert above is not None
        entry = above
        found.insert(0, entry)
    return found


@given(trees(), st.data())
async def test_runs_are_the_tree_in_drawing_order(parents: Parents, data: st.DataObject) -> None:
    leaf = data.draw(st.sampled_from([None, *range(1, len(parents) + 1)]))
    runs = await runs_of(parents, leaf)
    assert [entry for run in runs for entry in entries_of(parents, run)] == walked(parents)
    path: set[int | None] = set()
    at = leaf
    while at is not None:
        path.add(at)
        at = parents[at - 1]
    for run in runs:
        entries = entries_of(parents, run)
        assert parents[entries[0] - 1] == run.above
        assert {entry in path for entry in entries} == {run.here}
        below = children(parents, run.last)
        assert run.forks == (len(below) if len(below) > 1 else 0)
        assert all(children(parents, upper) == [lower] for upper, lower in pairwise(entries))
        assert run.begins == (len(children(parents, run.above)) > 1)
        assert run.first_number in (None, entries[0])
        assert run.last_number in (None, entries[-1])
    if leaf is not None:
        assert [run.last for run in runs if run.here][-1] == leaf


@given(trees())
async def test_a_rail_stands_where_more_branches_follow(parents: Parents) -> None:
    for run in await runs_of(parents, None):
        first = entries_of(parents, run)[0]
        rails: list[bool] = []
        at: int | None = first
        while at is not None:
            beside = children(parents, parents[at - 1])
            if len(beside) > 1:
                rails.insert(0, at != beside[-1])
            at = parents[at - 1]
        assert list(run.rails) == rails[-RAILS:]
        assert run.level == len(rails)


@given(trees())
async def test_forks_and_sizes_are_those_of_the_tree(parents: Parents) -> None:
    async with fresh_store() as store:
        session = await planted(store, parents)
        strands = await store.read(lambda tx: tx.tree.strands(session))
        routes = [
            await store.read(partial(_route, entry=entry)) for entry in range(1, len(parents) + 1)
        ]
    found = {fork.entry: fork.branches for fork in forks(strands)}
    places = [None, *range(1, len(parents) + 1)]
    many = {place: len(children(parents, place)) for place in places}
    assert found == {place: count for place, count in many.items() if count > 1}
    sizes = Sizes(strands)
    for entry, route in enumerate(routes, start=1):
        here = route[-1]
        assert sizes.of(here.strand, here.last_depth) == 1 + len(walked(parents, entry))


def _route(tx: Transaction, entry: int) -> tuple[Stretch, ...]:
    return tx.tree.route(entry)


async def test_a_deep_tree_is_no_trouble() -> None:
    parents: Parents = [None]
    for number in range(2, 4_000, 2):
        parents += [number - 1, number - 1]
    runs = await runs_of(parents, None)
    assert runs[-1].level == 1_999


async def test_a_lone_label_is_no_branch_unless_it_is_kept() -> None:
    def label(tx: Transaction) -> int:
        draft = Draft(Kind.LABEL, {"label": "x", "target": 1})
        return tx.tree.append(session, draft, after=1, aside=True).id

    async with fresh_store() as store:
        session = await planted(store, [None, 1])
        entry = await store.run(label)
        strands = await store.read(lambda tx: tx.tree.strands(session))
    assert [strand.first for strand in spoken(strands)] == [1]
    assert [strand.first for strand in spoken(strands, keep=[entry])] == [1, entry]


@given(trees(), st.integers(1, 9), st.integers(1, 4))
async def test_pages_hold_every_run_once_and_fit(parents: Parents, lines: int, each: int) -> None:
    runs = await runs_of(parents, len(parents))
    found = pages(runs, lines=lines, per_run=each)
    assert [run for page in found for run in page] == runs
    assert any(run.last == len(parents) for run in found[page_of_leaf(found)])
    for page in found:
        assert len(page) == 1 or sum(min(run.count, each) for run in page) <= lines


@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(1, 40))
def test_shares_are_fair(counts: list[int], lines: int) -> None:
    given_ = shares(counts, lines=lines)
    assert sum(given_) <= max(lines, len(counts))
    assert all(1 <= share <= count for share, count in zip(given_, counts, strict=True))
    least = min((s for s, c in zip(given_, counts, strict=True) if s < c), default=None)
    assert least is None or max(given_) <= least + len(counts)


@pytest.mark.parametrize("lines", [28, 30])
def test_on_a_full_page_every_long_run_gets_its_five_lines(lines: int) -> None:
    assert min(shares([100, 100, 3, 100, 100, 1], lines=lines)) >= 1
    assert all(share >= 5 for share in shares([100] * 5, lines=lines))
