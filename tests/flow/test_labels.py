"""/label and its names, through the whole gateway."""

from typing import Any

import pytest

from storage.records.entries import Kind
from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.walking import (
    ECHO,
    ask,
    buttons,
    labels,
    newest,
    numbers,
    path,
    press,
    session_of,
    talk,
)


async def test_a_label_names_the_last_message_and_goto_finds_it(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        assert "**good** is now #4" in (await ask(g, "/label good")).text
        await ask(g, "/branch 1")
        assert "You are after #4" in (await ask(g, "/goto good")).text
        assert "You are at the very" in (await press(g, "Back")).text
        assert "You are after #4" in (await ask(g, "/goto GOOD")).text


@pytest.mark.parametrize(
    ("written", "name", "number"),
    [
        ("plan #1", "plan", 1),
        ("plan 2", "plan", 2),
        ("plan 99", "plan 99", 4),
        ("plan #99", "plan #99", 4),
        ('"version 2"', "version 2", 4),
        ("“version 2”", "version 2", 4),
        ('"version 2" 1', "version 2", 1),
        ('"version 2" #3', "version 2", 3),
        ("before  the 🛶 trip", "before  the 🛶 trip", 4),
        ("cafe\u0301", "café", 4),
        ("x" * 1_000, "x" * 1_000, 4),
        ("#a", "#a", 4),
    ],
)
async def test_names_with_and_without_a_number(
    store: Store, written: str, name: str, number: int
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        shown = await ask(g, f"/label {written}")
        assert f"is now #{number}" in shown.text
        assert await labels(store) == {name: number}
        await ask(g, "/branch 1")
        await ask(g, f"/goto {written if number == 4 else name}")
        assert [n for n in await numbers(store) if n <= 4] == list(range(1, number + 1))


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("7", "cannot be a number"),
        ("#7", "cannot be a number"),
        ('""', "needs a name"),
        ("x" * 1_001, "1,001 characters"),
        ("a\nb", "one line"),
        ("a\x07b", "one line"),
        ("-nothing", "Nothing here is called"),
        ("-", "Nothing here is called"),
    ],
)
async def test_names_that_are_refused(store: Store, written: str, fault: str) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        assert fault in (await ask(g, f"/label {written}")).text
        assert await numbers(store) == [1, 2]


async def test_a_name_is_kept_without_what_cannot_be_seen(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/label \u202epl\u200ban")
        assert await labels(store) == {"plan": 2}
        assert "**plan**" in (await ask(g, "/label")).text
        assert "is not called" in (await ask(g, "/label -plan\u2060")).text


async def test_a_name_moves_and_an_entry_has_one_name(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/label a 2")
        assert "It was #2 before." in (await ask(g, "/label a 4")).text
        assert "was called **a** before." in (await ask(g, "/label b 4")).text
        assert "already" in (await ask(g, "/label b 4")).text
        assert await labels(store) == {"b": 4}


async def test_a_label_is_removed(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", '/label "version 2"', "/label other 1")
        await ask(g, '/label -"version 2"')
        assert await labels(store) == {"other": 1}
        await ask(g, "/label -other")
        assert "no labels" in (await ask(g, "/label")).text


async def test_the_list_has_a_button_for_each_and_pages(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, *(f"message {n}" for n in range(12)))
        for number in range(12):
            await ask(g, f"/label name {number} #{2 * number + 2}")
        shown = await ask(g, "/goto")
        assert "page 1 of 2" in shown.text
        assert buttons(shown)[0] == "name 11 · #24"
        await press(g, "▶")
        assert newest(g).id == shown.id
        assert buttons(newest(g)) == ["name 1 · #4", "name 0 · #2", "◀"]
        await press(g, "name 1")
        assert await numbers(store) == [1, 2, 3, 4]


async def test_a_long_name_is_shortened_where_it_is_shown(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", f"/label {'**[x](y)** ' * 80}")
        shown = await ask(g, "/label")
        assert len(shown.text) < 300
        assert "**[x]" not in shown.text
        assert len(buttons(shown)[0]) < 60


async def test_a_label_does_not_disturb_the_turn_that_runs(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "slow answer", "delay": 1.0}},
        {"reply": {"text": "quick"}},
    ]
    async with gateway(rules, store=store) as g:
        await talk(g, "one")
        await g.chat.say("slow")
        await g.model.called("parent", 2)
        await g.chat.say("/label now")
        await g.chat.say("/label first 1")
        await g.hears("slow answer")
        await g.settled()
        assert await labels(store) == {"now": 3, "first": 1}
        said = [entry.body["content"] for entry in await path(store)]
        assert said == ["one", "quick", "slow", "slow answer"]
        shown = await ask(g, "/tree")
        assert shown.text.startswith("1 branch\n")
        assert "🏷 now" in shown.text
        assert "no branches" in (await ask(g, "/branches")).text


async def test_a_label_on_the_first_message_does_not_disturb_its_turn(store: Store) -> None:
    async with gateway([{"reply": {"text": "answer", "delay": 1.0}}], store=store) as g:
        await g.chat.say("one")
        await g.model.called("parent")
        await g.chat.say("/label start")
        await g.hears("answer")
        await g.settled()
        assert await labels(store) == {"start": 1}
        assert [entry.kind for entry in await path(store)] == [Kind.MESSAGE, Kind.MESSAGE]
        assert (await ask(g, "/tree")).text.startswith("1 branch\n")


async def test_a_label_is_no_branch_of_its_own(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", "/label fork", "/goto 4")
        assert "no branches" in (await ask(g, "/branches")).text
        assert (await ask(g, "/tree")).text.startswith("1 branch\n")
        assert (await ask(g, "/tree all")).text.startswith("2 branches · all\n")


async def test_talk_after_a_label_on_a_fork_is_a_branch(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", "/label fork", "other")
        shown = await ask(g, "/branches")
        assert buttons(shown) == ["● #6 👤 other", "#3 👤 two"]
        await press(g, "two")
        assert await numbers(store) == [1, 2, 3, 4]


async def test_labels_of_a_conversation_with_an_empty_path(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "/branch 1")
        assert "no message here to name" in (await ask(g, "/label x")).text
        assert "is now #2" in (await ask(g, "/label x 2")).text
        session = await session_of(store)
        assert await store.read(lambda tx: tx.tree.session(session).leaf) is not None
        assert "You are at the very beginning." in (await ask(g, "/undo")).text
