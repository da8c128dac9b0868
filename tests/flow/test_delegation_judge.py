"""Acceptance criteria: an independent model judges, and it fails closed."""

import json
from pathlib import Path
from typing import Any

import pytest

from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import (
    ANSWER,
    ASKING,
    Rule,
    ask,
    ask_one,
    asked,
    calls,
    delegates,
    offered,
    reports,
    says,
)

CRITERIA = "It names three files."


def verdict(word: str, reasoning: str = "I looked.", **when: Any) -> Rule:
    return calls("give_verdict", {"verdict": word, "reasoning": reasoning}, tier="judge", **when)


def judged_task(**more: Any) -> Rule:
    return delegates({"goal": "find files", "acceptance_criteria": CRITERIA} | more)


async def test_a_pass_stands_in_the_result(store: Store) -> None:
    rules = [judged_task(), says("a, b, c"), verdict("PASS"), ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert result["verdict"] == {"verdict": "PASS", "reasoning": "I looked."}
        assert result["summary"] == "a, b, c"
        (request,) = g.model.of("judge")
        text = str(request.messages)
        assert all(part in text for part in ("find files", CRITERIA, "a, b, c"))
        assert [tool["function"]["name"] for tool in request.tools] == ["give_verdict"]


async def test_a_fail_is_told_and_the_work_is_not_hidden(store: Store) -> None:
    rules = [judged_task(), says("a, b"), verdict("FAIL", "only two"), ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["verdict"]["verdict"], result["summary"]) == ("FAIL", "a, b")
        assert len(g.model.of("worker")) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"text": "Well, it depends."}, "it depends"),
        ({"text": ""}, "empty answer"),
        ({"tool_calls": [{"name": "give_verdict", "arguments": "{PASS"}]}, "{PASS"),
        ({"tool_calls": [{"name": "give_verdict", "arguments": {"verdict": "yes"}}]}, "yes"),
        ({"error": "auth", "text": "key refused"}, "key refused"),
    ],
    ids=["garbage", "silence", "broken", "another word", "error"],
)
async def test_a_judge_that_gives_no_verdict_is_inconclusive(
    store: Store, reply: dict[str, Any], said: str
) -> None:
    rules = [judged_task(), says("a"), {"when": {"tier": "judge"}, "reply": reply}, ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert result["verdict"]["verdict"] == "INCONCLUSIVE"
        assert said in result["verdict"]["reasoning"]
        assert len(g.model.of("judge")) <= 3


async def test_after_a_fail_the_same_child_goes_on_with_the_feedback(store: Store) -> None:
    rules = [
        judged_task(retry_on_fail=2),
        says("a, b, c", last="only two"),
        says("a, b"),
        verdict("FAIL", "only two", last="a, b\n"),
        verdict("PASS"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["verdict"]["verdict"], result["summary"]) == ("PASS", "a, b, c")
        second = g.model.of("worker")[1].messages
        assert [m["role"] for m in second] == ["system", "user", "assistant", "user"]
        assert second[2]["content"] == "a, b"
        assert CRITERIA in second[3]["content"]


async def test_retries_end_and_the_last_verdict_stands(store: Store) -> None:
    rules = [judged_task(retry_on_fail=2), says("a"), verdict("FAIL", "too few"), ANSWER]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["verdict"]["verdict"] == "FAIL"
        assert (len(g.model.of("worker")), len(g.model.of("judge"))) == (3, 3)


async def test_an_inconclusive_verdict_sends_nobody_back(store: Store) -> None:
    rules = [judged_task(retry_on_fail=2), says("a"), verdict("INCONCLUSIVE"), ANSWER]
    async with gateway(rules, store=store) as g:
        await ask_one(g)
        assert len(g.model.of("worker")) == 1


async def test_with_a_branch_table_the_report_is_judged_and_may_be_mended(store: Store) -> None:
    rules = [
        judged_task(branch_table=ASKING, retry_on_fail=1),
        reports("There", "seen", "three of them", last="evidence is thin"),
        reports("There", "seen", "somewhere"),
        verdict("FAIL", "evidence is thin", last="somewhere"),
        verdict("PASS"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["branch"], result["summary"]) == ("seen", "three of them")
        assert result["verdict"]["verdict"] == "PASS"
        assert "Branch: seen" in str(g.model.of("judge")[-1].messages)
        first, second = g.model.of("worker")
        assert first.messages[0] == second.messages[0]
        assert second.messages[-1]["role"] == "tool"


@pytest.mark.parametrize("sees", [True, False])
async def test_the_judge_sees_tool_calls_only_where_it_is_asked_for(
    store: Store, sees: bool
) -> None:
    rules = [
        judged_task(judge_sees_tools=sees),
        calls("think", {"thought": "SECRET STEPS"}, turn=0),
        says("a, b, c"),
        verdict("PASS"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await ask_one(g)
        assert ("SECRET STEPS" in str(g.model.of("judge")[0].messages)) is sees


async def test_each_task_of_a_batch_has_a_judgement_of_its_own(store: Store) -> None:
    batch = [
        {"goal": "good", "acceptance_criteria": "It is good."},
        {"goal": "bad", "acceptance_criteria": "It is good."},
        {"goal": "free"},
    ]
    rules = [
        delegates({"tasks": batch}),
        says("{1} work", last=r"Task: (\w+)"),
        verdict("FAIL", last="bad work"),
        verdict("PASS"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        results = await ask(g)
        words = ["verdict" in r and r["verdict"]["verdict"] for r in results]
        assert words == ["PASS", "FAIL", False]


async def test_what_the_judge_cost_is_shown_apart(store: Store) -> None:
    prices = {"input_cost": 1e-6, "output_cost": 1e-6}
    models = {tier: {"model": f"demo-{tier}", **prices} for tier in ("parent", "worker", "judge")}
    judge = verdict("PASS")
    judge["reply"]["usage"] = {"input": 300, "output": 20}
    worker = says("a, b, c")
    worker["reply"]["usage"] = {"input": 1000, "output": 50}
    rules = [judged_task(), worker, judge, ANSWER]
    async with gateway(rules, store=store, config={"models": models}) as g:
        assert (await ask_one(g))["usage"] == {"cost": 1050e-6, "judge": 320e-6}
        row = await store.read(lambda tx: tx.delegations.get(1))
        kept = json.loads(row.result)["usage"]
        assert (kept["input"], kept["output"], kept["calls"]) == (1000, 50, 1)
        assert kept["judge"]["calls"] == 1
        assert set(kept["tiers"]) == {"worker", "judge"}


async def test_without_a_judge_of_its_own_the_lowest_tier_judges(store: Store) -> None:
    models = {"parent": {"model": "big"}, "worker": {"model": "small"}}
    rules = [judged_task(), says("a"), verdict("PASS"), ANSWER]
    async with gateway(rules, store=store, config={"models": models}) as g:
        await ask_one(g)
        assert g.model.of("judge")[0].spec.model == "small"


async def test_what_a_person_decided_is_not_judged(store: Store) -> None:
    rules = [judged_task(branch_table=ASKING), reports("Gone", "match"), verdict("FAIL"), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.chat.press(await asked(g, "Lost?"), "It is there")
        await g.hears("result: ")
        assert g.model.of("judge") == []


async def test_criteria_of_a_hundred_kilobytes_are_a_clear_error(store: Store) -> None:
    async with gateway([judged_task(acceptance_criteria="x" * 100_000), ANSWER], store=store) as g:
        await g.chat.say("go")
        text = (await g.hears("result: Error: ")).text
        assert "acceptance_criteria" in text
        assert "20000" in text


async def test_a_thought_is_not_shown_in_the_chat(store: Store) -> None:
    think = {"thought": "PRIVATE THOUGHT", "acceptance_criteria": "it is short"}
    rules = [calls("think", think, tier="parent", turn=0), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        answer = await g.hears("result: ")
        assert "it is short" in answer.text
        assert not any("PRIVATE THOUGHT" in text for text in g.chat.texts())


async def test_a_judge_that_sees_tools_may_look_at_the_files_itself(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "made.csv").write_text("vendor,match\n")
    (tmp_path / "kept.txt").write_text("as it was")
    rules = [
        judged_task(context="The columns of 2024 count.", judge_sees_tools=True),
        says("I wrote made.csv."),
        calls("write_file", {"path": "kept.txt", "content": "x"}, tier="judge") | {"times": 1},
        verdict("FAIL", "match_type is missing", last="vendor,match"),
        calls("read_file", {"path": "made.csv"}, tier="judge"),
        ANSWER,
    ]
    config = {"tools": {"toolsets": ["file"], "workspace": str(tmp_path)}}
    async with gateway(rules, store=store, config=config) as g:
        result = await ask_one(g)
        assert result["verdict"]["reasoning"] == "match_type is missing"
        first, *_ = g.model.of("judge")
        files = {"read_file", "list_files", "search_files", "git_status", "git_diff", "git_log"}
        assert offered(first) == {*files, "give_verdict"}
        assert "The columns of 2024 count." in str(first.messages)
        assert (tmp_path / "kept.txt").read_text() == "as it was"
