"""clarify: the agent asks who it works for, who presses, writes or stays away."""

import asyncio
from dataclasses import replace
from typing import Any

from adapters.recording import RecordingAdapter, Shown
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import GROUP, labels
from tests.flow.conftest import ON_BOTH, Gateway, SpyModel, gateway
from tests.flow.delegating import ANSWER, asked, calls, says

ASK = calls(
    "clarify", {"question": "Which colour?", "choices": ["Red", "Blue"]}, tier="parent", last="go$"
)
TALK = says("so be it", tier="parent", last="talk$")
RULES = [ASK, TALK, ANSWER]
QUESTION = "Which colour?"


async def question(g: Gateway, *, chat: str = "1", user: str = "1") -> Shown:
    await g.chat.say("go", chat=chat, user=user, private=chat == user)
    shown = await asked(g, QUESTION)
    await g.settled()
    return shown


async def test_a_choice_is_told_to_the_agent_and_shown_on_the_question(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g)
        assert labels(shown) == ["Red", "Blue", "Answer in words"]
        await g.chat.press(shown, "Blue")
        await g.hears("result: 'User 1' (telegram:1) chose: Blue")
        await g.settled()
        assert not shown.buttons
        assert shown.text.endswith("✅ User 1: Blue")


async def test_buttons_show_no_markup_of_the_model(store: Store) -> None:
    choices = ["**Paris** or `Rome`", "*Paris* or Rome", "2 * 3 * 4"]
    asks = calls(
        "clarify", {"question": "Which colour?", "choices": choices}, tier="parent", last="go$"
    )
    async with gateway([asks, ANSWER], store=store) as g:
        shown = await question(g)
        assert labels(shown) == ["Paris or Rome", "2 * 3 * 4", "Answer in words"]
        await g.chat.press(shown, "Paris or Rome")
        await g.hears("chose: Paris or Rome")


@ON_BOTH
async def test_what_the_person_just_writes_is_their_answer(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g)
        await g.chat.say("green, like\ngrass")
        await g.hears("answered in words:\ngreen, like\ngrass")
        await g.settled()
        assert not shown.buttons
        assert len(g.model.of("parent")) == 2
        await g.chat.say("talk")
        await g.hears("so be it")


async def test_a_reply_and_the_words_of_a_form_answer_too(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g)
        await g.chat.say("mauve", reply_to=shown.id)
        await g.hears("result: 'User 1' (telegram:1) answered in words:\nmauve")


async def test_in_a_group_only_who_asked_or_an_owner_answers(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g, chat=GROUP, user="2")
        await g.chat.press(shown, "Red", user="3")
        await g.chat.say("talk", chat=GROUP, user="3", private=False)
        await g.hears("so be it", chat=GROUP)
        await g.chat.say("green", chat=GROUP, user="3", private=False, reply_to=shown.id)
        await g.hears("You may not decide this", chat=GROUP)
        await g.settled()
        assert labels(shown) == ["Red", "Blue", "Answer in words"]
        await g.chat.press(shown, "Red", user="1")
        await g.hears("'User 1' (telegram:1) chose: Red", chat=GROUP)


async def test_what_the_asker_writes_elsewhere_is_no_answer(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g, chat=GROUP, user="2")
        await g.chat.say("talk", chat="2", user="2")
        await g.hears("so be it", chat="2")
        await g.settled()
        assert shown.buttons
        await g.chat.say("green", chat=GROUP, user="2", private=False)
        await g.hears("answered in words:\ngreen", chat=GROUP)


async def test_commands_files_and_other_sessions_answer_nothing(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g)
        await g.chat.say("/questions")
        await g.hears("1 question is open")
        await g.chat.say("talk", files={"a.txt": b"x"})
        await g.settled()
        assert shown.buttons
        await g.chat.say("/new")
        await g.settled()
        await g.chat.say("talk")
        await g.hears("so be it")
        await g.settled()
        assert shown.buttons


async def test_on_a_branch_that_does_not_ask_words_are_talk(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await g.chat.say("talk")
        await g.hears("so be it")
        shown = await question(g)
        await g.chat.say("/undo")
        await g.settled()
        await g.chat.say("and talk")
        await g.hears("so be it", count=2)
        await g.settled()
        assert shown.buttons


async def test_with_two_open_questions_words_are_talk(store: Store) -> None:
    two = {
        "when": {"tier": "parent", "last": "go$"},
        "reply": {
            "tool_calls": [
                {"name": "clarify", "arguments": {"question": f"Which colour? {n}"}}
                for n in range(2)
            ]
        },
    }
    async with gateway([two, TALK, ANSWER], store=store) as g:
        await g.chat.say("go")
        await g.hears("Which colour? 0")
        await g.hears("Which colour? 1")
        await g.settled()
        await g.chat.say("talk")
        await g.hears("so be it")
        assert len(await store.read(lambda tx: tx.questions.open())) == 2


async def test_a_question_survives_a_restart_and_takes_words_after_it(database: str) -> None:
    model = SpyModel(RULES)
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model) as g:
        shown = await question(g)
    chat = RecordingAdapter(name="telegram", shown={shown.id: shown})
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat) as g:
        await g.chat.say("green", key="telegram:1:after")
        await g.hears("answered in words:\ngreen")
        await g.settled()
        assert len(model.of("parent")) == 2
        assert not shown.buttons


async def test_stop_takes_the_question_back(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g)
        await g.chat.say("/stop")
        await g.hears("Stopped")
        await g.settled()
        assert not shown.buttons
        await g.chat.say("talk")
        await g.hears("so be it")


async def test_a_question_that_nobody_answers_lapses(store: Store) -> None:
    config: dict[str, Any] = {"escalation": {"timeout": "1s"}}
    async with gateway(RULES, store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("result: Nobody answered in time")
        await g.settled()
        (shown,) = [s for s in g.chat.shown.values() if QUESTION in s.text]
        assert shown.text.endswith("⌛ Nobody decided in time: no answer.")


async def test_the_same_message_told_twice_answers_once(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await question(g)
        said = await g.chat.say("green")
        await g.hears("answered in words")
        await g.settled()
        await g.chat.say("green", key=said.key)
        await g.settled()
        assert len(g.model.of("parent")) == 2
        await g.chat.edit(said, "blue")
        await g.settled()
        assert len(g.model.of("parent")) == 2


async def test_a_decision_made_twice_at_once_counts_once(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        shown = await question(g)
        pressed = replace(shown)
        await asyncio.gather(
            g.chat.press(pressed, "Red"), g.chat.press(pressed, "Blue"), g.chat.say("talk")
        )
        await g.settled()
        decisions = await store.read(lambda tx: tx.directory.audits("decision"))
        assert len(decisions) == 1


async def test_others_are_not_shown_in_private_what_somebody_is_asked(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await question(g, chat=GROUP, user="2")
        await g.chat.say("/questions", chat="3", user="3")
        await g.hears("No question is open", chat="3")
        await g.chat.say("/questions", chat="2", user="2")
        await g.hears(QUESTION, chat="2")
