"""What an overseer, a judge and a parent get of what a worker saw, and how much of it."""

import json
from pathlib import Path
from typing import Any

from agent.delegation.core.report import EVIDENCE_LIMIT
from agent.delegation.result import SUMMARY_LIMIT
from agent.models.base import ModelError, ModelErrorKind, Reply, Request
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    Rule,
    ask_one,
    asked,
    calls,
    delegates,
    first_message,
    results_in,
    says,
    tool_results,
)

RESOLVES = calls("resolve", {"summary": "settled"}, tier="overseer")
TO_A_PERSON = {"action": "escalate", "tier": "human", "prompt": "Lost?"}
PLAIN_TABLE = [
    {"condition": "There", "branch": "report"},
    {"default": {"action": "escalate", "tier": "overseer"}},
]


def looking(workspace: Path, **sections: Any) -> dict[str, Any]:
    workspace.mkdir()
    (workspace / "seen.txt").write_text("RAW OUTPUT\n")
    return {"tools": {"toolsets": ["file"], "workspace": str(workspace)}, **sections}


def brief_of(request: Request) -> dict[str, Any]:
    brief: dict[str, Any] = json.loads(first_message(request))
    return brief


async def test_an_overseer_gets_evidence_of_any_length_bounded(store: Store) -> None:
    said = {"condition": "default", "branch": "default"}
    report = said | {"evidence": "e" * 300_000, "observed_state": "o" * 300_000}
    rules = [
        delegates({"goal": "look", "branch_table": PLAIN_TABLE}),
        calls("report_outcome", report),
        RESOLVES,
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await ask_one(g)
        brief = brief_of(g.model.of("overseer")[0])
        for key, letter in (("evidence", "e"), ("observed", "o")):
            assert brief[key].startswith(letter * EVIDENCE_LIMIT)
            assert "cut, 300000 characters in all" in brief[key]
            assert len(brief[key]) < EVIDENCE_LIMIT + 100


async def test_the_overseer_gets_what_a_worker_saw_that_only_talked(
    store: Store, tmp_path: Path
) -> None:
    rules = [
        delegates({"goal": "look", "branch_table": PLAIN_TABLE}),
        calls("read_file", {"path": "seen.txt"}, turn=0, last="^Task"),
        says("All is well."),
        RESOLVES,
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path / "w")) as g:
        await ask_one(g)
        brief = brief_of(g.model.of("overseer")[0])
        assert brief["observed"] == "All is well."
        assert "RAW OUTPUT" in brief["raw_tail"]
        told = str(g.model.of("worker")[-1].messages[-1]["content"])
        assert "without a report. Call report_outcome again" in told


async def test_the_overseer_gets_what_a_worker_saw_that_came_to_its_limit(
    store: Store, tmp_path: Path
) -> None:
    rules = [
        delegates({"goal": "look", "branch_table": PLAIN_TABLE, "max_iterations": 2}),
        calls("read_file", {"path": "seen.txt"}),
        RESOLVES,
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path / "w")) as g:
        await ask_one(g)
        assert "RAW OUTPUT" in brief_of(g.model.of("overseer")[0])["raw_tail"]


async def test_a_default_that_reports_with_evidence_brings_the_envelope(
    store: Store, tmp_path: Path
) -> None:
    default = {"action": "report_with_evidence", "format": "Odd: {observed_state}"}
    report = {
        "condition": "default",
        "branch": "default",
        "evidence": "it glows",
        "observed_state": "purple",
        "confidence": 0.4,
    }
    rules = [
        delegates({"goal": "look", "branch_table": [PLAIN_TABLE[0], {"default": default}]}),
        calls("read_file", {"path": "seen.txt"}, turn=0),
        calls("report_outcome", report),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path / "w")) as g:
        result = await ask_one(g)
        assert (result["summary"], result["branch"]) == ("Odd: purple", "default")
        assert result["confidence"] == 0.4
        assert result["evidence"] == "it glows"
        assert result["envelope"] == {"raw_tail": "RAW OUTPUT\n"}


async def test_a_person_who_chooses_a_report_with_evidence_brings_the_envelope(
    store: Store, tmp_path: Path
) -> None:
    table = [{"condition": "There", "branch": "report_with_evidence"}, {"default": TO_A_PERSON}]
    report = {"condition": "default", "branch": "default", "evidence": "it glows"}
    rules = [
        delegates({"goal": "look", "branch_table": table}),
        calls("read_file", {"path": "seen.txt"}, turn=0),
        calls("report_outcome", report),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path / "w")) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.chat.press(question, "Other outcomes…")
        await g.settled()
        await g.chat.press(question, "There")
        (result,) = results_in((await g.hears("result: ")).text)
        assert result["resolved_by"] == "human"
        assert result["summary"].endswith("it glows")
        assert result["envelope"] == {"raw_tail": "RAW OUTPUT\n"}


async def test_a_second_escalation_says_what_was_tried(store: Store) -> None:
    report = {"condition": "default", "branch": "default", "evidence": "e"}
    extension = {"conditions": [{"description": "Green", "branch": "report"}], "reason": "moved"}
    rules = [
        delegates({"goal": "look", "branch_table": PLAIN_TABLE}),
        calls("report_outcome", report | {"observed_state": "red"}, last="^Task"),
        calls("report_outcome", report | {"observed_state": "blue"}),
        calls("extend_table", extension, tier="overseer", last='"red"\\S*\\s+"evidence'),
        RESOLVES,
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await ask_one(g)
        assert brief_of(g.model.of("overseer")[1])["tried"] == [
            "Attempt 1: the worker found none of what is expected: red",
            "Overseer 1: added outcomes. moved",
            "Attempt 1: the worker found none of what is expected: blue",
        ]


async def test_what_was_judged_is_bounded_in_the_result_and_the_cut_is_said(store: Store) -> None:
    rules = [
        delegates({"goal": "write", "acceptance_criteria": "It is long."}),
        says("x" * 50_000),
        calls("give_verdict", {"verdict": "PASS", "reasoning": "it is"}, tier="judge"),
        says("done", tier="parent"),
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("done")
        (result,) = json.loads(tool_results(g.model.of("parent")[-1])[0])["results"]
        assert "x" * 50_000 in str(g.model.of("judge")[0].messages)
        assert result["summary"].endswith("[cut, 50000 characters in all]")
        assert len(str(result)) < SUMMARY_LIMIT + 500


async def test_a_judged_task_is_listed_by_who_resolved_it(store: Store) -> None:
    models = {tier: {"model": f"m-{tier}"} for tier in ("parent", "worker", "judge")}
    rules = [
        delegates({"goal": "write", "acceptance_criteria": "It is short."}),
        says("x"),
        calls("give_verdict", {"verdict": "PASS", "reasoning": "it is"}, tier="judge"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config={"models": models}) as g:
        await ask_one(g)
        await g.chat.say("/agents")
        assert "completed · judge: PASS · worker · m-worker" in (await g.hears("#1 write")).text


class StrictModel(SpyModel):
    """A provider that refuses calls of tools that are not offered."""

    async def complete(self, request: Request) -> Reply:
        offered = {tool["function"]["name"] for tool in request.tools}
        called = {
            call["function"]["name"]
            for message in request.messages
            for call in message.get("tool_calls") or ()
        }
        if called - offered:
            self.requests.append(request)
            raise ModelError(ModelErrorKind.BAD_REQUEST, "terminal is not a tool of this request")
        return await super().complete(request)


HANDED: Rule = delegates(
    {
        "goal": "mend",
        "branch_table": [
            {"condition": "There", "branch": "report"},
            {"default": TO_A_PERSON},
        ],
        "handoff": {"ran_commands": [{"cmd": "pytest", "rc": 1, "tail": "1 failed"}]},
    }
)


async def test_handed_commands_are_text_for_a_provider_that_refuses_their_calls(
    database: str,
) -> None:
    report = {"condition": "There", "evidence": "mended"}
    rules = [
        HANDED,
        calls("report_outcome", report, last="only correction"),
        says("It is mended."),
        ANSWER,
    ]
    model = StrictModel(rules)
    async with gateway(store=await SqlStore.open(database), model=model) as g:
        result = await ask_one(g)
        assert (result["status"], result["summary"]) == ("completed", "mended")
        refused, *taken = model.of("worker")
        assert "1 failed" in str(refused.messages[-1])
        assert len(taken) == 2
        text = first_message(taken[0])
        assert [m["role"] for m in taken[0].messages] == ["system", "user"]
        assert "$ pytest\nexit code: 1\n1 failed" in text
        assert "data" in text
        assert text.startswith("Task: mend")


async def test_a_refusal_for_another_reason_is_the_childs_failure(store: Store) -> None:
    refused = {"when": {"tier": "worker"}, "reply": {"error": "bad_request", "text": "no images"}}
    rules = [delegates({"goal": "x"}), refused, ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("failed", "model_error")
        assert "no images" in result["summary"]
        assert len(g.model.of("worker")) == 1


async def test_an_orchestrators_branch_is_summed_up_with_its_files(
    store: Store, tmp_path: Path
) -> None:
    config = looking(tmp_path / "w", delegation={"max_spawn_depth": 2})
    inner = {"tasks": [{"goal": "inner one"}, {"goal": "inner two"}]}
    rules = [
        delegates({"goal": "orchestrate", "role": "orchestrator"}),
        delegates(inner, tier="worker", last="Task: orchestrate"),
        calls("write_file", {"path": "{1}.txt", "content": "x"}, last=r"Task: inner (\w+)"),
        says("written", last="^Wrote"),
        says("both are written", last="results"),
        ANSWER,
    ]
    for rule in rules[:-1]:
        rule["reply"]["usage"] = {"input": 90, "output": 10}
    async with gateway(rules, store=store, config=config) as g:
        result = await ask_one(g)
        assert result["files"] == {"one.txt": "wrote", "two.txt": "wrote"}
        await g.chat.say("/agents")
        text = (await g.hears("#1 orchestrate")).text
        top, *below = text.split("\n\n")
        assert "200 tokens" in top
        assert "with 2 below: 600 tokens" in top
        assert "2 files" in top
        assert all("with " not in block and "200 tokens" in block for block in below)
