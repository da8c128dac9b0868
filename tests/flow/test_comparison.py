"""/diff, through the whole gateway."""

import json
from pathlib import Path
from typing import Any

from storage.records.entries import Draft, Kind, message
from storage.store import Store, Transaction
from tests.flow.conftest import gateway
from tests.flow.walking import ECHO, ask, buttons, newest, press, session_of, talk


async def test_two_branches_show_where_they_part_and_what_each_has(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", "other", "more")
        shown = await ask(g, "/diff #4 8")
        assert shown.text.splitlines() == [
            "Both go on from #2 🤖 re: one",
            "",
            "**To #4** · 2 entries",
            "#3 👤 two",
            "#4 🤖 re: two",
            "",
            "**To #8** · 4 entries",
            "#5 👤 other",
            "#6 🤖 re: other",
            "#7 👤 more",
            "#8 🤖 re: more",
        ]


async def test_one_place_is_compared_with_where_one_is(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", "other")
        assert "**To #6** · 2 entries" in (await ask(g, "/diff 4")).text
        assert "nothing to compare" in (await ask(g, "/diff 6")).text


async def test_labels_with_spaces_are_places(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/label plan b 4", "/branch 3", "other", "/label plan c")
        assert "**To #4**" in (await ask(g, "/diff plan b plan c")).text
        assert "**To #4**" in (await ask(g, '/diff "plan b" #7')).text


async def test_a_place_above_another_is_said_to_be(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        shown = await ask(g, "/diff 4 2")
        assert shown.text.startswith("#2 is above #4, on the same line.")
        assert "**To #4** · 2 entries" in shown.text
        assert "**To #2**" not in shown.text


async def test_two_beginnings_have_nothing_in_common(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/branch 1", "another")
        assert "nothing in common" in (await ask(g, "/diff 2 4")).text


async def test_what_is_no_place_is_said(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        for places in ("", "1 99", "x", "1 2 3", "a b c d"):
            assert "/diff takes two" in (await ask(g, f"/diff {places}")).text


async def test_long_sides_come_in_pages(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", *(f"message {n}" for n in range(8)))
        shown = await ask(g, "/diff 4")
        assert "Page 1 of 3" in shown.text
        assert buttons(shown) == ["▶"]
        await press(g, "▶")
        assert newest(g).id == shown.id
        assert "Page 2 of 3" in newest(g).text
        assert "No more was said." in newest(g).text
        assert buttons(newest(g)) == ["◀", "▶"]
        assert "message 3" in newest(g).text


async def test_files_touched_on_each_side_are_listed(store: Store, tmp_path: Path) -> None:
    call = {"name": "write_file", "arguments": {"path": "plan.md", "content": "x"}}
    rules: list[dict[str, Any]] = [
        {"when": {"last": "write", "turn": 0}, "reply": {"tool_calls": [call]}},
        {"reply": {"text": "done"}},
    ]
    tools = {"tools": {"toolsets": ["file"], "workspace": str(tmp_path)}}
    async with gateway(rules, store=store, config=tools) as g:
        await talk(g, "one", "write", "/branch 3", "other")
        session = await session_of(store)
        files = {"results": [{"task": "t", "files": {"a`b.md": "read", "c.md": "wrote"}}]}

        def delegated(tx: Transaction) -> None:
            leaf = tx.tree.session(session).leaf
            function = {"name": "delegate_task", "arguments": "{}"}
            calls = [{"id": "c1", "type": "function", "function": function}]
            body = message("assistant", None, tool_calls=calls)
            caller = tx.tree.append(session, Draft(Kind.MESSAGE, body), after=leaf)
            result = message("tool", json.dumps(files), tool_call_id="c1", call_entry=caller.id)
            tx.tree.append(session, Draft(Kind.MESSAGE, result), after=caller.id)

        await store.run(delegated)
        text = (await ask(g, "/diff 6")).text
        mine, theirs = text.split("**To #")[1:]
        assert "Changed: `plan.md`" in mine
        assert "Changed: `c.md`" in theirs
        assert "Read: `aʼb.md`" in theirs
