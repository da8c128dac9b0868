"""/retry, and the arrows between answers that stand side by side."""

from dataclasses import replace
from typing import Any

from adapters.recording import RecordingAdapter
from storage.store import Store
from tests.flow.alternatives import ECHO, contents, is_told, labels, numbered, path, talk
from tests.flow.chatting import SlowModel
from tests.flow.conftest import gateway
from tests.flow.delegating import ASKING, asked, delegates, reports, says

MODELS = {
    "models": {
        "parent": {"model": "scripted:parent"},
        "presets": {"cheap": {"model": "scripted:cheap"}},
    }
}


async def test_an_answer_without_neighbours_has_no_buttons(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        for text in ("one", "two", "three"):
            assert labels(await talk(g, text, f"said: {text}")) == []


async def test_retry_answers_the_same_message_again_beside_the_first_answer(store: Store) -> None:
    async with gateway(numbered("first", "second"), store=store) as g:
        await talk(g, "hello", "first")
        shown = await talk(g, "/retry", "second")
        assert contents(g) == ["hello"]
        assert labels(shown) == ["◀", "2/2", "▶"]
        assert [button.beside for button in shown.buttons] == [False, True, True]
        assert await path(store) == ["hello", "second"]
        assert g.chat.texts() == ["first", "second"]


async def test_the_next_message_follows_the_new_answer(store: Store) -> None:
    async with gateway(numbered("first", "second", "third"), store=store) as g:
        await talk(g, "hello", "first")
        await talk(g, "/retry", "second")
        shown = await talk(g, "and now", "third")
        assert contents(g) == ["hello", "second", "and now"]
        assert labels(shown) == []


async def test_a_named_model_answers_once(store: Store) -> None:
    async with gateway(numbered("a", "b", "c"), store=store, config=MODELS) as g:
        await talk(g, "hello", "a")
        await talk(g, "/retry cheap", "b")
        assert g.model.requests[-1].spec.name == "cheap"
        await talk(g, "more", "c")
        assert g.model.requests[-1].spec.name == "parent"


async def test_an_unknown_model_is_told_with_the_known_ones_and_nothing_moves(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "hello", "said: hello")
        shown = await talk(g, "/retry no*such", "There is no model no\\*such.")
        assert "parent" in shown.text and "cheap" in shown.text
        assert await path(store) == ["hello", "you said: hello"]
        assert len(g.model.requests) == 1


async def test_an_unknown_model_does_not_end_the_turn_that_runs(store: Store) -> None:
    model = SlowModel([{"reply": {"text": "answer"}}])
    async with gateway(store=store, model=model) as g:
        await g.chat.say("slow")
        await model.began.wait()
        await g.chat.say("/retry nobody")
        await g.hears("There is no model nobody")
        model.may_go_on.set()
        await g.hears("answer")
        assert len(g.model.requests) == 1


async def test_where_nothing_was_said_nothing_is_asked_again(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "/retry", "Nothing was said here yet")
        await talk(g, "/new", "A new conversation")
        await talk(g, "/retry", "Nobody has said anything here yet")
        assert g.model.requests == []


async def test_retry_ends_the_turn_that_runs_and_asks_again(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"times": 1, "reply": {"text": "never said", "delay": 60}},
        {"reply": {"text": "said"}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("hello")
        await g.model.called("parent")
        await talk(g, "/retry", "said")
        assert contents(g) == ["hello"]
        assert g.chat.texts() == ["said"]


async def test_talk_during_a_retry_is_answered_with_what_is_retried(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"times": 1, "reply": {"text": "first"}},
        {"when": {"last": "hello"}, "reply": {"text": "never said", "delay": 60}},
        {"reply": {"text": "both"}},
    ]
    async with gateway(rules, store=store, config=MODELS) as g:
        await talk(g, "hello", "first")
        await g.chat.say("/retry cheap")
        await g.model.called("cheap")
        await talk(g, "wait", "both")
        assert contents(g) == ["hello", "wait"]
        assert g.model.requests[-1].spec.name == "parent"


async def test_retry_after_stop_answers_what_was_stopped(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"times": 1, "reply": {"text": "never said", "delay": 60}},
        {"reply": {"text": "said"}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("hello")
        await g.model.called("parent")
        await talk(g, "/stop", "Stopped.")
        assert labels(await talk(g, "/retry", "said")) == []


async def test_in_a_group_nobody_retries_over_another_ones_turn(store: Store) -> None:
    model = SlowModel([{"reply": {"text": "answer"}}])
    async with gateway(store=store, model=model) as g:
        await g.chat.say("slow", user="2", private=False)
        await model.began.wait()
        await g.chat.say("/retry", user="3", private=False)
        await g.hears("Somebody else's turn is running")
        model.may_go_on.set()
        await g.hears("answer")
        assert len(g.model.requests) == 1


async def test_who_may_only_decide_cannot_have_the_bot_work(store: Store) -> None:
    access = {"allow": ["telegram:1"], "approvers": ["telegram:5"]}
    async with gateway(ECHO, store=store, config={"access": access}) as g:
        await talk(g, "hello", "said: hello")
        await g.chat.say("/retry", user="5", private=False)
        await g.hears("You may decide here, but not talk")
        assert len(g.model.requests) == 1


async def test_a_message_with_too_many_answers_gets_no_more(store: Store) -> None:
    config = {"session": {"max_children": 2}}
    async with gateway(numbered("a", "b", "c"), store=store, config=config) as g:
        await talk(g, "hello", "a")
        await talk(g, "/retry", "b")
        await talk(g, "/retry", "There are 2 branches from here already")
        assert await path(store) == ["hello", "b"]


async def test_a_platform_that_waits_for_an_answer_to_the_command_gets_one(store: Store) -> None:
    async with gateway(numbered("first", "second"), store=store) as g:
        said = await g.chat.say("hello")
        await g.hears("first")
        slash = replace(said, key="telegram:slash:1", text="/retry", message_id="", handle="h")
        await g.app.router.receive(slash)
        await g.hears("second")
        assert g.chat.texts() == ["first", "Asking again…", "second"]


async def test_what_waits_on_the_branch_that_is_left_goes_on_waiting(store: Store) -> None:
    asks = {**delegates({"goal": "look", "branch_table": ASKING}), "times": 1}
    late = says("late answer", tier="parent", last="results")
    rules = [asks, reports("Gone", "match", "404"), late, *ECHO]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await talk(g, "/retry", "said: go")
        await g.chat.press(question, "It is there")
        shown = await g.hears("late answer")
        await g.settled()
        assert labels(shown) == ["Go there"]
        assert await path(store) == ["go", "you said: go"]
        await g.chat.press(shown, "Go there")
        await g.settled()
        assert (await path(store))[-1] == "late answer"
        assert shown.text == "late answer"


async def test_arrows_show_the_other_answer_in_place_and_go_there(store: Store) -> None:
    async with gateway(numbered("first", "second", "third"), store=store) as g:
        await talk(g, "hello", "first")
        shown = await talk(g, "/retry", "second")
        await g.chat.press(shown, "◀")
        await g.settled()
        assert (shown.text, labels(shown)) == ("first", ["◀", "1/2", "▶"])
        assert await path(store) == ["hello", "first"]
        await talk(g, "go on", "third")
        assert contents(g) == ["hello", "first", "go on"]
        await g.chat.press(shown, "▶")
        await g.settled()
        offer = "Bring a summary along"
        assert (shown.text, labels(shown)) == ("second", ["◀", "2/2", "▶", offer])
        await g.chat.press(shown, "▶")
        await g.settled()
        assert (shown.text, labels(shown)) == ("third", ["◀", "1/2", "▶"])
        assert await path(store) == ["hello", "first", "go on", "third"]


async def test_the_message_links_to_what_it_shows(store: Store) -> None:
    async with gateway(numbered("first", "second"), store=store) as g:
        await talk(g, "hello", "first")
        shown = await talk(g, "/retry", "second")
        await g.chat.press(shown, "▶")
        await g.settled()
        linked = await store.read(lambda tx: tx.outbox.linked_entry("telegram:1", shown.id))
        assert linked is not None
        entry = await store.read(lambda tx: tx.tree.entry(linked))
        assert entry.body["content"] == "first"


async def test_of_two_people_who_press_an_arrow_the_second_is_told(store: Store) -> None:
    async with gateway(numbered("first", "second"), store=store) as g:
        await talk(g, "hello", "first")
        shown = await talk(g, "/retry", "second")
        buttons = shown.buttons
        await g.chat.press(shown, "◀", user="1")
        await g.settled()
        shown.buttons = buttons
        await g.chat.press(shown, "◀", user="2")
        await is_told(g, "Already done. User 1: ◀")
        assert shown.text == "first"


async def test_a_long_answer_is_begun_by_an_arrow_and_read_on_by_a_button(store: Store) -> None:
    long = "\n".join(f"{number:04}" for number in range(500))
    chat = RecordingAdapter(name="telegram", limit=1000)
    async with gateway(numbered(long, "short"), store=store, chat=chat) as g:
        await talk(g, "hello", "0499")
        shown = await talk(g, "/retry", "short")
        await g.chat.press(shown, "◀")
        await g.settled()
        assert long.startswith(shown.text)
        assert labels(shown) == ["◀", "1/2", "▶", "Read on"]
        assert len(g.chat.texts()) == 4
        await g.chat.press(shown, "Read on")
        await g.settled()
        after = g.chat.texts()[3:]
        assert "".join(after) == long
        assert labels(list(g.chat.shown.values())[-1]) == ["◀", "1/2", "▶"]


async def test_a_typed_sibling_works_too_and_an_unknown_one_is_told(store: Store) -> None:
    async with gateway(numbered("first", "second"), store=store) as g:
        await talk(g, "hello", "first")
        await talk(g, "/retry", "second")
        await talk(g, "/sibling #99", "There is no such entry here")
        await talk(g, "/sibling #2", "first")
        assert await path(store) == ["hello", "first"]


async def test_an_arrow_from_before_new_goes_back_to_that_conversation(store: Store) -> None:
    async with gateway(numbered("first", "second", "third"), store=store) as g:
        await talk(g, "hello", "first")
        shown = await talk(g, "/retry", "second")
        await talk(g, "/new", "A new conversation")
        await g.chat.press(shown, "◀")
        await g.settled()
        assert await path(store) == ["hello", "first"]
