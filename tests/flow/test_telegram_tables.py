"""The tables of the branch-table proposal, every branch, through Telegram and litellm."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.records.entries import Json
from tests.flow.telegram_gateway import (
    ANSWER,
    TelegramGateway,
    call,
    delegate,
    report,
    result_of,
    results_in,
    says,
    telegram_gateway,
)
from tests.support.seed_tables import JSON_TASK, YAML_TABLE

LOADS, GONE, LOGIN = (
    "Page loads successfully",
    "Page returns 404 or redirect",
    "Page requires authentication",
)
CHECKS = {"Feature Y toggle is visible": True, "Feature Y toggle is functional": True}
RESOLVE = call("overseer", "resolve", {"summary": "It was renamed", "evidence": "changelog"})
LIST_TABLE = yaml.safe_load(YAML_TABLE)["branch_table"]
JSON_TABLE = yaml.safe_load(JSON_TASK)["branch_table"]


async def run(folder: Path, *rules: Json, table: Any = YAML_TABLE, **more: Any) -> Json:
    """The result where nobody has to decide."""
    async with telegram_gateway(folder, [delegate(table), *rules, ANSWER], **more) as g:
        g.say("go")
        return await result_of(g)


async def asks(g: TelegramGateway, text: str) -> Json:
    g.say("go")
    return await g.hears(text)


@pytest.mark.parametrize("table", [YAML_TABLE, LIST_TABLE], ids=["text", "list"])
async def test_ok_reports_with_the_evidence(tmp_path: Path, table: Any) -> None:
    worker = report(LOADS, "ok", "toggle at the top", checks=CHECKS, confidence=0.9)
    result = await run(tmp_path, worker, table=table)
    assert (result["status"], result["branch"], result["condition"]) == ("completed", "ok", LOADS)
    assert (result["resolved_by"], result["confidence"]) == ("worker", 0.9)
    assert (result["summary"], result["envelope"]) == ("toggle at the top", {"checks": CHECKS})
    assert result["usage"]["cost"] > 0


@pytest.mark.parametrize(
    ("branch", "prompt"),
    [
        ("not_found", "Could not find toggle — possibly renamed or removed"),
        ("broken", "Toggle found but click failed — investigate"),
    ],
)
async def test_an_escalated_branch_reaches_the_overseer_with_a_clean_delta(
    tmp_path: Path, branch: str, prompt: str
) -> None:
    rules = [delegate(YAML_TABLE), report(1, branch, "no toggle on the page"), RESOLVE, ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        result = await result_of(g)
        assert (result["resolved_by"], result["summary"]) == ("overseer", "It was renamed")
        brief = yaml.safe_load(g.asked("overseer")[0].messages[-1]["content"])
        assert brief["table_says"] == prompt
        assert brief["observed"] == "no toggle on the page"
        assert brief["expected"] == [LOADS, GONE, LOGIN]
        assert brief["reported_branch"] == branch
        assert {tool["function"]["name"] for tool in g.asked("overseer")[0].tools} == {
            "extend_table",
            "ask_worker",
            "resolve",
            "escalate_to_human",
        }
        assert "no toggle on the page" not in str(g.asked("parent")[-1].messages)


async def test_a_branch_for_a_person_shows_other_outcomes_on_demand(tmp_path: Path) -> None:
    rules = [delegate(YAML_TABLE), report(GONE, "match", "404"), ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        question = await asks(g, "URL may be dead — verify or provide alternative")
        assert g.telegram.rows(question) == [
            ["Answer in words", "Try again"],
            ["Stop", "Other outcomes…"],
        ]
        assert g.asked("overseer") == []
        g.press(question, "Other outcomes…")
        await g.told()
        await g.settled()
        assert g.telegram.rows(question) == [["Ok"], [LOGIN], ["Back"]]
        assert f"Ok: ends the task as “{LOADS}”" in question["text"]
        g.press(question, LOGIN)
        result = await result_of(g)
        assert (result["status"], result["resolved_by"]) == ("completed", "human")
        assert "Auth-gated — can't verify without credentials" in result["summary"]


async def test_a_report_with_a_format_says_the_format(tmp_path: Path) -> None:
    result = await run(tmp_path, report(LOGIN, "match", "login form"))
    assert result["summary"] == "Auth-gated — can't verify without credentials"
    assert (result["branch"], result["resolved_by"]) == ("match", "worker")


async def test_the_default_tells_the_overseer_what_was_seen(tmp_path: Path) -> None:
    worker = report("default", "default", "?", observed_state="a captcha {evidence}")
    rules = [delegate(YAML_TABLE), worker, RESOLVE, ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        await result_of(g)
        brief = yaml.safe_load(g.asked("overseer")[0].messages[-1]["content"])
        assert brief["table_says"] == "Unexpected state: a captcha {evidence}"
        assert len(g.asked("worker")) == 1


@pytest.mark.parametrize("table", [JSON_TASK, JSON_TABLE], ids=["text", "object"])
@pytest.mark.parametrize("branch", ["ok", "not_found", "broken"])
async def test_the_json_table_does_the_same(tmp_path: Path, table: Any, branch: str) -> None:
    worker = report(1, branch, "seen", checks=["X toggle visible", "X toggle clickable"])
    result = await run(tmp_path, worker, RESOLVE, table=table)
    assert result["resolved_by"] == ("worker" if branch == "ok" else "overseer")
    assert "'claude-sonnet-4-6' is not configured" in result["warnings"][0]


async def test_the_tables_escalation_model_may_be_a_preset(tmp_path: Path) -> None:
    table = {**JSON_TABLE, "escalation_model": "careful"}
    rules = [
        delegate(table),
        report(1, "broken"),
        call("careful-one", "resolve", {"summary": "found"}),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules, started=False) as g:
        careful = {**g.config["models"]["overseer"], "model": "openai/careful-one"}
        g.config["models"]["presets"] = {"careful": careful}
        await g.start()
        g.say("go")
        result = await result_of(g)
        assert (result["summary"], "warnings" in result) == ("found", False)


@pytest.mark.parametrize(
    ("wrong", "corrected_with"),
    [
        (report(1, "sideways"), "'sideways' is not a branch"),
        (report("No such", "ok"), "'No such' is not a condition"),
        (report(1, "ok", checks={"Feature Y toggle is visible": False}), "is visible' failed"),
        (report(1, "ok", ""), "no evidence"),
        (says("worker", "It works, trust me."), "without a report"),
        (call("worker", "report_outcome", "{broken"), "not valid JSON"),
        (call("worker", "report_outcome", {}), "condition"),
    ],
    ids=["branch", "condition", "failed check", "no evidence", "narrated", "broken", "empty"],
)
async def test_a_wrong_report_is_corrected_once_and_then_escalated(
    tmp_path: Path, wrong: Json, corrected_with: str
) -> None:
    rules = [delegate(YAML_TABLE), wrong, RESOLVE, ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        result = await result_of(g)
        assert (result["status"], result["resolved_by"]) == ("completed", "overseer")
        assert len(g.asked("worker")) == 2
        assert corrected_with in g.asked("worker")[1].messages[-1]["content"]


async def test_what_models_write_into_texts_counts_and_calls_are_wished_for(
    tmp_path: Path,
) -> None:
    odd = {"condition": "default", "branch": "default", "evidence": "a captcha"}
    decision = {"resolve": {"summary": "It needs a person's eye.", "evidence": "the captcha"}}
    rules = [
        delegate(YAML_TABLE),
        says("worker", "Something is odd.") | {"times": 1},
        says("worker", f"Well:\n```json\n{json.dumps({'report_outcome': odd})}\n```"),
        says("overseer", f"This is clear. {json.dumps(decision)}"),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        result = await result_of(g)
        assert (result["summary"], result["resolved_by"]) == (
            "It needs a person's eye.",
            "overseer",
        )
        wishes = [request.body.get("tool_choice") for request in g.asked("worker")]
        assert wishes == [None, {"type": "function", "function": {"name": "report_outcome"}}]
        assert [r.body.get("tool_choice") for r in g.asked("overseer")] == ["required"]


async def test_a_corrected_report_counts(tmp_path: Path) -> None:
    wrong = report(1, "sideways") | {"times": 1}
    result = await run(tmp_path, wrong, report(1, "ok", "there", checks=CHECKS))
    assert (result["branch"], result["summary"]) == ("ok", "there")


async def test_an_overseer_that_wants_a_fresh_worker_gets_one(tmp_path: Path) -> None:
    condition = {
        "description": "A captcha is shown",
        "branches": {"seen": {"action": "report", "format": "Blocked: {evidence}"}},
    }
    rules = [
        delegate(YAML_TABLE),
        report("A captcha is shown", "seen", "puzzle", when={"system": "A captcha is shown"}),
        report("default", "default", "puzzle"),
        call("overseer", "extend_table", {"conditions": [condition], "fresh": True}),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        result = await result_of(g)
        assert (result["summary"], result["branch"]) == ("Blocked: puzzle", "seen")
        first, second = g.asked("worker")
        assert len(second.messages) == 2
        assert "puzzle" in second.messages[1]["content"]
        assert "A captcha" not in first.messages[0]["content"]


@pytest.mark.parametrize(("depth", "cycles"), [(0, 0), (1, 1), (2, 2), (None, 2)])
async def test_a_spent_depth_goes_to_a_person(
    tmp_path: Path, depth: int | None, cycles: int
) -> None:
    table: Json = {"conditions": LIST_TABLE[:3], "default": LIST_TABLE[3]["default"]}
    if depth is not None:
        table["max_escalation_depth"] = depth
    more = {"description": "More {{n}}", "branches": {"x": "report"}}
    rules = [
        delegate(table),
        report("default", "default", "odd"),
        call("overseer", "extend_table", {"conditions": [more], "reason": "?"}),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        question = await asks(g, "Decision needed")
        assert "Unexpected state: [worker: “odd”]" in question["text"]
        assert len(g.asked("overseer")) == cycles
        assert len(g.asked("worker")) == cycles + 1
        g.press(question, "Stop")
        assert (await result_of(g))["status"] == "rejected"


async def test_an_overseer_that_gives_up_leaves_it_to_a_person(tmp_path: Path) -> None:
    rules = [
        delegate(YAML_TABLE),
        report("default", "default", "odd"),
        says("overseer", "I do not know what this is."),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        question = await asks(g, "I do not know what this is.")
        g.press(question, "Stop")
        assert "Olga stopped it" in (await result_of(g))["summary"]


async def test_what_the_overseer_proposes_are_buttons_too(tmp_path: Path) -> None:
    proposal = {"question": "Which page is meant?", "options": ["The old one", "The new one"]}
    rules = [
        delegate(YAML_TABLE),
        report("default", "default", "two pages"),
        call("overseer", "escalate_to_human", proposal),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        question = await asks(g, "Which page is meant?")
        assert g.telegram.labels(question) == [
            "The old one",
            "The new one",
            "Answer in words",
            "Try again",
            "Stop",
            "Other outcomes…",
        ]
        g.press(question, "The new one")
        result = await result_of(g)
        assert "The new one" in result["summary"]
        assert result["resolved_by"] == "human"


async def test_expand_lets_the_overseer_write_the_sub_branches(tmp_path: Path) -> None:
    table = {
        "conditions": [
            {
                "description": "It answers",
                "branches": {"odd": {"action": "expand", "prompt": "Split {branch} further"}},
            }
        ],
        "default": "escalate",
    }
    sub = {"description": "It answers in Latin", "branches": {"ok": {"action": "report"}}}
    rules = [
        delegate(table),
        report("It answers in Latin", "ok", "salve", when={"last": "in Latin"}),
        report(1, "odd", "salve"),
        call("overseer", "extend_table", {"conditions": [sub], "reason": "asked to"}),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        assert (await result_of(g))["summary"] == "salve"
        brief = g.asked("overseer")[0].messages[-1]["content"]
        assert "Split odd further" in brief


async def test_two_delegations_in_one_turn_keep_their_results_apart(tmp_path: Path) -> None:
    calls = [
        {"name": "delegate_task", "arguments": {"goal": goal, "branch_table": YAML_TABLE}}
        for goal in ("Task A", "Task B")
    ]
    rules = [
        {"when": {"tier": "parent", "last": "^go"}, "reply": {"tool_calls": calls}},
        report(LOGIN, "match", "from A", when={"last": "Task A"}),
        report(LOADS, "ok", "from B", when={"last": "Task B"}, checks=CHECKS),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        await g.hears("result: ")
        told = [m["content"] for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert [results_in(text)["task"] for text in told] == ["Task A", "Task B"]
        assert results_in(told[1])["summary"] == "from B"
