"""Models that write their last call into a text, or only talk: read, corrected once, and wished
for a call where the provider takes that."""

import json
from typing import Any

import pytest

from agent.models.base import REQUIRED
from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import ANSWER, ask_one, asked, calls, delegates, reports, says

TABLE = [
    {"condition": "There", "branch": "report"},
    {"default": {"action": "escalate", "tier": "overseer"}},
]
TASK = delegates({"goal": "look", "branch_table": TABLE})
REPORT = {"condition": "There", "branch": "match", "evidence": "I saw it"}
ODD = reports("default", "default", "it glows")
RESOLVED = {"summary": "settled", "evidence": "the log"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(REPORT),
        f"Here it is:\n```json\n{json.dumps({'report_outcome': REPORT})}\n```\nDone.",
    ],
)
async def test_a_report_written_as_text_needs_no_correction(store: Store, text: str) -> None:
    async with gateway([TASK, says(text), ANSWER], store=store) as g:
        result = await ask_one(g)
        assert (result["condition"], result["summary"]) == ("There", "I saw it")
        assert len(g.model.of("worker")) == 1


async def test_a_report_that_is_only_quoted_from_the_task_is_corrected(store: Store) -> None:
    task = delegates({"goal": "look", "context": json.dumps(REPORT), "branch_table": TABLE})
    quotes = says(f"I was given {json.dumps(REPORT)}")
    rules = [task, reports("There", "match", "mine", last="only correction"), quotes, ANSWER]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["summary"] == "mine"


async def test_after_a_narration_the_report_is_wished_for(store: Store) -> None:
    rules = [TASK, says("Hm.", last="^Task"), reports("There", "match"), ANSWER]
    async with gateway(rules, store=store) as g:
        await ask_one(g)
        assert [r.tool_choice for r in g.model.of("worker")] == ["", "report_outcome"]


async def test_in_the_last_step_the_report_is_wished_for(store: Store) -> None:
    task = delegates({"goal": "look", "branch_table": TABLE, "max_iterations": 2})
    thinks = calls("think", {"thought": "hm"}, turn=0)
    async with gateway([task, thinks, reports("There", "match"), ANSWER], store=store) as g:
        await ask_one(g)
        assert [r.tool_choice for r in g.model.of("worker")] == ["", "report_outcome"]


async def test_a_worker_that_is_to_look_again_may_call_what_it_likes(store: Store) -> None:
    new = {"conditions": [{"description": "It glows", "branch": "report"}], "reason": "new"}
    rules = [
        TASK,
        reports("It glows", "match", last="It glows"),
        says("I cannot say."),
        calls("extend_table", new, tier="overseer"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await ask_one(g)
        assert [r.tool_choice for r in g.model.of("worker")] == ["", "report_outcome", ""]


async def test_a_worker_without_a_table_is_left_to_itself(store: Store) -> None:
    rules = [delegates({"goal": "x", "max_iterations": 1}), says(json.dumps(REPORT)), ANSWER]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["summary"] == json.dumps(REPORT)
        assert [r.tool_choice for r in g.model.of("worker")] == [""]


@pytest.mark.parametrize(
    "written", [RESOLVED, {"resolve": RESOLVED}, {"name": "resolve", "arguments": RESOLVED}]
)
async def test_a_decision_written_as_text_is_one(store: Store, written: dict[str, Any]) -> None:
    text = f"It is known.\n{json.dumps(written)}"
    async with gateway([TASK, ODD, says(text, tier="overseer"), ANSWER], store=store) as g:
        result = await ask_one(g)
        assert (result["summary"], result["resolved_by"]) == ("settled", "overseer")
        (request,) = g.model.of("overseer")
        assert request.tool_choice == REQUIRED


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("I would resolve it.", "That was no decision"),
        ('{"extend_table": {"conditions": "nothing"}}', "Error: conditions"),
    ],
)
async def test_an_overseer_that_decides_nothing_is_corrected_once(
    store: Store, first: str, told: str
) -> None:
    resolves = calls("resolve", RESOLVED, tier="overseer")
    rules = [TASK, ODD, says(first, tier="overseer", last='"task"'), resolves, ANSWER]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["summary"] == "settled"
        first_request, second = g.model.of("overseer")
        assert told in second.messages[-1]["content"]
        assert list(second.messages[:2]) == list(first_request.messages)


async def test_an_overseer_that_talks_on_has_a_person_decide(store: Store) -> None:
    rules = [TASK, ODD, says("Hard to say.", tier="overseer"), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        assert "Hard to say." in (await asked(g, "Hard to say.")).text
        assert len(g.model.of("overseer")) == 2


async def test_a_verdict_is_wished_for_and_read_from_text(store: Store) -> None:
    task = delegates({"goal": "x", "acceptance_criteria": "it is there"})
    verdict = json.dumps({"give_verdict": {"verdict": "PASS", "reasoning": "it is"}})
    judge = says(f"I compared them.\n```json\n{verdict}\n```", tier="judge")
    models = {"parent": {"model": "big"}, "judge": {"model": "fair"}}
    rules = [task, says("there"), judge, ANSWER]
    async with gateway(rules, store=store, config={"models": models}) as g:
        assert (await ask_one(g))["verdict"]["verdict"] == "PASS"
        assert [r.tool_choice for r in g.model.of("judge")] == ["give_verdict"]
