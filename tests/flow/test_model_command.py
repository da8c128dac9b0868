"""/model: which model answers on a branch, and choosing another."""

import json
from typing import Any

import pytest

from storage.records.entries import Kind
from storage.records.inbox_outbox import InboxKind
from storage.records.tools.notes import NoteDraft, NoteOwner, NoteScope
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.alternatives import numbered, path_entries
from tests.flow.chatting import ECHO, GROUP, SlowModel, bound, command, labels, press, talk
from tests.flow.conftest import ON_BOTH, Gateway, gateway

MODELS: dict[str, Any] = {
    "models": {
        "parent": {"model": "scripted:parent"},
        "worker": {"model": "scripted:worker", "input_cost": 1e-6, "output_cost": 2e-6},
        "presets": {
            "cheap": {"model": "scripted:cheap", "input_cost": 5e-8, "output_cost": 4e-7},
            "odd*name": {"model": "scripted:o", "reasoning_effort": "low"},
        },
    }
}
PI_MESSAGE = {"role": "user", "content": "to Rome", "timestamp": 0}
SUMMARY = {"when": {"system": "^You condense"}, "reply": {"text": "SUMMARY"}}


def asked(g: Gateway) -> str:
    """The name of the model that was asked last."""
    return g.model.requests[-1].spec.name


async def changes(store: Store) -> list[str]:
    """What was chosen on the path of the conversation."""
    path = await path_entries(store)
    return [entry.body["model"] for entry in path if entry.kind is Kind.MODEL_CHANGE]


async def test_it_lists_the_models_with_their_prices_and_says_which_answers(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        shown = await command(g, "/model")
        assert "**parent** answers here. Choose another for this branch:" in shown.text
        assert "● **parent** · scripted:parent · price not known" in shown.text
        assert "• **worker** · scripted:worker · $1.00 in, $2.00 out" in shown.text
        assert "• **cheap** · scripted:cheap · $0.05 in, $0.40 out for a million" in shown.text
        assert "• **odd\\*name** · scripted:o · effort low" in shown.text
        assert "overseer" not in shown.text and "judge" not in shown.text
        assert labels(shown) == ["worker", "cheap", "odd*name"]
        assert g.model.requests == []


async def test_what_was_chosen_answers_from_then_on(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "one")
        shown = await command(g, "/model cheap")
        assert "**cheap** answers on this branch from the next message on." in shown.text
        assert labels(shown) == ["Ask it the last message", "The usual one"]
        for text in ("two", "three"):
            await talk(g, text)
            assert asked(g) == "cheap"
        assert "it was chosen on this branch" in (await command(g, "/model")).text
        assert await changes(store) == ["cheap"]
        (entry,) = (e for e in await path_entries(store) if e.kind is Kind.MODEL_CHANGE)
        assert entry.author == "telegram:1"


async def test_a_press_chooses_and_another_takes_it_back(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "one")
        shown = await press(g, await command(g, "/model"), "cheap")
        await talk(g, "two")
        assert asked(g) == "cheap"
        shown = await command(g, "/model")
        assert labels(shown) == ["parent", "worker", "odd*name", "The usual one"]
        await press(g, shown, "The usual one")
        await talk(g, "three")
        assert asked(g) == "parent"
        assert await changes(store) == ["cheap", ""]


async def test_the_last_message_is_asked_again_by_a_press(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "one")
        await press(g, await command(g, "/model cheap"), "Ask it the last message")
        assert asked(g) == "cheap" and len(g.model.requests) == 2


async def test_retry_with_a_name_goes_before_it_and_changes_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "/model cheap")
        await talk(g, "one")
        await talk(g, "/retry worker")
        assert asked(g) == "worker"
        await talk(g, "two")
        assert asked(g) == "cheap"
        assert await changes(store) == ["cheap"]


async def test_it_belongs_to_the_branch_it_was_chosen_on(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "one")  # 1, 2
        await talk(g, "two")  # 3, 4
        await talk(g, "/model cheap")  # 5
        await talk(g, "three")  # 6, 7
        await talk(g, "/branch 2")
        await talk(g, "beside")
        assert asked(g) == "parent"
        await talk(g, "/goto 7")
        await talk(g, "four")
        assert asked(g) == "cheap"
        await talk(g, "/undo 2")
        await talk(g, "five")
        assert asked(g) == "cheap"
        await talk(g, "/undo")
        await talk(g, "/redo")
        await talk(g, "six")
        assert asked(g) == "cheap"
        assert "🔀 cheap" in (await command(g, "/tree all")).text


@ON_BOTH
async def test_it_outlives_a_restart_a_fork_and_a_compaction(store: Store, database: str) -> None:
    config = {**MODELS, "session": {"keep_recent_tokens": 1}}
    async with gateway([SUMMARY, *ECHO], store=store, config=config) as g:
        await talk(g, "one")
        await talk(g, "/model cheap")
        await talk(g, "two")
        await talk(g, "three")
        assert "Compacted at" in (await command(g, "/compact")).text or await g.hears("Compacted")
        assert asked(g) == "cheap"  # it wrote the summary, too
        await talk(g, "four")
        assert "SUMMARY" in str(g.model.requests[-1].messages)
        assert asked(g) == "cheap"
        chat = g.chat
    again = await SqlStore.open(database)
    async with gateway([SUMMARY, *ECHO], store=again, config=config, chat=chat) as g:
        await talk(g, "five")
        assert asked(g) == "cheap"
        await talk(g, "/fork")
        await talk(g, "six")
        assert asked(g) == "cheap"
        await talk(g, "/model worker")
        await talk(g, "seven")
        assert asked(g) == "worker"
        await talk(g, "/new")
        await talk(g, "eight")
        assert asked(g) == "parent"


async def test_a_fan_without_names_asks_the_one_that_was_chosen(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "/model cheap")
        await talk(g, "one")
        await talk(g, "/fan 2")
        assert [r.spec.name for r in g.model.requests] == ["cheap"] * 3
        await talk(g, "/fan 2 worker")
        assert asked(g) == "worker"


async def test_a_summary_of_a_branch_is_by_the_model_of_where_one_arrives(store: Store) -> None:
    async with gateway([SUMMARY, *ECHO], store=store, config=MODELS) as g:
        await talk(g, "/model cheap")
        await talk(g, "one")
        await talk(g, "two")
        await talk(g, "/branch 3")
        await talk(g, "/summary")
        assert asked(g) == "cheap" and "condense" in str(g.model.requests[-1].messages[0])


async def test_it_may_be_chosen_before_anything_is_said(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        shown = await command(g, "/model cheap")
        assert labels(shown) == ["The usual one"]
        await talk(g, "one")
        assert asked(g) == "cheap"
        assert [m["content"] for m in g.model.requests[-1].messages[1:]] == ["one"]


async def test_notes_are_told_at_the_beginning_where_a_model_was_chosen_first(store: Store) -> None:
    owner = NoteOwner(NoteScope.PERSON, "telegram:1")
    draft = NoteDraft(owner.scope, owner.owner, "likes tea", "telegram:1", "telegram:1")
    await store.run(lambda tx: tx.notes.add(draft))
    config = {**MODELS, "tools": {"toolsets": ["memory"]}}
    async with gateway(ECHO, store=store, config=config) as g:
        await talk(g, "/model cheap")
        await talk(g, "hello")
        assert "likes tea" in str(g.model.requests[-1].messages[1]["content"])
        await talk(g, "/undo")
        await talk(g, "hello again")
        assert str(g.model.requests[-1].messages).count("likes tea") == 1


async def test_while_a_turn_runs_it_is_chosen_behind_that(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model, config=MODELS) as g:
        await g.chat.say("slow one")
        await model.began.wait()
        await g.chat.say("/model cheap")
        await g.hears("**cheap** is to answer here as soon as this turn is over.")
        model.may_go_on.set()
        await g.hears("**cheap** answers on this branch from the next message on.")
        await g.settled()
        kinds = [entry.kind for entry in await path_entries(store)]
        assert kinds == [Kind.MESSAGE, Kind.MESSAGE, Kind.MODEL_CHANGE]
        await talk(g, "two")
        assert [r.spec.name for r in model.requests] == ["parent", "cheap"]


async def test_talk_behind_one_that_waited_is_answered_with_what_it_interrupts_by_that_model(
    store: Store,
) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model, config=MODELS) as g:
        await g.chat.say("slow one")
        await model.began.wait()
        await g.chat.say("/model cheap")
        await g.hears("**cheap** is to answer here as soon as this turn is over.")
        await g.chat.say("two")
        await g.hears("**cheap** answers on this branch from the next message on.")
        model.may_go_on.set()
        await g.settled()
        assert [r.spec.name for r in model.requests] == ["cheap"]
        kinds = [entry.kind for entry in await path_entries(store)]
        assert kinds == [Kind.MESSAGE, Kind.MODEL_CHANGE, Kind.MESSAGE, Kind.MESSAGE]
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def test_one_that_waited_for_a_turn_is_chosen_where_that_is_stopped(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model, config=MODELS) as g:
        await g.chat.say("slow one")
        await model.began.wait()
        await g.chat.say("/model cheap")
        await g.hears("**cheap** is to answer here as soon as this turn is over.")
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        await g.hears("**cheap** answers on this branch from the next message on.")
        await g.settled()
        assert await changes(store) == ["cheap"]
        await talk(g, "two")
        assert asked(g) == "cheap"
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def test_one_that_waited_for_a_turn_is_not_lost_in_a_crash(
    store: Store, database: str
) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model, config=MODELS) as g:
        await g.chat.say("slow one")
        await model.began.wait()
        await g.chat.say("/model cheap")
        await g.hears("is to answer here")
    again = await SqlStore.open(database)
    rows = await again.read(lambda tx: tx.inbox.unfinished())
    assert [row.kind for row in rows] == [InboxKind.MESSAGE, InboxKind.MODEL]
    async with gateway(ECHO, store=again, config=MODELS, chat=g.chat) as g:
        await g.hears("**cheap** answers on this branch")
        await g.settled()
        assert await changes(again) == ["cheap"]


async def test_what_is_not_there_changes_nothing_and_says_what_is(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "one")
        shown = await command(g, "/model no*such\n# heading " + "x" * 200)
        assert shown.text.startswith("There is no model **no\\*such # heading x")
        assert "There are: **parent**, **worker**, **cheap**, **odd\\*name**." in shown.text
        assert len(shown.text) < 300
        assert await changes(store) == []


async def test_its_letters_count_whatever_their_case_and_a_slip_has_a_nearest(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        assert "**cheap** answers on this branch" in (await command(g, "/model CHEAP")).text
        assert "Did you mean /model cheap?" in (await command(g, "/model chaep")).text
        await talk(g, "one")
        assert asked(g) == "cheap"


async def test_a_new_conversation_says_that_a_model_that_waited_was_not_chosen(
    store: Store,
) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model, config=MODELS) as g:
        await g.chat.say("slow one")
        await model.began.wait()
        await g.chat.say("/model cheap")
        await g.hears("**cheap** is to answer here as soon as this turn is over.")
        shown = await command(g, "/new")
        assert "was not chosen any more: /model chooses it here." in shown.text
        assert await changes(store) == []
        assert "not chosen" not in (await command(g, "/new")).text


async def test_the_same_once_more_is_no_entry(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        assert "answers here already" in (await command(g, "/model default")).text
        await talk(g, "/model cheap")
        assert "**cheap** answers here already." in (await command(g, "/model cheap")).text
        assert await changes(store) == ["cheap"]


async def test_by_its_model_string_it_is_the_entry_of_that_name(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "/model scripted:cheap")
        assert await changes(store) == ["cheap"]


async def test_one_that_is_not_configured_any_more_is_said_and_the_usual_answers(
    store: Store, database: str
) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "/model cheap")
        chat = g.chat
    again = await SqlStore.open(database)
    async with gateway(ECHO, store=again, chat=chat) as g:
        await talk(g, "one")
        assert asked(g) == "parent"
        shown = await command(g, "/model")
        assert "**cheap** was chosen here, and is not configured any more: **parent**" in shown.text


async def test_a_model_that_is_called_default_is_chosen_by_that_name(store: Store) -> None:
    presets = {"default": {"model": "scripted:d"}}
    config = {"models": {"parent": {"model": "scripted:parent"}, "presets": presets}}
    async with gateway(ECHO, store=store, config=config) as g:
        assert labels(await command(g, "/model default")) == []
        await talk(g, "one")
        assert asked(g) == "default"
        await talk(g, "/model parent")
        await talk(g, "two")
        assert asked(g) == "parent"


async def test_who_may_not_talk_chooses_nothing_and_may_look(store: Store) -> None:
    access = {"allow": ["telegram:1"], "approvers": ["telegram:9"]}
    async with gateway(ECHO, store=store, config={**MODELS, "access": access}) as g:
        await talk(g, "hello", chat=GROUP)
        shown = await command(g, "/model", chat=GROUP, user="9")
        assert "answers here" in shown.text
        denied = "You may decide here, but not talk."
        assert denied in (await command(g, "/model cheap", chat=GROUP, user="9")).text
        await press(g, shown, "cheap", user="9")
        await talk(g, "again", chat=GROUP)
        assert asked(g) == "parent"


async def test_a_button_of_another_conversation_chooses_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "one")
        shown = await command(g, "/model")
        await talk(g, "/new")
        await press(g, shown, "cheap")
        assert "from another conversation" in g.chat.texts()[1]
        await talk(g, "two")
        assert asked(g) == "parent"


async def test_it_says_what_budgets_have_left_for_it(store: Store) -> None:
    budgets = {"conversation_day": 0.005, "person_day": 1.0}
    async with gateway(ECHO, store=store, config={**MODELS, "budgets": budgets}) as g:
        text = (await command(g, "/model")).text
        assert "Left today of the budget of this conversation: $0.005 of $0.005." in text
        assert "Left today of the budget of telegram:1: $1.00 of $1.00." in text
        assert "budgets stop it only once they are spent" in text
        shown = await command(g, "/model worker")
        assert "⚠️ An answer of it may cost $0.008192; $0.005 is left of the budget of this" in (
            shown.text
        )
        assert "⚠️" not in (await command(g, "/model cheap")).text


async def test_long_lists_are_bounded(store: Store) -> None:
    presets = {f"m{n}": {"model": f"scripted:{n}"} for n in range(40)}
    config = {"models": {"parent": {"model": "scripted:parent"}, "presets": presets}}
    async with gateway(ECHO, store=store, config=config) as g:
        shown = await command(g, "/model")
        assert "… and 21 more; /model NAME chooses one of those, too." in shown.text
        assert len(labels(shown)) == 12
        await talk(g, "/model m39")
        await talk(g, "one")
        assert asked(g) == "m39"
        assert await bound(store) is not None


@pytest.mark.parametrize("words", ["/model", "/model cheap"])
async def test_with_the_demo_model_alone_there_is_nothing_else(store: Store, words: str) -> None:
    async with gateway(ECHO, store=store) as g:
        shown = await command(g, words)
        assert "parent" in shown.text
        assert await bound(store) is None


async def test_what_waited_for_a_person_is_gone_on_with_by_what_was_chosen_meanwhile(
    store: Store,
) -> None:
    ask = {"name": "clarify", "arguments": {"question": "Which?", "choices": ["Red", "Blue"]}}
    rules = [{"when": {"last": "^go$"}, "reply": {"tool_calls": [ask]}}, *numbered("one", "two")]
    async with gateway(rules, store=store, config=MODELS) as g:
        await g.chat.say("go")
        shown = await g.hears("Which?")
        await g.settled()
        await talk(g, "/model cheap")
        await press(g, shown, "Blue")
        assert asked(g) == "cheap"
        told = g.model.requests[-1].messages
        assert [m["role"] for m in told[1:4]] == ["user", "assistant", "tool"]
        assert "chose: Blue" in str(told[-1]["content"])
        before = list(told)
        await talk(g, "and now")
        assert list(g.model.requests[-1].messages[: len(before)]) == before


async def test_an_export_brings_it_along_and_so_does_a_file_of_pi(store: Store) -> None:
    async with gateway(ECHO, store=store, config=MODELS) as g:
        await talk(g, "one")
        await talk(g, "/model cheap")
        await talk(g, "two")
        own = (await command(g, "/export")).upload
        assert own is not None
        written: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z"},
            {"type": "message", "id": "1", "parentId": None, "message": PI_MESSAGE},
            {"type": "model_change", "id": "2", "parentId": "1", "modelId": "scripted:worker"},
        ]
        lines = [json.dumps({"timestamp": "2026-01-01T00:00:00Z", **line}) for line in written]
        pi = "\n".join(lines).encode()
        for data, model in ((own.data, "cheap"), (pi, "worker")):
            await g.chat.say("/import", files={"it.jsonl": data})
            await g.settled()
            await talk(g, "three")
            assert asked(g) == model


PRICED: dict[str, Any] = {
    "models": {
        "parent": {"model": "scripted:p", "input_cost": 1e-6, "output_cost": 2e-6},
        "presets": {
            "cheap": {"model": "scripted:cheap", "input_cost": 5e-8, "output_cost": 4e-7},
            "dear": {"model": "scripted:dear", "input_cost": 5e-6, "output_cost": 2e-6},
            "unknown": {"model": "scripted:unknown"},
        },
    }
}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/model dear", "**dear** costs more than **parent**"),
        ("/model DEAR", "**dear** costs more"),
        ("/model scripted:dear", "**dear** costs more"),
        ("/model unknown", "**unknown** has no known price"),
        ("/retry dear", "**dear** costs more"),
        ("/fan 2 cheap dear", "**dear** costs more"),
    ],
)
async def test_a_member_chooses_no_dearer_model_and_is_told_who_may(
    store: Store, line: str, told: str
) -> None:
    async with gateway(ECHO, store=store, config=PRICED) as g:
        await talk(g, "one", chat="2", user="2")
        await g.chat.say(line, chat="2", user="2")
        shown = await g.hears(told, chat="2")
        assert "only owners, approvers and those in `dear_models`" in shown.text
        await talk(g, "two", chat="2", user="2")
        assert {request.spec.name for request in g.model.requests} == {"parent"}


@pytest.mark.parametrize("right", ["owners", "approvers", "dear_models"])
async def test_who_has_the_right_chooses_a_dearer_model(store: Store, right: str) -> None:
    access = {"allow": ["telegram:*"], "owners": ["telegram:9"], right: ["telegram:2"]}
    async with gateway(ECHO, store=store, config=PRICED | {"access": access}) as g:
        await talk(g, "one", chat="2", user="2")
        await g.chat.say("/model dear", chat="2", user="2")
        await g.hears("**dear** answers on this branch", chat="2")
        await talk(g, "two", chat="2", user="2")
        assert asked(g) == "dear"


async def test_a_member_chooses_what_costs_no_more(store: Store) -> None:
    async with gateway(ECHO, store=store, config=PRICED) as g:
        await g.chat.say("/model cheap", chat="2", user="2")
        await g.hears("**cheap** answers on this branch", chat="2")
        await g.chat.say("/model default", chat="2", user="2")
        await g.hears("**parent** answers on this branch", chat="2")
