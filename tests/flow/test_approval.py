"""A call that a person must agree to: asked for in full, run at most once, bound to just that."""

import asyncio
from pathlib import Path

import pytest

from adapters.recording import RecordingAdapter, Shown
from agent.tools.approval.guard import MOST_WAITING
from agent.tools.base import Effects, Traits
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.approving import ASKED, Launch, launches, question_of, rule
from tests.flow.conftest import ON_BOTH, PATIENCE, SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    asked,
    calls,
    delegates,
    reports,
    says,
    tool_results,
)

LABELS = ["Once", "For 1 hour", "For this conversation", "Deny", "Answer in words"]
RULES = [launches("a; b"), ANSWER]


@ON_BOTH
async def test_a_call_is_shown_in_full_and_runs_once_after_a_press(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        question = await question_of(g)
        for part in ("```sh\na; b\n```", "the yard", "User 1", "telegram:1", "of this chat"):
            assert part in question.text
        assert [button.label for button in question.buttons] == LABELS
        assert tool.launched == []
        await g.chat.press(question, "Once")
        await g.hears("result: launched a; b")
        await g.settled()
        assert tool.launched == ["a; b"]
        assert "✅ User 1: Once" in g.chat.shown[question.id].text
        ((_, who, details, _),) = await store.read(lambda tx: tx.directory.audits("decision"))
        assert (who, details["tool"], details["shown"]) == ("telegram:1", "launch", "a; b")


async def test_a_call_that_is_denied_is_not_run_and_the_model_is_told_by_whom(
    store: Store,
) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        await g.chat.press(await question_of(g), "Deny")
        await g.hears("result: Error: Denied by User 1.")
        assert tool.launched == []


async def test_words_are_an_instruction_and_no_approval(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        question = await question_of(g)
        await g.chat.press(question, "Answer in words", words="yes, but tomorrow")
        heard = await g.hears("result: Error: not run.")
        assert "User 1 answered in words" in heard.text
        assert "yes, but tomorrow\n</answer-" in heard.text
        assert tool.launched == []


async def test_talk_decides_nothing(store: Store) -> None:
    tool = Launch()
    rules = [launches("a"), says("hello", tier="parent", last="^yes"), ANSWER]
    async with gateway(rules, store=store, tools=[tool]) as g:
        question = await question_of(g)
        await g.chat.say("yes, once, I approve")
        await g.hears("hello")
        await g.settled()
        assert tool.launched == []
        assert question.buttons
        await g.chat.press(question, "Once")
        await g.hears("launched a")


async def test_what_a_conversation_allowed_runs_again_there_and_nothing_else_does(
    store: Store,
) -> None:
    tool = Launch()
    rules = [
        launches("a"),
        launches("a", last="^again"),
        launches("a b", last="^other"),
        says("new", tier="parent", last="^hi"),
        ANSWER,
    ]
    async with gateway(rules, store=store, tools=[tool]) as g:
        await g.chat.press(await question_of(g), "For this conversation")
        await g.hears("result: launched a")
        await g.chat.say("again")
        await g.hears("result: launched a", count=2)
        assert tool.launched == ["a", "a"]
        await g.chat.press(await question_of(g, "other"), "Deny")
        await g.hears("Denied")
        tool.where = "another yard"
        await g.chat.press(await question_of(g, "again"), "Deny")
        await g.hears("Denied", count=2)
        tool.where = "the yard"
        await g.chat.say("again", chat="2")
        await g.settled()
        await g.chat.say("/new")
        await g.chat.press(await question_of(g, "again"), "Deny")
        await g.settled()
        assert tool.launched == ["a", "a"]
        ((_, who, details, _),) = await store.read(lambda tx: tx.directory.audits("grant"))
        assert (who, details["shown"]) == ("telegram:1", "a")


async def test_a_call_that_is_another_by_the_time_it_is_approved_is_not_run(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        question = await question_of(g)
        tool.where = "somewhere else"
        await g.chat.press(question, "Once")
        await g.hears("is not what was approved")
        assert tool.launched == []


async def test_one_question_decides_one_call(store: Store) -> None:
    tool = Launch()
    rules = [launches("a", "b"), ANSWER]
    async with gateway(rules, store=store, tools=[tool]) as g:
        await g.chat.say("go")
        first, second = await asked(g, "\na\n"), await asked(g, "\nb\n")
        await g.chat.press(second, "Once")
        await g.settled()
        assert tool.launched == ["b"]
        assert first.buttons
        await g.chat.press(first, "Deny")
        await g.settled()
        assert tool.launched == ["b"]


async def test_of_two_presses_the_first_decides(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        question = await question_of(g)
        pressed = Shown(question.id, question.conversation, question.text, question.buttons)
        await asyncio.gather(g.chat.press(pressed, "Deny"), g.chat.press(pressed, "Once"))
        await g.chat.press(pressed, "Once")
        await g.hears("Denied")
        await g.settled()
        assert tool.launched == []


async def test_a_press_from_elsewhere_or_by_who_may_not_changes_nothing(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        question = await question_of(g)
        await g.chat.press(question, "Once", user="2")
        elsewhere = type(question.conversation)("telegram", "2")
        moved = Shown(question.id, elsewhere, question.text, question.buttons)
        await g.chat.press(moved, "Once")
        await g.settled()
        assert tool.launched == []
        assert question.buttons
        ((_, who, details, _),) = await store.read(lambda tx: tx.directory.audits("denied press"))
        assert (who, details["choice"]) == ("telegram:2", "once")


async def test_stop_withdraws_the_question_and_a_late_press_runs_nothing(store: Store) -> None:
    tool = Launch()
    rules = [*RULES[:1], says("{last}", tier="parent", last="."), ANSWER]
    async with gateway(rules, store=store, tools=[tool]) as g:
        question = await question_of(g)
        late = Shown(question.id, question.conversation, question.text, question.buttons)
        await g.chat.say("/stop")
        await g.hears("Stopped")
        await g.settled()
        assert not question.buttons
        assert "Withdrawn" in question.text
        await g.chat.press(late, "Once")
        await g.chat.say("well?")
        await g.settled()
        assert tool.launched == []
        assert "stopped before anybody decided" in tool_results(g.model.requests[-1])[-1]


async def test_approvers_of_calls_are_the_only_ones_who_may_decide(store: Store) -> None:
    tool = Launch()
    config = {
        "tools": {"approvers": ["telegram:7"]},
        "escalation": {"levels": [{"approvers": ["telegram:5"], "after": "0s"}]},
    }
    async with gateway(RULES, store=store, tools=[tool], config=config) as g:
        question = await question_of(g)
        for user in ("1", "5"):
            await g.chat.press(question, "Once", user=user)
        await g.settled()
        assert tool.launched == []
        await g.chat.press(question, "Once", user="7")
        await g.hears("launched")


@pytest.mark.parametrize(
    ("rules", "launched", "told"),
    [
        ([rule("allow")], ["a; b"], "launched a; b"),
        ([rule("allow", "^a; b$")], ["a; b"], "launched a; b"),
        ([rule("deny", r"^b\b")], [], "Error: launch is not allowed here: rule 1 of"),
        ([rule("allow", "^z"), rule("deny", tool="l*")], [], "rule 2 of"),
    ],
)
async def test_rules_come_first(
    store: Store, rules: list[dict[str, str]], launched: list[str], told: str
) -> None:
    tool = Launch()
    config = {"tools": {"rules": rules}}
    async with gateway(RULES, store=store, tools=[tool], config=config) as g:
        await g.chat.say("go")
        await g.hears(told)
        assert tool.launched == launched
        denied = await store.read(lambda tx: tx.directory.audits("denied call"))
        assert len(denied) == (not launched)


async def test_a_rule_for_one_command_asks_for_a_chain(store: Store) -> None:
    config = {"tools": {"rules": [rule("allow", r"^a\b")]}}
    async with gateway(RULES, store=store, tools=[Launch()], config=config) as g:
        assert "a; b" in (await question_of(g)).text


async def test_a_rule_makes_a_tool_ask_that_else_runs(store: Store) -> None:
    tool = Launch()
    tool.traits = Traits(Effects.CHANGES)
    config = {"tools": {"rules": [rule("ask", "b")]}}
    rules = [launches("a; b"), launches("a", last="^safe"), ANSWER]
    async with gateway(rules, store=store, tools=[tool], config=config) as g:
        await g.chat.say("safe")
        await g.hears("launched a")
        await question_of(g)
        assert tool.launched == ["a"]


async def test_an_overseer_asks_nobody(store: Store) -> None:
    """What it looks with may ask only where a rule says so; it goes on without."""
    tool = Launch()
    tool.traits = Traits(Effects.READS)
    table = [
        {"condition": "There", "branches": {"seen": {"action": "report"}}},
        {"default": {"action": "escalate", "tier": "overseer"}},
    ]
    rules = [
        delegates({"goal": "fly", "branch_table": table}),
        reports("default", "default", last="Task: fly"),
        launches("a", last="why_escalated", tier="overseer"),
        calls("resolve", {"summary": "as told: {last}"}, tier="overseer"),
        ANSWER,
    ]
    config = {"tools": {"rules": [rule("ask")]}}
    async with gateway(rules, store=store, tools=[tool], config=config) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        assert "no person can be asked" in tool_results(g.model.of("overseer")[-1])[-1]
        assert tool.launched == []


async def test_nobody_is_asked_for_what_is_never_done(store: Store) -> None:
    async with gateway([launches("never"), ANSWER], store=store, tools=[Launch()]) as g:
        await g.chat.say("go")
        await g.hears("result: Error: that is never launched")


async def test_nobody_is_asked_for_what_they_cannot_read(store: Store) -> None:
    async with gateway([launches("x" * 20_000), ANSWER], store=store, tools=[Launch()]) as g:
        await g.chat.say("go")
        await g.hears("too long to be shown to them in full")


async def test_secrets_are_taken_out_of_results_before_anybody_sees_them(store: Store) -> None:
    tool, secret = Launch(), "planted-secret-1234"
    tool.says = f"{{}} {secret}"
    config = {
        "models": {"parent": {"model": "demo:x", "api_key": secret}},
        "tools": {"rules": [rule("allow")]},
    }
    async with gateway(RULES, store=store, tools=[tool], config=config) as g:
        await g.chat.say("go")
        await g.hears("result: a; b [redacted]")
        assert all(secret not in str(request.messages) for request in g.model.requests)


async def test_an_approval_outlives_a_restart(database: str) -> None:
    model, tool = SpyModel(RULES), Launch()
    async with gateway(store=await SqlStore.open(database), model=model, tools=[tool]) as g:
        question = await question_of(g)
        await g.settled()
    chat = RecordingAdapter(name="telegram", shown={question.id: question})
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, tools=[tool]) as g:
        await g.chat.press(question, "Once")
        await g.hears("result: launched a; b")
        assert tool.launched == ["a; b"]


async def test_a_decided_call_that_began_and_was_cut_off_is_not_run_again(database: str) -> None:
    model, tool = SpyModel(RULES), Launch(hangs=True)
    async with gateway(store=await SqlStore.open(database), model=model, tools=[tool]) as g:
        await g.chat.press(await question_of(g), "For this conversation")
        async with asyncio.timeout(PATIENCE):
            await tool.began.wait()
    async with gateway(store=await SqlStore.open(database), model=model, tools=[tool]) as g:
        await g.hears("result: interrupted, outcome unknown")
        await g.settled()
        assert tool.launched == ["a; b"]


async def test_a_file_that_no_rule_lets_be_read_is_not_handed_over(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "open").write_text("weather: fine, key: planted-secret-1234")
    (tmp_path / "shut").write_text("the vault is under the oak")
    rules = [
        delegates({"goal": "look", "handoff": {"read_files": ["open", "./shut"]}}),
        says("done"),
        ANSWER,
    ]
    config = {
        "tools": {
            "toolsets": ["file"],
            "workspace": str(tmp_path),
            "rules": [rule("deny", "shut", tool="read_file")],
        },
        "models": {"parent": {"model": "demo:x", "api_key": "planted-secret-1234"}},
    }
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        told = str([request.messages for request in g.model.requests])
        assert "weather: fine, key: [redacted]" in told
        assert "oak" not in told


async def test_a_model_that_asks_without_end_is_stopped(store: Store) -> None:
    what = [f"rocket {number}" for number in range(15)]
    more = [f"ship {number}" for number in range(15)]
    rules = [launches(*what), launches(*more, last="^more"), launches("one", last="^last"), ANSWER]
    async with gateway(rules, store=store, tools=[Launch()]) as g:
        for text in ("go", "more", "last"):
            await g.chat.say(text)
            await g.settled()
        await g.hears("calls of this conversation wait for a person already")
        asked = len(await store.read(lambda tx: tx.questions.open()))
        assert MOST_WAITING <= asked <= len(what + more)  # calls made at once see few of each other


async def test_nobody_decides_by_waiting(store: Store) -> None:
    tool = Launch()
    config = {"escalation": {"timeout": "1s"}}
    async with gateway(RULES, store=store, tools=[tool], config=config) as g:
        await g.chat.say("go")
        await g.hears("result: Error: not run. Nobody decided in time.")
        await g.settled()
        (question,) = [shown for shown in g.chat.shown.values() if ASKED in shown.text]
        assert tool.launched == []
        assert not question.buttons
