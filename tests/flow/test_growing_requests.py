"""Successive requests of one session grow only at their end, from instructions and tools on."""

from pathlib import Path
from typing import Any

from storage.store import Store
from tests.flow.conftest import ON_BOTH, SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    ASKING,
    Rule,
    asked,
    calls,
    delegates,
    first_message,
    reports,
    says,
)
from tests.support.growing_requests import assert_grow_at_the_end

READ = {"name": "read_file", "arguments": {"path": "a.txt"}}
SEARCH = {"name": "search_files", "arguments": {"pattern": "colour"}}
THINK = {"name": "think", "arguments": {"thought": "well"}}


def makes(*made: dict[str, Any], tier: str = "parent", **when: Any) -> Rule:
    return {"when": {"tier": tier, **when}, "reply": {"tool_calls": list(made)}}


def with_files(folder: Path, **more: Any) -> dict[str, Any]:
    folder.mkdir()
    (folder / "a.txt").write_text("the colour is red\n")
    return {"tools": {"toolsets": ["file"], "workspace": str(folder)}, **more}


@ON_BOTH
async def test_a_parents_over_several_turns(store: Store, tmp_path: Path) -> None:
    """With tools, a delegation whose result is late, a failing call, and company that joins."""
    task = {"goal": "ask", "branch_table": ASKING}
    delegation = {"name": "delegate_task", "arguments": task}
    rules = [
        makes(READ, SEARCH, THINK, last="^look"),
        makes({"name": "nothing", "arguments": {}}, last="^fail"),
        makes(delegation, READ, last="^delegate"),
        reports("Gone", "match"),
        ANSWER,
    ]
    config = with_files(tmp_path / "work")
    async with gateway(rules, store=store, config=config) as g:
        for number, text in enumerate(("hello", "look", "fail"), start=1):
            await g.chat.say(text)
            await g.hears("result: ", count=number)
        await g.chat.say("delegate")
        question = await asked(g, "Lost?")
        await g.hears("result: ", count=4)
        await g.chat.say("meanwhile")
        await g.hears("result: meanwhile")
        await g.chat.press(question, "Stop")
        await g.hears("late result")
        await g.chat.say("we are several now", private=False)
        await g.hears("we are several now")
        assert_grow_at_the_end(g.model.of("parent", dated=True), 10)


async def test_a_workers_that_is_sent_back(store: Store, tmp_path: Path) -> None:
    """By a correction of its report, and by the judge."""
    judged = {"acceptance_criteria": "It says where.", "retry_on_fail": 1}
    rules = [
        delegates({"goal": "look", "branch_table": ASKING, **judged}),
        makes(READ, THINK, tier="worker", turn=0),
        reports("There", "sideways", turn=1),
        reports("There", "seen", "in the file", last="only correction"),
        reports("There", "seen", "in line 1", last="vague"),
        calls("give_verdict", {"verdict": "PASS", "reasoning": "ok"}, tier="judge", last="line 1"),
        calls("give_verdict", {"verdict": "FAIL", "reasoning": "vague"}, tier="judge"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=with_files(tmp_path / "work")) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        assert_grow_at_the_end(g.model.of("worker", dated=True), 4)
        assert_grow_at_the_end(g.model.of("parent", dated=True), 2)


async def test_an_orchestrators(store: Store, tmp_path: Path) -> None:
    inner = {"tasks": [{"goal": "inner one"}, {"goal": "inner two"}]}
    rules = [
        delegates({"goal": "orchestrate", "role": "orchestrator", "handoff": {}}),
        makes(READ, tier="worker", last="^Task: orchestrate"),
        delegates(inner, tier="worker", last="^the colour"),
        makes(THINK, tier="worker", last="results"),
        says("both done", last="^(?!Task)"),
        says("done"),
        ANSWER,
    ]
    deep = {"max_spawn_depth": 2}
    async with gateway(
        rules, store=store, config=with_files(tmp_path / "work", delegation=deep)
    ) as g:
        await g.chat.say("go")
        await g.hears("both done")
        outer = [r for r in g.model.of("worker", dated=True) if "orchestrate" in first_message(r)]
        assert_grow_at_the_end(outer, 4)


async def test_an_overseers_whose_decision_was_refused(store: Store) -> None:
    wrong = {"conditions": [{"description": ""}], "reason": "?"}
    rules = [
        delegates({"goal": "look", "branch_table": [ASKING[1]]}),
        reports("default", "default"),
        calls("extend_table", wrong, tier="overseer", turn=0),
        calls("resolve", {"summary": "It is there.", "evidence": "e"}, tier="overseer"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("It is there.")
        assert_grow_at_the_end(g.model.of("overseer", dated=True), 2)


async def test_until_a_compaction_and_from_there_on(store: Store) -> None:
    rules: list[Rule] = [
        {"when": {"system": "^You condense"}, "reply": {"text": "SUMMARY"}},
        {"when": {"last": "(.*)"}, "reply": {"text": "answer to {1}"}},
    ]
    model = SpyModel(rules)
    async with gateway(store=store, model=model) as g:
        for number in range(4):
            await g.chat.say(f"question {number}")
            await g.hears(f"answer to question {number}")
        await g.chat.say("/compact")
        await g.hears("Compacted at")
        for number in range(4, 7):
            await g.chat.say(f"question {number}")
            await g.hears(f"answer to question {number}")
        requests = [r for r in model.requests if r.tools]
        assert_grow_at_the_end(requests[:4], 4)
        assert_grow_at_the_end(requests[4:], 3)
        assert "SUMMARY" in str(requests[4].messages)
