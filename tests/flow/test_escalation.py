"""Delegations along branch tables, from the message to the decision to the answer."""

import asyncio
import json
import time
from typing import Any

import pytest

from adapters.base import Acknowledge, Edit
from adapters.recording import RecordingAdapter
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import ON_BOTH, Gateway, SpyModel, gateway

pytestmark = ON_BOTH

TABLE = [
    {
        "condition": "Page loads",
        "checks": ["toggle visible"],
        "branches": {
            "ok": {"action": "report_with_evidence"},
            "broken": {"action": "escalate", "tier": "overseer", "prompt": "Investigate"},
        },
    },
    {
        "condition": "Page is gone",
        "branches": {
            "match": {"action": "escalate", "tier": "human", "prompt": "URL may be dead"},
            "moved": "report",
        },
    },
    {"condition": "Page wants a login", "branch": {"action": "report", "format": "Auth-gated"}},
    {"default": {"action": "escalate", "tier": "overseer", "prompt": "{observed_state}"}},
]


def delegate(table: Any = None, **more: Any) -> dict[str, Any]:
    arguments = {"goal": "check the page", "branch_table": TABLE if table is None else table}
    return {
        "when": {"tier": "parent", "last": "^go"},
        "reply": {"tool_calls": [{"name": "delegate_task", "arguments": arguments | more}]},
    }


def call(tier: str, name: str, arguments: dict[str, Any], **when: Any) -> dict[str, Any]:
    reply = {"tool_calls": [{"name": name, "arguments": arguments}]}
    return {"when": {"tier": tier, **when}, "reply": reply}


def report(condition: Any, branch: str, evidence: str = "seen", **more: Any) -> dict[str, Any]:
    when = more.pop("when", {})
    arguments = {"condition": condition, "branch": branch, "evidence": evidence} | more
    return call("worker", "report_outcome", arguments, **when)


ANSWER = {"when": {"tier": "parent"}, "reply": {"text": "result: {last}"}}


def results_in(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.removeprefix("result: "))["results"][0]
    return found


async def ask(g: Gateway) -> dict[str, Any]:
    await g.chat.say("go")
    return results_in((await g.hears("result: ")).text)


async def test_a_worker_that_matches_gives_the_result(store: Store) -> None:
    good = report(1, "ok", "toggle is there", checks={"toggle visible": True})
    rules = [delegate(), good, ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask(g)
        assert (result["status"], result["branch"]) == ("completed", "ok")
        assert (result["resolved_by"], result["summary"]) == ("worker", "toggle is there")
        assert len(g.model.of("worker")) == 1


async def test_the_worker_gets_the_table_and_only_its_own_tools(store: Store) -> None:
    async with gateway([delegate(), report(3, "match"), ANSWER], store=store) as g:
        assert (await ask(g))["summary"] == "Auth-gated"
        request = g.model.of("worker")[0]
        names = {tool["function"]["name"] for tool in request.tools}
        assert names == {"think", "report_outcome"}
        assert "Page wants a login" in request.messages[0]["content"]
        assert "check the page" in request.messages[1]["content"]


async def test_an_overseer_extends_the_table_and_the_worker_matches(store: Store) -> None:
    condition = {"description": "A captcha", "branches": {"seen": {"action": "report"}}}
    rules = [
        delegate(),
        report("A captcha", "seen", "a captcha", when={"last": "A captcha"}),
        report("default", "default", "?", observed_state="a captcha"),
        call("overseer", "extend_table", {"conditions": [condition], "reason": "missing"}),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask(g)
        assert (result["status"], result["branch"]) == ("completed", "seen")
        assert len(g.model.of("worker")) == 2
        assert "a captcha" in g.model.of("overseer")[0].messages[-1]["content"]


async def test_the_parent_sees_only_the_resolution(store: Store) -> None:
    resolve = {"summary": "Renamed", "branch": "broken", "evidence": "changelog"}
    rules = [
        delegate(),
        report(1, "broken", "INTERMEDIATE"),
        call("overseer", "resolve", resolve),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask(g)
        assert (result["resolved_by"], result["summary"]) == ("overseer", "Renamed")
        assert "INTERMEDIATE" not in str(g.model.of("parent")[-1].messages)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "branch_table"),
        ([{"condition": "x", "branch": {"action": "explode"}}], "explode"),
        ([{"condition": "x", "branch": {"action": "escalate", "tier": "god"}}], "god"),
        ("a: [unclosed", "branch_table"),
        ([{"condition": "x", "branch": {"action": "report", "format": "{prompt}"}}], "prompt"),
        ("x" * 1_000_000, "branch_table"),
        (5, "branch_table"),
    ],
)
async def test_a_malformed_table_is_a_tool_error_and_the_turn_goes_on(
    store: Store, table: Any, said: str
) -> None:
    async with gateway([delegate(table), ANSWER], store=store) as g:
        await g.chat.say("go")
        shown = await g.hears("result: Error: ")
        assert said in shown.text
        assert g.model.of("worker") == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"goal": ""}, "goal"),
        ({"model": "no-such"}, "no-such"),
        ({"toolsets": ["rocket"]}, "rocket"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"tasks": [{"goal": "x"}]}, "not both"),
    ],
)
async def test_bad_arguments_are_a_tool_error(
    store: Store, arguments: dict[str, Any], said: str
) -> None:
    async with gateway([delegate(**arguments), ANSWER], store=store) as g:
        await g.chat.say("go")
        assert said in (await g.hears("result: Error: ")).text


GONE = [delegate(), report(2, "match", "404 not found"), ANSWER]


async def test_a_person_decides_by_a_button_and_the_answer_arrives(store: Store) -> None:
    async with gateway(GONE, store=store) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        assert [button.label for button in question.buttons] == [
            "Moved",
            "Answer in words",
            "Try again",
            "Stop",
            "Other outcomes…",
        ]
        await g.chat.press(question, "Other outcomes…")
        await g.settled()
        assert [button.label for button in question.buttons] == [
            "Ok",
            "Page wants a login",
            "Back",
        ]
        await g.chat.press(question, "Page wants a login")
        result = results_in((await g.hears("result: ")).text)
        assert (result["status"], result["resolved_by"]) == ("completed", "human")
        await g.settled()
        assert question.buttons == ()
        assert "User 1: " in question.text


async def test_only_approvers_decide_and_the_first_press_wins(store: Store) -> None:
    access = {"access": {"allow": ["telegram:*"], "approvers": ["telegram:2", "telegram:3"]}}
    async with gateway(GONE, store=store, config=access) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        stop = next(button for button in question.buttons if button.label == "Stop")
        again = next(button for button in question.buttons if button.label == "Try again")
        await g.chat.press(question, "Stop", user="1")
        await asyncio.gather(
            g.chat.press(question, "Stop", user="2"), g.chat.press(question, "Try again", user="3")
        )
        assert stop.token != again.token
        result = results_in((await g.hears("result: ")).text)
        assert result["status"] == "rejected"
        await g.settled()
        told = [out.text for out in g.chat.outgoing if isinstance(out, Acknowledge)]
        assert told[0].startswith("You may not decide")
        assert told[1] == ""
        assert "User 2: Stop" in told[2]
        audits = [what for what, *_ in await store.read(lambda tx: tx.directory.audits())]
        assert audits.count("decision") == 1
        assert audits.count("denied press") == 1


async def test_forged_and_foreign_presses_decide_nothing(store: Store) -> None:
    async with gateway(GONE, store=store) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        elsewhere = type(question)("m99", type(question.conversation)("telegram", "66"), "", ())
        elsewhere.buttons = question.buttons
        await g.chat.press(elsewhere, "Stop")
        forged = type(question)("m98", question.conversation, "", ())
        forged.buttons = tuple(
            type(button)(button.label, button.token[:-1]) for button in question.buttons
        )
        await g.chat.press(forged, "Stop")
        await g.settled()
        open_questions = await store.read(lambda tx: tx.questions.open())
        assert len(open_questions) == 1


async def test_try_again_runs_the_worker_again(store: Store) -> None:
    rules = [delegate(), report(2, "match", "404") | {"times": 1}, report(3, "match"), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.chat.press(await g.hears("URL may be dead"), "Try again")
        assert results_in((await g.hears("result: ")).text)["resolved_by"] == "worker"


async def test_every_level_gets_its_copy_and_all_are_closed(store: Store) -> None:
    levels = [{"to": ["telegram:50"]}, {"to": ["telegram:60"], "after": "0.1s"}]
    async with gateway(GONE, store=store, config={"escalation": {"levels": levels}}) as g:
        await g.chat.say("go")
        await g.hears("URL may be dead", chat="1")
        copy = await g.hears("URL may be dead", chat="50")
        await g.hears("URL may be dead", chat="60")
        await g.chat.press(copy, "Stop")
        await g.hears("result: ")
        await g.settled()
        edits = {out.conversation.chat for out in g.chat.outgoing if isinstance(out, Edit)}
        assert edits == {"1", "50", "60"}


async def test_a_question_expires_with_the_configured_outcome(store: Store) -> None:
    escalation = {"escalation": {"timeout": "0.2s", "on_timeout": "rejected"}}
    async with gateway(GONE, store=store, config=escalation) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        result = results_in((await g.hears("result: ")).text)
        assert (result["status"], result["exit_reason"]) == ("rejected", "expired")
        await g.settled()
        assert question.buttons == ()


async def test_a_press_after_expiry_is_too_late_even_before_anybody_noticed(store: Store) -> None:
    async with gateway(GONE, store=store, config={"escalation": {"timeout": "1h"}}) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        assert isinstance(store, SqlStore)
        store._clock = lambda: time.time() + 2 * 3_600
        await g.chat.press(question, "Moved")
        result = results_in((await g.hears("result: ")).text)
        assert result["status"] == "rejected"


async def test_talk_goes_on_while_a_question_is_open(store: Store) -> None:
    rules = [*GONE[:2], {"when": {"last": "^hello"}, "reply": {"text": "still here"}}, ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        await g.chat.say("hello?")
        await g.hears("still here")
        waiting = [m for m in g.model.of("parent")[-1].messages if m["role"] == "tool"]
        assert "waiting for a decision" in waiting[0]["content"]
        await g.chat.press(question, "Stop")
        shown = await g.hears("rejected")
        assert g.model.of("parent")[-1].messages[-1]["role"] == "user"
        assert "rejected" in shown.text


async def test_stop_withdraws_what_waits_for_people(store: Store) -> None:
    async with gateway(GONE, store=store) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        await g.settled()
        assert "Withdrawn" in question.text
        assert await store.read(lambda tx: tx.questions.open()) == []
        assert len(g.model.of("parent")) == 1


async def test_after_new_the_answer_still_reaches_the_chat(store: Store) -> None:
    async with gateway(GONE, store=store) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
        await g.chat.say("/new")
        await g.hears("A new conversation")
        await g.chat.press(question, "Stop")
        assert results_in((await g.hears("result: ")).text)["status"] == "rejected"


async def test_questions_lists_what_is_open_with_fresh_buttons(store: Store) -> None:
    async with gateway(GONE, store=store) as g:
        await g.chat.say("/questions")
        await g.hears("No question is open.")
        await g.chat.say("go")
        await g.hears("URL may be dead")
        await g.chat.say("/questions")
        fresh = await g.hears("URL may be dead", count=2)
        await g.chat.press(fresh, "Stop")
        await g.hears("result: ")


async def test_agents_shows_the_delegation_with_its_cost(store: Store) -> None:
    rules = [delegate(), report(3, "match"), ANSWER]
    models = {
        "models": {
            "parent": {"model": "demo", "input_cost": 1e-6, "output_cost": 1e-6},
            "worker": {"model": "demo-small", "input_cost": 1e-6, "output_cost": 1e-6},
        }
    }
    async with gateway(rules, store=store, config=models) as g:
        await ask(g)
        await g.chat.say("/agents")
        shown = await g.hears("completed · worker")
        assert "check the page" in shown.text
        assert "demo-small" in shown.text
        assert "$0.0" in shown.text


async def test_interrupted_children_report_it(store: Store) -> None:
    slow = {"when": {"tier": "worker"}, "reply": {"text": "x", "delay": 60}}
    rules = [delegate(), slow, {"reply": {"text": "answer to {last}"}}]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        while not g.model.of("worker"):
            await asyncio.sleep(0.01)
        await g.chat.say("never mind")
        await g.hears("answer to never mind")
        tools = [m for m in g.model.of("parent")[-1].messages if m["role"] == "tool"]
        assert results_in(tools[0]["content"])["status"] == "interrupted"


async def test_a_question_survives_a_restart(database: str) -> None:
    chat, model = RecordingAdapter(name="telegram"), SpyModel(GONE)
    async with gateway(store=await SqlStore.open(database), chat=chat, model=model) as g:
        await g.chat.say("go")
        question = await g.hears("URL may be dead")
    chat2 = RecordingAdapter(name="telegram", shown={"m1": question})
    async with gateway(store=await SqlStore.open(database), chat=chat2, model=model) as g:
        await g.chat.press(question, "Stop")
        assert results_in((await g.hears("result: ")).text)["status"] == "rejected"
        await g.settled()
        assert question.buttons == ()
    assert len(model.of("worker")) == 1


async def test_several_delegations_in_one_turn_all_run_and_some_may_wait(store: Store) -> None:
    first = {"name": "delegate_task", "arguments": {"goal": "one", "branch_table": TABLE}}
    second = {"name": "delegate_task", "arguments": {"goal": "two", "branch_table": TABLE}}
    rules = [
        {"when": {"last": "^go"}, "reply": {"tool_calls": [first, second]}},
        report(2, "match", "404", when={"last": "Task: one"}),
        report(3, "match", "login", when={"last": "Task: two"}),
        {"when": {"tier": "parent", "last": "Auth-gated"}, "reply": {"text": "two is done"}},
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("two is done")
        await g.chat.press(await g.hears("URL may be dead"), "Stop")
        await g.hears("rejected")
