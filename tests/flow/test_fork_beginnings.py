"""What a fork begins with is part of its tree."""

import pytest

from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.walking import ECHO, ask, buttons, newest, numbers, press, talk
from tests.support.stores import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_one_comes_back_from_before_the_beginning_of_a_fork(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/fork")
        await ask(g, "/undo")
        assert await numbers(store) == []
        await ask(g, "/redo")
        assert await numbers(store) == [1, 2]
        await ask(g, "/undo")
        await press(g, "Back")
        assert await numbers(store) == [1, 2]


async def test_a_branch_off_what_a_fork_begins_with_is_a_branch(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/fork", "three", "/branch 3", "other")
        shown = await ask(g, "/branches")
        assert shown.text.splitlines() == [
            "1 branch point",
            "",
            "After #2 🤖 re: one",
            "● #7 👤 other · 0 s ago · 2 entries",
            "○ #3 👤 two · 0 s ago · 4 entries",
        ]
        await press(g, "#3 👤 two")
        assert await numbers(store) == [1, 2, 3, 4, 5, 6]


async def test_a_fork_that_went_another_way_at_once_shows_both_ways(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three", "/fork", "/branch 3", "other")
        assert buttons(await ask(g, "/branches")) == ["● #7 👤 other", "#3 👤 two"]
        await press(g, "#3 👤 two")
        assert await numbers(store) == [1, 2, 3, 4, 5, 6]
        await press(g, "Back")
        assert await numbers(store) == [1, 2, 7, 8]


async def test_a_fork_without_branches_has_none(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/branch 1", "two", "/fork", "three")
        assert "no branches" in (await ask(g, "/branches")).text


async def test_another_answer_to_what_a_fork_begins_with_stands_beside_the_first(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/fork")
        answer = await ask(g, "/retry")
        assert buttons(answer) == ["◀", "2/2", "▶"]
        assert await numbers(store) == [1, 2, 3, 5]
        await press(g, "◀")
        assert buttons(newest(g)) == ["◀", "1/2", "▶"]
        assert await numbers(store) == [1, 2, 3, 4]


async def test_the_way_to_an_answer_leads_to_the_end_of_what_a_fork_begins_with(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/fork", "/goto 1")
        answer = await ask(g, "/retry")
        assert buttons(answer) == ["◀", "2/2", "▶"]
        await press(g, "▶")
        assert await numbers(store) == [1, 2, 3, 4]


async def test_a_fork_is_called_by_words_that_are_in_it(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "first words", "/branch 1", "second words")
        assert "“second words, from #4”" in (await ask(g, "/fork")).text


async def test_a_message_to_be_written_anew_is_shown_in_a_group_without_its_writers_name(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        for text in ("one", "two"):
            await g.chat.say(text, private=False)
            await g.settled()
        shown = await ask(g, "/fork #3", private=False)
        assert "```\ntwo\n```" in shown.text


async def test_the_answer_that_a_fork_begins_with_is_found_below_its_question(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/fork")
        assert "Its answer, #4," in (await ask(g, "/goto 3")).text
