"""/branches, through the whole gateway."""

import pytest

from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.walking import ECHO, ask, buttons, newest, numbers, press, talk
from tests.support.stores import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_a_conversation_without_branches_says_so(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        assert "no branches" in (await ask(g, "/branches")).text
        assert "number of a page" in (await ask(g, "/branches x")).text


async def test_branches_have_words_age_size_and_a_mark(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three", "/branch 3", "*other*")
        shown = await ask(g, "/branches")
        assert shown.text.splitlines() == [
            "1 branch point",
            "",
            "After #2 🤖 re: one",
            "● #7 👤 other · 0 s ago · 2 entries",
            "○ #3 👤 two · 0 s ago · 4 entries",
        ]
        assert buttons(shown) == ["● #7 👤 other", "#3 👤 two"]


async def test_a_press_goes_to_the_newest_end_of_that_branch(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three", "/branch 3", "other", "/branch 5", "four", "/goto 8")
        await ask(g, "/branches")
        await press(g, "#3 ")
        assert "You are after #10" in newest(g).text
        assert await numbers(store) == [1, 2, 3, 4, 9, 10]


async def test_several_beginnings_are_a_branch_point(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/branch 1", "another")
        shown = await ask(g, "/branches")
        assert "From the beginning:" in shown.text
        assert buttons(shown) == ["● #3 👤 another", "#1 👤 one"]


async def test_many_branches_come_in_pages(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        for number in range(11):
            await talk(g, f"way {number}", "/goto 2")
        shown = await ask(g, "/branches")
        assert "page 1 of 2" in shown.text
        assert len(shown.text) < 1_800
        assert len(buttons(shown)) == 9
        await press(g, "▶")
        assert newest(g).id == shown.id
        assert buttons(newest(g)) == ["#7 👤 way 2", "#5 👤 way 1", "#3 👤 way 0", "◀"]


async def test_the_point_that_branched_last_comes_first(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three", "/branch 5", "late", "/branch 3", "early")
        text = (await ask(g, "/branches")).text
        assert text.index("After #2") < text.index("After #4")
