"""Who is above whom, against the simplest way to find out."""

from collections.abc import Sequence

import hypothesis.strategies as st
from hypothesis import given

from storage.tree.lineage import Lineage


@st.composite
def parents(draw: st.DrawFn) -> list[int | None]:
    count = draw(st.integers(0, 12))
    return [draw(st.none() | st.integers(0, n - 1)) if n else None for n in range(count)]


def above(tree: Sequence[int | None], place: int) -> list[int]:
    """Ancestors, the nearest first."""
    found = []
    parent = tree[place]
    while parent is not None:
        found.append(parent)
        parent = tree[parent]
    return found


@given(parents())
def test_ancestors_are_those_on_the_way_up(tree: list[int | None]) -> None:
    lineage = Lineage(tree)
    for lower in range(len(tree)):
        found = [upper for upper in range(len(tree)) if lineage.above(upper, lower)]
        assert found == sorted(above(tree, lower))


@given(parents(), st.data())
def test_the_caller_is_the_nearest_one_above_with_such_a_call(
    tree: list[int | None], data: st.DataObject
) -> None:
    ids = st.sampled_from("ab")
    calls = [data.draw(st.lists(ids, unique=True)) for _ in tree]
    answers = [data.draw(st.none() | ids) for _ in tree]
    expected = [
        next((upper for upper in above(tree, place) if answers[place] in calls[upper]), None)
        for place in range(len(tree))
    ]
    assert Lineage(tree).callers(calls, answers) == expected
