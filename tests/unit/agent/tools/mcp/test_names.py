from hypothesis import given
from hypothesis import strategies as st

from agent.tools.mcp.names import LONGEST, named


def test_a_name_that_fits_stays_as_it_is() -> None:
    assert named("git", ["log", "show-file"]) == {"git__log": "log", "git__show-file": "show-file"}


def test_what_does_not_fit_is_cut_and_marked() -> None:
    names = list(named("git", ["a/b", "a.b", "x" * 100, "x" * 101]))
    assert len(set(names)) == 4
    assert names[0].startswith("git__a_b_") and names[1].startswith("git__a_b_")
    assert [len(name) for name in names[2:]] == [LONGEST, LONGEST]


def test_the_name_that_fits_wins_over_one_that_was_made_to_look_like_it() -> None:
    made = next(iter(named("git", ["a/b"]))).removeprefix("git__")
    assert named("git", ["a/b", made]) == {f"git__{made}": made}


@given(st.lists(st.text(max_size=90), max_size=12))
def test_every_name_is_one_that_providers_take_and_leads_to_one_tool(tools: list[str]) -> None:
    found = named("a-server", tools)
    assert all(len(name) <= LONGEST for name in found)
    assert all(c.isascii() and (c.isalnum() or c in "_-") for name in found for c in name)
    assert len(set(found.values())) == len(found)
    assert set(found.values()) <= set(tools)


@given(st.lists(st.text(min_size=1, max_size=90), min_size=2, max_size=6, unique=True))
def test_a_tool_has_the_same_name_whatever_else_is_listed(tools: list[str]) -> None:
    every = {own: name for name, own in named("s", tools).items()}
    for own, name in every.items():
        assert named("s", [own]) == {name: own}
