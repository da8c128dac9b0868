"""The life of a child: limits, time, a restart."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.delegation.children.child_runner import Life
from agent.models.base import Reply, Request
from agent.models.retry import Retrying
from gateway.assembly.agents import life_of_children
from gateway.configuration.config import Config
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import PATIENCE, Gateway, SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    ASKING,
    Rule,
    ask_one,
    calls,
    delegates,
    out_of_time,
    reports,
    results_in,
    says,
    tool_results,
)

THINK = calls("think", {"thought": "hm"})


def lives(g: Gateway, life: Life) -> None:
    g.app.upkeep.housekeeping.runner.results.subagents.child_runner.life = life


async def test_a_child_has_so_many_model_calls_a_last_one_and_no_more(store: Store) -> None:
    rules = [delegates({"goal": "x", "max_iterations": 3}), THINK, ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("failed", "max_iterations")
        assert [r.tool_choice for r in g.model.of("worker")] == ["", "", "", "none"]


async def test_the_configured_limit_holds_where_the_task_sets_none(store: Store) -> None:
    config = {"delegation": {"max_iterations": 2}}
    async with gateway([delegates({"goal": "x"}), THINK, ANSWER], store=store, config=config) as g:
        await ask_one(g)
        assert [r.tool_choice for r in g.model.of("worker")] == ["", "", "none"]


async def test_a_child_with_a_table_that_comes_to_its_limit_takes_the_default(store: Store) -> None:
    task = {"goal": "x", "max_iterations": 2, "branch_table": ASKING}
    async with gateway([delegates(task), THINK, ANSWER], store=store) as g:
        await g.chat.say("go")
        question = await g.hears("no result within 2 model calls")
        assert question.buttons


async def test_a_child_that_narrates_is_corrected_once_then_takes_the_default(store: Store) -> None:
    rules = [delegates({"goal": "x", "branch_table": ASKING}), says("All is well."), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("All is well.")
        first, second = g.model.of("worker")
        assert "only correction" in second.messages[-1]["content"]
        assert len(second.messages) == len(first.messages) + 2


async def test_a_child_that_was_corrected_may_still_report(store: Store) -> None:
    rules = [
        delegates({"goal": "x", "branch_table": ASKING}),
        reports("There", "seen", last="only correction"),
        says("All is well."),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["branch"] == "seen"


SLOW = [delegates({"goal": "x"}), says("never", delay=60), ANSWER]
MODELS = {
    "parent": {"model": "big"},
    "worker": {
        "model": "small",
        "api_key": "sk-SECRET",
        "api_base": "http://localhost:9/v1?key=abc",
    },
}


async def test_a_child_that_takes_too_long_is_a_timeout_with_a_diagnosis(
    store: Store, tmp_path: Path
) -> None:
    async with gateway(SLOW, store=store, config={"models": MODELS}) as g:
        lives(g, Life(cap=1_000, diagnoses=str(tmp_path / "logs")))
        result = await out_of_time(g, lambda _: g.model.of("worker"))
        assert (result["status"], result["exit_reason"]) == ("timeout", "timeout")
        (file,) = (tmp_path / "logs").iterdir()
        assert file.name.startswith("subagent-timeout-")
        assert file.stat().st_mode & 0o077 == 0
        text = file.read_text()
        assert not any(secret in text for secret in ("sk-SECRET", "key=abc"))
        facts = json.loads(text)
        assert (facts["model"], facts["doing"]) == ("small", "model")
        assert facts["key"] == "configured"


class PatientModel(SpyModel):
    """Tries again at once, as often as it takes."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__(rules)
        self._patient = Retrying(self._model, patience=1_000, base=0.01, cap=0.01)

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return await self._patient.complete(request)


async def test_a_diagnosis_says_how_the_model_failed(store: Store, tmp_path: Path) -> None:
    away = {"when": {"tier": "worker"}, "reply": {"error": "unavailable", "text": "no route"}}
    model = PatientModel([delegates({"goal": "x"}), away, ANSWER])
    async with gateway(store=store, model=model) as g:
        lives(g, Life(cap=1_000, diagnoses=str(tmp_path / "logs")))
        result = await out_of_time(g, lambda child: child.failures)
        assert result["status"] == "timeout"
        (file,) = (tmp_path / "logs").iterdir()
        failures = json.loads(file.read_text())["failures"]
        assert set(failures) == {"no route"}
        assert len(failures) <= 20


async def test_a_timeout_after_a_model_call_needs_no_diagnosis(
    store: Store, tmp_path: Path
) -> None:
    rules = [SLOW[0], calls("think", {"thought": "hm"}, turn=0), *SLOW[1:]]
    async with gateway(rules, store=store) as g:
        lives(g, Life(cap=1_000, diagnoses=str(tmp_path / "logs")))
        result = await out_of_time(g, lambda _: len(g.model.of("worker")) == 2)
        assert result["status"] == "timeout"
        assert not (tmp_path / "logs").exists()


async def test_a_child_without_a_heartbeat_is_ended_as_failed(store: Store) -> None:
    async with gateway(SLOW, store=store) as g:
        lives(g, Life(stall=0.1))
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("failed", "stalled")
        assert "no model call and no tool was started for 0.1 s" in result["summary"]


@pytest.mark.parametrize(("given", "cap"), [(0, 0), (5, 30), (30, 30), (1800, 1800)])
def test_there_is_no_cap_unless_it_is_set_and_it_has_a_floor(given: float, cap: float) -> None:
    config = Config.model_validate({"delegation": {"child_timeout_seconds": given}})
    assert life_of_children(config).cap == cap


def batch_rules(last: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        delegates({"tasks": [{"goal": "quick"}, {"goal": "slow"}]}),
        says("quick work", last="Task: quick"),
        calls("write_file", {"path": "half.txt", "content": "x"}, last="Task: slow"),
        last,
        ANSWER,
    ]


async def test_after_a_kill_finished_children_stay_finished_and_the_others_go_on(
    database: str, tmp_path: Path
) -> None:
    tools = {"tools": {"toolsets": ["file"], "workspace": str(tmp_path / "work")}}
    hanging = batch_rules(says("never", last="Wrote", delay=60))
    async with gateway(hanging, store=await SqlStore.open(database), config=tools) as g:
        await g.chat.say("go")
        await g.model.called("worker", 3)
        async with asyncio.timeout(PATIENCE):
            while (await g.app.store.read(lambda tx: tx.delegations.get(1))).state == "running":
                await asyncio.sleep(0.01)
        for file in tmp_path.glob("bough.db*"):
            if file.name in ("bough.db", "bough.db-wal"):
                shutil.copy(file, tmp_path / f"copy{file.suffix}")
    copy = await SqlStore.open(f"sqlite:///{tmp_path}/copy.db")
    async with gateway(
        store=copy, model=SpyModel(batch_rules(says("slow work", last="Wrote"))), config=tools
    ) as g:
        quick, slow = results_in((await g.hears("result: ")).text)
        assert (quick["summary"], slow["summary"]) == ("quick work", "slow work")
        assert slow["files"] == {"half.txt": "wrote"}
        await g.settled()
        (request,) = g.model.of("worker")
        assert tool_results(request)[0].startswith("Wrote")
        assert len(g.model.of("parent")) == 1
        assert len(g.chat.texts()) == 1


async def test_a_crash_between_report_and_judgement_judges_without_working_again(
    database: str,
) -> None:
    task = delegates({"goal": "x", "acceptance_criteria": "It is good."})
    judging = {"when": {"tier": "judge"}, "reply": {"text": "PASS: good", "delay": 5}}
    async with gateway([task, says("work"), judging], store=await SqlStore.open(database)) as g:
        await g.chat.say("go")
        await g.model.called("judge")
    prompt = {"when": {"tier": "judge"}, "reply": {"text": "PASS: good"}}
    async with gateway([prompt, ANSWER], store=await SqlStore.open(database)) as g:
        (result,) = results_in((await g.hears("result: ")).text)
        assert result["verdict"]["verdict"] == "PASS"
        assert g.model.of("worker") == []


async def test_a_child_that_is_sent_back_may_call_its_model_again(store: Store) -> None:
    task = {"goal": "x", "max_iterations": 1, "branch_table": ASKING}
    judged = {"acceptance_criteria": "It is precise.", "retry_on_fail": 1}
    verdict = {"reasoning": "vague"}
    rules = [
        delegates(task | judged),
        reports("There", "seen", "three of them", last="vague"),
        reports("There", "seen", "some", last="only correction"),
        reports("There", "nothing of the kind"),
        calls("give_verdict", verdict | {"verdict": "PASS"}, tier="judge", last="three of them"),
        calls("give_verdict", verdict | {"verdict": "FAIL"}, tier="judge"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["summary"], result["verdict"]["verdict"]) == ("three of them", "PASS")
        assert len(g.model.of("worker")) == 3
