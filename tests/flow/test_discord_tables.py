"""The tables of the branch-table proposal, every branch, through Discord and litellm."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.records.entries import Json
from tests.flow.discord_gateway import OLGA, delegates, discord_gateway
from tests.flow.on_discord import press
from tests.flow.telegram_gateway import ANSWER, call, report, results_in, says
from tests.support.seed_tables import JSON_TASK, YAML_TABLE

LOADS, GONE, LOGIN = (
    "Page loads successfully",
    "Page returns 404 or redirect",
    "Page requires authentication",
)
CHECKS = {"Feature Y toggle is visible": True, "Feature Y toggle is functional": True}
RESOLVE = call("overseer", "resolve", {"summary": "It was renamed", "evidence": "changelog"})
JSON_TABLE = yaml.safe_load(JSON_TASK)["branch_table"]


@pytest.mark.parametrize(
    ("worker", "resolved_by", "summary"),
    [
        (report(LOADS, "ok", "at the top", checks=CHECKS), "worker", "at the top"),
        (report(LOADS, "not_found", "no toggle"), "overseer", "It was renamed"),
        (report(LOADS, "broken", "does not click"), "overseer", "It was renamed"),
        (report(LOGIN, "match", "a form"), "worker", "Auth-gated — can't verify without"),
        (report("default", "default", "a captcha"), "overseer", "It was renamed"),
    ],
    ids=["ok", "not found", "broken", "login", "default"],
)
async def test_each_branch_of_the_yaml_table_ends_as_it_says(
    tmp_path: Path, worker: Json, resolved_by: str, summary: str
) -> None:
    async with discord_gateway(tmp_path, [delegates(YAML_TABLE), worker, RESOLVE, ANSWER]) as g:
        g.mentions("go")
        await g.reads("result: ", g.discord.general)
        result = results_in(g.asked("parent")[-1].messages[-1]["content"])
        assert (result["status"], result["resolved_by"]) == ("completed", resolved_by)
        assert summary in result["summary"]


async def test_the_branch_for_a_person_asks_with_the_tables_words(tmp_path: Path) -> None:
    rules = [delegates(YAML_TABLE), report(GONE, "match", "404 `<nginx>` **x**"), ANSWER]
    async with discord_gateway(tmp_path, rules) as g:
        g.mentions("go")
        question = await g.reads("URL may be dead — verify or provide", g.discord.general)
        shown = ["Answer in words", "Try again", "Stop", "Other outcomes…"]
        assert list(g.discord.buttons(question)) == shown
        assert f"**Found, says the worker:** `{GONE}`" in question["content"]
        await press(g, question, "Other outcomes…")
        assert list(g.discord.buttons(question)) == ["Ok", LOGIN, "Back"]
        await press(g, question, "Back")
        assert list(g.discord.buttons(question)) == shown
        await press(g, question, "Other outcomes…")
        g.discord.press(question, LOGIN, OLGA)
        answer = await g.reads("result: ", g.discord.general)
        assert "Auth-gated" in answer["content"]


@pytest.mark.parametrize("table", [JSON_TASK, JSON_TABLE], ids=["text", "object"])
@pytest.mark.parametrize("branch", ["ok", "not_found", "broken"])
async def test_each_branch_of_the_json_table_too(tmp_path: Path, table: Any, branch: str) -> None:
    worker = report(1, branch, "seen", checks=["X toggle visible", "X toggle clickable"])
    async with discord_gateway(tmp_path, [delegates(table), worker, RESOLVE, ANSWER]) as g:
        g.tells("go")
        await g.reads("result: ")
        result = results_in(g.asked("parent")[-1].messages[-1]["content"])
        assert result["resolved_by"] == ("worker" if branch == "ok" else "overseer")


async def test_what_the_overseer_proposes_are_buttons_within_discords_limits(
    tmp_path: Path,
) -> None:
    conditions = [
        {"description": f"Condition {n} 😀 " + "long " * 30, "branches": {"ok": "report"}}
        for n in range(40)
    ]
    proposal = {"question": "Which?", "options": ["The old one", "The new one", "x" * 300]}
    rules = [
        delegates({"conditions": conditions, "default": "escalate"}),
        report("default", "default", "two pages"),
        call("overseer", "escalate_to_human", proposal),
        ANSWER,
    ]
    async with discord_gateway(tmp_path, rules) as g:
        g.tells("go")
        question = await g.reads("Which?")
        labels = list(g.discord.buttons(question))
        assert [label[:11] for label in labels] == [
            "1. The old ",
            "2. The new ",
            "3. xxxxxxxx",
            "4. Answer i",
            "5. Try agai",
            "6. Stop",
            "7. Other ou",
        ]
        await press(g, question, "7. Other")
        newest = await g.reads("Which?", count=2)
        labels = list(g.discord.buttons(newest))
        assert len(labels) == 22
        await press(g, newest, "21. More")
        newest = await g.reads("Which?", count=3)
        assert len(g.discord.buttons(newest)) == 21
        g.discord.press(question, "2. The new one", OLGA)
        assert "The new one" in (await g.reads("result: "))["content"]


async def test_a_worker_without_steps_reports_what_it_has_by_the_tables_default(
    tmp_path: Path,
) -> None:
    think = {"name": "think", "arguments": {"thought": "hm"}}
    rules = [
        delegates([{"condition": LOADS, "branch": "report"}, {"default": "report"}]),
        says("worker", "half of it", last="Report in text what you have"),
        {"when": {"tier": "worker"}, "reply": {"tool_calls": [think]}},
        ANSWER,
    ]
    async with discord_gateway(tmp_path, rules, delegation={"max_iterations": 2}) as g:
        g.tells("go")
        assert "half of it" in (await g.reads("result: "))["content"]
        result = results_in(g.asked("parent")[-1].messages[-1]["content"])
        assert (result["status"], result["branch"]) == ("partial", "default")
        assert len(g.asked("worker")) == 3


@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_a_spent_depth_goes_to_a_person_and_try_again_starts_anew(
    tmp_path: Path, depth: int
) -> None:
    table = {**JSON_TABLE, "max_escalation_depth": depth}
    more = {"description": "More", "branches": {"x": "report"}}
    rules = [
        delegates(table),
        *[report("default", "default", "odd") | {"times": depth + 1}],
        report(1, "ok", "now it is there", checks=["X toggle visible", "X toggle clickable"]),
        call("overseer", "extend_table", {"conditions": [more], "reason": "?"}),
        ANSWER,
    ]
    async with discord_gateway(tmp_path, rules) as g:
        g.tells("go")
        question = await g.reads("Decision needed")
        assert len(g.asked("overseer")) == depth
        g.discord.press(question, "Try again", OLGA)
        assert "now it is there" in (await g.reads("result: "))["content"]


@pytest.mark.parametrize(
    "table", [[], "a: [unclosed", [{"condition": "x", "branch": {"action": "explode"}}]]
)
async def test_a_malformed_table_ends_in_words_not_in_silence(tmp_path: Path, table: Any) -> None:
    async with discord_gateway(tmp_path, [delegates(table), ANSWER]) as g:
        g.tells("go")
        await g.reads("result: Error: ")
        assert g.asked("worker") == []


async def test_a_worker_without_a_report_is_corrected_once_and_then_escalated(
    tmp_path: Path,
) -> None:
    rules = [delegates(YAML_TABLE), says("worker", "It works, trust me."), RESOLVE, ANSWER]
    async with discord_gateway(tmp_path, rules) as g:
        g.tells("go")
        assert "overseer" in (await g.reads("result: "))["content"]
        assert len(g.asked("worker")) == 2
