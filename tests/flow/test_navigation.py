"""/branch, /goto, /undo, /redo: the whole gateway, from command to answer."""

import asyncio
from typing import Any

import pytest

from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.store import Store, Transaction
from tests.flow.conftest import ON_BOTH, gateway
from tests.flow.walking import ECHO, ask, buttons, newest, numbers, path, press, session_of, talk

pytestmark = ON_BOTH

ALL = ["/branch", "/goto", "/undo", "/redo", "/branches", "/tree", "/label", "/diff 1 2"]


@pytest.mark.parametrize("command", [*ALL, "/branch 1", "/goto x", "/label x"])
async def test_where_nothing_was_said_every_command_says_so(store: Store, command: str) -> None:
    async with gateway(ECHO, store=store) as g:
        assert (await ask(g, command)).text == "Nothing was said here yet."


async def test_branch_goes_before_a_persons_message_and_shows_it_to_be_rephrased(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two\n`a` **b**", "three")
        shown = await ask(g, "/branch #3")
        assert "You are after #2" in shown.text
        assert "```\ntwo\n`a` **b**\n```" in shown.text
        assert "it ends with #6" in shown.text
        await talk(g, "two, better")
        assert await numbers(store) == [1, 2, 7, 8]
        said = [m["content"] for m in g.model.requests[-1].messages[1:]]
        assert said == ["one", "re: one", "two, better"]


async def test_branch_goes_after_an_answer(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        shown = await ask(g, "/branch 2")
        assert "You are after #2" in shown.text
        assert "```" not in shown.text
        assert await numbers(store) == [1, 2]


async def test_branch_goes_after_a_tool_result(store: Store) -> None:
    call = {"tool_calls": [{"name": "think", "arguments": {"thought": "hm"}}]}
    rules: list[dict[str, Any]] = [
        {"when": {"turn": 0}, "reply": call},
        {"reply": {"text": "thought about it"}},
    ]
    async with gateway(rules, store=store) as g:
        await talk(g, "think")
        assert [e.body["role"] for e in await path(store)] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]
        shown = await ask(g, "/branch 3")
        assert "You are after #3" in shown.text
        await talk(g, "and now?")
        said = [m["role"] for m in g.model.requests[-2].messages[1:]]
        assert said == ["user", "assistant", "tool", "user"]


async def test_branch_before_the_first_message_is_the_very_beginning(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        assert "You are at the very beginning." in (await ask(g, "/branch 1")).text
        assert await numbers(store) == []
        await talk(g, "another start")
        assert await numbers(store) == [3, 4]
        assert "You are after #2" in (await ask(g, "/goto 2")).text


async def test_branch_without_a_number_offers_the_last_messages(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three", "four", "five")
        shown = await ask(g, "/branch")
        assert [label.split()[0] for label in buttons(shown)] == [f"#{n}" for n in range(10, 2, -1)]
        await press(g, "#5 ")
        assert newest(g).id == shown.id
        assert "You are after #4" in newest(g).text
        assert await numbers(store) == [1, 2, 3, 4]


@pytest.mark.parametrize("what", ["99", "0", "#0", "-1", "x", "1 2", "99999999999999", "²"])
@pytest.mark.parametrize("command", ["/branch", "/goto"])
async def test_a_place_that_is_not_there_is_said_and_nothing_moves(
    store: Store, command: str, what: str
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        shown = await ask(g, f"{command} {what}")
        assert "/tree shows" in shown.text
        assert await numbers(store) == [1, 2]


async def test_a_wrong_number_and_a_list_end_no_turn(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "slow answer", "delay": 1.0}},
        {"reply": {"text": "quick"}},
    ]
    async with gateway(rules, store=store) as g:
        await talk(g, "one")
        await g.chat.say("slow")
        await g.model.called("parent", 2)
        await g.chat.say("/branch 99")
        await g.chat.say("/branch")
        await g.chat.say("/goto nowhere")
        await g.hears("slow answer")


async def test_a_move_ends_the_turn_that_runs(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "never said", "delay": 60}},
        {"reply": {"text": "quick"}},
    ]
    async with gateway(rules, store=store) as g:
        await talk(g, "one")
        await g.chat.say("slow")
        await g.model.called("parent", 2)
        assert "You are after #2" in (await ask(g, "/branch 3")).text
        assert await numbers(store) == [1, 2]


async def test_in_a_group_others_do_not_end_a_turn_by_moving(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "slow answer", "delay": 1.0}},
        {"reply": {"text": "quick"}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("one", user="2", private=False)
        await g.settled()
        await g.chat.say("slow", user="2", private=False)
        await g.model.called("parent", 2)
        await g.chat.say("/goto 1", user="3", private=False)
        await g.hears("Somebody else's turn is running")
        await g.hears("slow answer")


async def test_a_move_can_be_taken_back_by_its_button(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        await ask(g, "/branch 1")
        await press(g, "Back")
        assert "You are after #4" in newest(g).text
        assert await numbers(store) == [1, 2, 3, 4]
        await press(g, "Back")
        assert "You are at the very beginning." in newest(g).text


async def test_a_button_of_the_conversation_before_moves_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        await ask(g, "/branch 2")
        moved = newest(g)
        await talk(g, "/new", "other", "words")
        await g.chat.press(moved, "↩ Back")
        await g.settled()
        assert "another conversation" in moved.text
        first, *_ = await path(store)
        assert first.body["content"] == "other"


async def test_going_where_one_is_moves_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        assert "Nothing is to be moved. You are after #2" in (await ask(g, "/goto 2")).text
        session = await session_of(store)
        assert await store.read(lambda tx: tx.tree.leaf_moves(session)) == []


async def test_goto_reaches_other_branches(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/branch 3", "three")
        assert await numbers(store) == [1, 2, 5, 6]
        shown = await ask(g, "/goto #4")
        assert "You are after #4" in shown.text
        assert "it ends with #6" in shown.text
        assert await numbers(store) == [1, 2, 3, 4]


async def test_goto_a_question_offers_its_answer_and_another_one(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        shown = await ask(g, "/goto 3")
        assert "You are after #3" in shown.text
        assert "Its answer, #4, comes after that." in shown.text
        shown = await press(g, "Go to its answer")
        assert shown.text.startswith("You are after #4")
        await ask(g, "/goto 3")
        await press(g, "Answer it")
        assert await numbers(store) == [1, 2, 3, 5]


async def test_undo_and_redo_in_turn(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three")
        assert "three" in (await ask(g, "/undo")).text
        assert await numbers(store) == [1, 2, 3, 4]
        await ask(g, "/undo")
        assert await numbers(store) == [1, 2]
        await ask(g, "/redo")
        assert await numbers(store) == [1, 2, 3, 4]
        await ask(g, "/redo")
        assert await numbers(store) == [1, 2, 3, 4, 5, 6]
        assert "nothing to redo" in (await ask(g, "/redo")).text


async def test_undo_takes_a_count_and_stops_at_the_beginning(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three")
        assert "```\ntwo\n```" in (await ask(g, "/undo 2")).text
        assert await numbers(store) == [1, 2]
        shown = await ask(g, "/undo 7")
        assert "There is only 1 message to undo." in shown.text
        assert "You are at the very beginning." in shown.text
        assert "nothing to undo" in (await ask(g, "/undo")).text
        await ask(g, "/redo")
        assert await numbers(store) == [1, 2]


@pytest.mark.parametrize("count", ["0", "-1", "x", "#2", "1.5"])
async def test_undo_of_what_is_no_count_moves_nothing(store: Store, count: str) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        assert "/undo takes how many" in (await ask(g, f"/undo {count}")).text
        assert await numbers(store) == [1, 2]


async def test_redo_ends_with_talk_but_not_with_a_label(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/undo", "/label here")
        assert await numbers(store) == [1, 2, 5]
        await ask(g, "/redo")
        assert await numbers(store) == [1, 2, 3, 4]
        await talk(g, "/undo", "else")
        assert "went on since" in (await ask(g, "/redo")).text
        assert await numbers(store) == [1, 2, 6, 7]


async def test_redo_does_not_undo_another_move(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "/undo", "/goto 1")
        assert "nothing to redo" in (await ask(g, "/redo")).text


async def test_in_a_group_the_rephrased_text_has_no_name_before_it(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("one", user="2", private=False)
        await g.settled()
        shown = await ask(g, "/undo", user="2", private=False)
        assert "```\none\n```" in shown.text


async def test_a_long_message_is_cut_where_it_is_rephrased(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "x" * 3_000)
        shown = await ask(g, "/undo")
        assert "Cut: it has 3,000 characters." in shown.text
        assert len(shown.text) < 1_800


async def test_a_fork_goes_to_what_it_begins_with(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two")
        source = await session_of(store)

        def fork(tx: Transaction) -> None:
            start = tx.tree.numbered(source, 4)
            assert start is not None
            made = tx.tree.create(SessionDraft(SessionKind.CHAT, "", source, start.id))
            tx.tree.move_leaf(made.id, start.id, after=None, by="telegram:1", why="fork")
            tx.directory.bind("telegram:1", made.id)

        await store.run(fork)
        assert "#4" in (await ask(g, "/tree")).text
        await talk(g, "three")
        assert await numbers(store) == [1, 2, 3, 4, 5, 6]
        await ask(g, "/branch 3")
        assert await numbers(store) == [1, 2]
        await talk(g, "other")
        assert await numbers(store) == [1, 2, 7, 8]
        shown = await ask(g, "/tree")
        assert "⋮ 4 from another conversation, to #4" in shown.text
        assert await store.read(lambda tx: tx.tree.session(source).leaf) == 4


async def test_two_who_move_at_once_do_not_both_win(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "two", "three")
        await asyncio.gather(g.chat.say("/goto 2"), g.chat.say("/goto 4"))
        await g.settled()
        session = await session_of(store)
        moves = await store.read(lambda tx: tx.tree.leaf_moves(session))
        assert [m.source for m in moves[1:]] == [m.target for m in moves[:-1]]


async def test_content_in_parts_is_shown_as_its_text(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one")
        session = await session_of(store)
        parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}]

        def plant(tx: Transaction) -> None:
            leaf = tx.tree.session(session).leaf
            tx.tree.append(
                session, Draft(Kind.MESSAGE, message("user", None) | {"content": parts}), after=leaf
            )

        await store.run(plant)
        assert "```\nlook\n```" in (await ask(g, "/undo")).text
