"""/tree, through the whole gateway."""

import io
from typing import Any

import pytest
from PIL import Image

from gateway.views.tree_image import ROW
from storage.records.entries import Draft, Kind, message
from storage.store import Store, Transaction
from tests.flow.conftest import gateway
from tests.flow.walking import ECHO, ask, buttons, newest, numbers, press, session_of, talk
from tests.support.stores import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def drawn(text: str) -> list[str]:
    """The lines of the code block."""
    return text.split("```")[1].strip("\n").splitlines()


async def test_a_conversation_without_branches_is_one_run_without_a_picture(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/label mine 2")
        shown = await ask(g, "/tree")
        assert shown.text.startswith("1 branch\n")
        assert drawn(shown.text) == [
            "› #1 👤 one",
            "› #2 🤖 re: one 🏷 mine",
            "› #3 👤 two",
            "● #4 🤖 re: two",
        ]
        assert all(message.upload is None for message in g.chat.shown.values())


async def test_branches_are_drawn_and_pictured(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", "other", "/branch 5", "third")
        shown = await ask(g, "/tree")
        assert drawn(shown.text) == [
            "› #1 👤 one",
            "› #2 🤖 re: one",
            "  ├─ #3 👤 two · 0 s",
            "  │  #4 🤖 re: two",
            "  ├─ #5 👤 other · 0 s",
            "  │  #6 🤖 re: other",
            "› └─ #7 👤 third · 0 s",
            "●    #8 🤖 re: third",
        ]
        picture = list(g.chat.shown.values())[-2].upload
        assert picture is not None and picture.picture
        width, height = Image.open(io.BytesIO(picture.data)).size
        assert 300 < width < 900 and height < 400


async def test_a_filter_by_button_changes_the_text_only(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", "other", "/label mine 4")
        await ask(g, "/tree")
        count = len(g.chat.shown)
        shown = await press(g, "user")
        assert drawn(shown.text) == [
            "› #1 👤 one",
            "  ├─ #3 👤 two · 0 s",
            "● └─ #5 👤 other · 0 s",
        ]
        shown = await press(g, "labeled")
        assert drawn(shown.text) == [
            "› #2 🤖 re: one",
            "  ├─ #4 🤖 re: two 🏷 mine · 0 s",
            "● └─ ⋮ 2 more",
        ]
        shown = await press(g, "all")
        assert drawn(shown.text)[-1] == "●    #7 🏷 mine"
        assert len(g.chat.shown) == count


async def test_tool_calls_are_in_some_views(store: Store) -> None:
    call = {"tool_calls": [{"name": "think", "arguments": {"thought": "hm"}}]}
    rules: list[dict[str, Any]] = [
        {"when": {"turn": 0}, "reply": call},
        {"reply": {"text": "thought about it"}},
    ]
    async with gateway(rules, store=store) as g:
        await talk(g, "think")
        marks = {
            view: "".join(line.split()[2] for line in drawn((await ask(g, f"/tree {view}")).text))
            for view in ("default", "no-tools", "user", "all")
        }
        assert marks == {"default": "👤🔧🤖", "no-tools": "👤🤖", "user": "👤", "all": "👤🔧🔩🤖"}


async def test_a_long_run_is_folded_and_fits_into_a_message(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        session = await session_of(store)
        await store.run(lambda tx: grow(tx, session, 500))
        shown = await ask(g, "/tree")
        lines = drawn(shown.text)
        assert len(lines) == 28
        assert lines[2] == "› ⋮ 475 more"
        assert lines[-1].startswith("● #502 ")
        assert len(shown.text) < 1_800
        assert "#476" not in shown.text and "#478" in shown.text


async def test_pages_begin_where_the_leaf_is_and_turn(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        for number in range(20):
            await talk(g, f"way {number}", "/goto 2")
        await ask(g, "/goto #41")
        shown = await ask(g, "/tree")
        assert "page 2 of 2" in shown.text
        assert "● └─ #41 👤 way 19" in shown.text
        assert len(shown.text) < 1_800
        assert buttons(shown)[0] == "◀"
        shown = await press(g, "◀")
        assert drawn(shown.text)[:2] == ["› #1 👤 one", "› #2 🤖 re: one"]
        assert "page 1 of 2" in shown.text
        assert "page 2 of 2" in (await ask(g, "/tree all 99")).text


async def test_after_going_back_the_leaf_is_shown_inside_its_branch(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/goto 1")
        shown = await ask(g, "/tree")
        assert drawn(shown.text)[:2] == ["● #1 👤 one", "  #2 🤖 re: one"]
        await ask(g, "/branch 1")
        shown = await ask(g, "/tree")
        assert drawn(shown.text)[:2] == ["● ○ the beginning", "  #1 👤 one"]
        assert "very beginning" in shown.text


async def test_what_was_said_at_the_very_beginning_hangs_on_it_side_by_side(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/branch 1", "other")
        shown = await ask(g, "/tree")
        assert drawn(shown.text) == [
            "› ○ the beginning",
            "  ├─ #1 👤 one · 0 s",
            "  │  #2 🤖 re: one",
            "› └─ #3 👤 other · 0 s",
            "●    #4 🤖 re: other",
        ]
        picture = list(g.chat.shown.values())[-2].upload
        assert picture is not None and picture.picture
        assert Image.open(io.BytesIO(picture.data)).height > 3 * ROW


async def test_words_that_are_not_known_are_refused(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        text = (await ask(g, "/tree **x**")).text
        assert "default, user, labeled, no-tools, all" in text
        assert "\\*\\*x\\*\\*" in text


@pytest.mark.parametrize(
    "text", ["```\n# x\n```", "a\u202eb", "\x1b[31mred", "👨‍👩‍👧 漢字 ٣", "x" * 500]
)
async def test_whatever_was_said_stays_on_its_line(store: Store, text: str) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, text, "two", "/branch 3", text)
        shown = await ask(g, "/tree")
        assert shown.text.count("```") == 2
        assert len(drawn(shown.text)) == 6
        assert "\u202e" not in shown.text and "\x1b" not in shown.text
        assert max(map(len, drawn(shown.text))) <= 60


async def test_very_deep_branches_stay_readable(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        for level in range(12):
            await talk(g, f"left {level}", "/undo", f"right {level}")
        shown = await ask(g, "/tree")
        assert len(shown.text) < 1_800
        assert await numbers(store)
        assert newest(g).text == shown.text
        assert max(map(len, drawn(shown.text))) <= 60
        assert any("…" in line for line in drawn(shown.text))


def grow(tx: Transaction, session: int, count: int) -> None:
    leaf = tx.tree.session(session).leaf
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        draft = Draft(Kind.MESSAGE, message(role, f"message {number}"))
        leaf = tx.tree.append(session, draft, after=leaf).id
