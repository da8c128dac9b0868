"""A worker that cannot go on reports what it has: in a last call, or else from its session."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from agent.delegation.children.child_runner import Life
from agent.models.base import Request
from agent.tools.base import Call, Done, Effects, Traits
from agent.tools.files.tools import page_for
from storage.records.entries import Json
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import Gateway, SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    Rule,
    ask_one,
    asked,
    calls,
    delegates,
    first_message,
    out_of_time,
    reports,
    results_in,
    says,
    tool_results,
)
from tests.flow.test_delegation_kept import looking, only_grow

HALF = says("half of it", last="Report in text what you have")
READS = calls("read_file", {"path": "seen.txt"})
THINKS = calls("think", {"thought": "hm"})
SMALL = {"parent": {"model": "big"}, "worker": {"model": "small", "context_window": 8_000}}
SUMMARY: Rule = {"when": {"system": "^You condense"}, "reply": {"text": "what was seen so far"}}


def table(default: Any) -> list[Any]:
    return [{"condition": "There", "branch": "report"}, {"default": default}]


def error(kind: str, **when: Any) -> Rule:
    return {"when": {"tier": "worker", **when}, "reply": {"error": kind, "text": "no luck"}}


async def test_at_its_limit_of_steps_a_worker_reports_what_it_has(
    store: Store, tmp_path: Path
) -> None:
    rules = [delegates({"goal": "x", "max_iterations": 2}), HALF, READS, ANSWER]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("partial", "max_iterations")
        assert result["summary"] == "half of it"
        assert result["warnings"] == ["no result within 2 model calls"]
        worker = g.model.of("worker")
        assert [r.tool_choice for r in worker] == ["", "", "none"]
        assert only_grow(worker)


async def test_a_worker_that_calls_tools_all_the_same_is_taken_at_what_it_found(
    store: Store, tmp_path: Path
) -> None:
    rules = [delegates({"goal": "x", "max_iterations": 1}), READS, ANSWER]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        result = await ask_one(g)
        assert result["status"] == "partial"
        assert "RAW OUTPUT" in result["summary"]
        assert len(g.model.of("worker")) == 2


async def test_with_a_table_the_last_words_go_the_way_of_the_default(store: Store) -> None:
    to_a_person = {"action": "escalate", "tier": "human", "prompt": "Odd: {observed_state}"}
    task = {"goal": "x", "max_iterations": 1, "branch_table": table(to_a_person)}
    async with gateway([delegates(task), HALF, THINKS, ANSWER], store=store) as g:
        await g.chat.say("go")
        question = await asked(g, "half of it")
        await g.chat.press(question, "Other outcomes…")
        await g.settled()
        await g.chat.press(question, "There")
        assert results_in((await g.hears("result: ")).text)[0]["resolved_by"] == "human"


async def test_a_default_that_reports_is_partial_then(store: Store) -> None:
    task = {"goal": "x", "max_iterations": 1, "branch_table": table("report")}
    async with gateway([delegates(task), HALF, THINKS, ANSWER], store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["branch"]) == ("partial", "default")
        assert (result["summary"], result["exit_reason"]) == ("half of it", "max_iterations")


async def test_a_report_in_the_last_call_counts(store: Store) -> None:
    task = {"goal": "x", "max_iterations": 1, "branch_table": table("report")}
    rules = [
        delegates(task),
        reports("There", "match", "found", last="Report in text"),
        THINKS,
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["condition"]) == ("completed", "There")


async def test_after_its_last_words_a_worker_may_go_on_with_new_conditions(store: Store) -> None:
    task = {"goal": "x", "max_iterations": 1, "branch_table": table("escalate")}
    new = {"conditions": [{"description": "Half is there", "branch": "report"}], "reason": "half"}
    rules = [
        delegates(task),
        reports("Half is there", "match", "one half", last="Half is there"),
        HALF,
        THINKS,
        calls("extend_table", new, tier="overseer"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["condition"] == "Half is there"
        assert only_grow(g.model.of("worker"))


async def test_a_model_that_fails_for_good_leaves_what_was_found(
    store: Store, tmp_path: Path
) -> None:
    rules = [delegates({"goal": "x"}), error("bad_request", last="RAW"), READS, ANSWER]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("partial", "model_error")
        assert "RAW OUTPUT" in result["summary"]
        assert "no luck" in result["warnings"][0]
        assert len(g.model.of("worker")) == 2


async def test_a_model_that_fails_before_anything_was_found_is_a_failure(store: Store) -> None:
    rules = [delegates({"goal": "x"}), error("bad_request"), ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("failed", "model_error")


def lives(g: Gateway, life: Life) -> None:
    g.app.upkeep.housekeeping.runner.results.subagents.child_runner.life = life


async def test_near_the_end_of_its_time_a_worker_reports_what_it_has(store: Store) -> None:
    slow = {**THINKS, "reply": {**THINKS["reply"], "delay": 0.3}}
    async with gateway([delegates({"goal": "x"}), HALF, slow, ANSWER], store=store) as g:
        lives(g, Life(cap=1_000))
        await g.chat.say("go")
        await g.model.called("worker")
        (activity,) = g.app.upkeep.housekeeping.runner.results.subagents.active.values()
        activity.clock = lambda: time.monotonic() + 850
        (result,) = results_in((await g.hears("result: ")).text)
        assert (result["status"], result["exit_reason"]) == ("partial", "timeout")
        assert result["summary"] == "half of it"


async def test_what_a_worker_found_that_ran_out_of_time_in_a_call_is_not_lost(
    store: Store, tmp_path: Path
) -> None:
    hangs = says("never", last="RAW", delay=60)
    async with gateway(
        [delegates({"goal": "x"}), hangs, READS, ANSWER], store=store, config=looking(tmp_path)
    ) as g:
        lives(g, Life(cap=1_000))
        result = await out_of_time(g, lambda _: len(g.model.of("worker")) == 2)
        assert (result["status"], result["exit_reason"]) == ("partial", "timeout")
        assert "RAW OUTPUT" in result["summary"]


class Hangs:
    name = "hang"
    description = "Never comes back."
    traits = Traits(Effects.READS, repeatable=True)

    def __init__(self) -> None:
        self.parameters: Json = {"type": "object", "properties": {}}

    async def run(self, call: Call) -> Done:
        await asyncio.Event().wait()
        raise AssertionError(call)


async def test_a_worker_that_ran_out_of_time_in_a_tool_may_go_on_with_new_conditions(
    store: Store, tmp_path: Path
) -> None:
    new = {"conditions": [{"description": "It hangs", "branch": "report"}], "reason": "slow"}
    rules = [
        delegates({"goal": "x", "branch_table": table("escalate")}),
        reports("It hangs", "match", "it hung", last="It hangs"),
        calls("hang", {}, last="RAW"),
        READS,
        calls("extend_table", new, tier="overseer"),
        ANSWER,
    ]
    config = looking(tmp_path)
    async with gateway(rules, store=store, config=config, tools=[Hangs()]) as g:
        lives(g, Life(cap=1_000))
        result = await out_of_time(g, lambda child: child.tool == "hang")
        assert result["summary"] == "it hung"
        worker = g.model.of("worker")
        assert only_grow(worker)
        assert "not run, or interrupted" in tool_results(worker[-1])[-1]
        assert "It hangs" in worker[-1].messages[-1]["content"]
        assert "RAW OUTPUT" in first_message(g.model.of("overseer")[0])


async def test_a_worker_whose_window_is_full_reports_what_it_has(store: Store) -> None:
    full = {**THINKS, "reply": {**THINKS["reply"], "usage": {"input": 7_500, "output": 10}}}
    config = {"models": SMALL}
    async with gateway(
        [delegates({"goal": "x"}), HALF, full, ANSWER], store=store, config=config
    ) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("partial", "context_window")
        assert result["summary"] == "half of it"


def is_summary(request: Request) -> bool:
    return str(request.messages[0]["content"]).startswith("You condense")


async def test_a_worker_that_reads_much_is_compacted_and_keeps_its_task_and_its_bill(
    store: Store, tmp_path: Path
) -> None:
    config = looking(tmp_path, models=SMALL)
    text = "".join(f"line {n} of the file\n" for n in range(1, 2_000))
    (tmp_path / "work" / "long.txt").write_text(text)
    task = delegates({"goal": "read all of it", "context": "Only odd lines count."})
    reads_on = {"path": "long.txt", "offset": "{1}"}
    rules = [
        task,
        SUMMARY,
        calls("read_file", {"path": "long.txt"}, last="^Task"),
        calls("read_file", reads_on, last=r"go on with offset=(\d+)"),
        says("all read"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=config) as g:
        result = await ask_one(g)
        assert (result["status"], result["summary"]) == ("completed", "all read")
        summaries = [r for r in g.model.of("worker") if is_summary(r)]
        worker = [r for r in g.model.of("worker") if not is_summary(r)]
        assert summaries
        last = json.dumps(worker[-1].messages)
        assert "what was seen so far" in last
        assert "Only odd lines count." in last
        assert len(last) < len(json.dumps(summaries[-1].messages)) + 8_000 * 4
        row = await store.read(lambda tx: tx.delegations.get(1))
        assert json.loads(row.result)["usage"]["calls"] == len(worker) + len(summaries)


async def test_a_compacted_worker_keeps_its_task_however_long_what_it_was_told_since(
    store: Store, tmp_path: Path
) -> None:
    config = looking(tmp_path, models=SMALL)
    text = "".join(f"line {n} of the file\n" for n in range(1, 2_000))
    (tmp_path / "work" / "long.txt").write_text(text)
    along = table({"action": "escalate", "tier": "overseer"})
    odd = {"goal": "read all of it", "context": "Only odd lines count.", "branch_table": along}
    check = {"check": f"{'Why is that so? ' * 300}And when?"}
    rules = [
        delegates(odd),
        SUMMARY,
        reports("default", "default", last="^Task"),
        calls("ask_worker", check, tier="overseer"),
        calls("read_file", {"path": "long.txt"}, last="And when|needs to know"),
        calls("read_file", {"path": "long.txt", "offset": "{1}"}, last=r"with offset=(\d+)"),
        reports("There", "match"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=config) as g:
        assert (await ask_one(g))["branch"] == "match"
        worker = g.model.of("worker")
        assert any(is_summary(request) for request in worker)
        last = json.dumps([r for r in worker if not is_summary(r)][-1].messages)
        assert "Only odd lines count." in last
        assert "Then end with report_outcome again." in last


async def test_a_worker_that_overflows_is_compacted_and_goes_on(
    store: Store, tmp_path: Path
) -> None:
    refusal = error("context_length", last="RAW") | {"times": 1}
    rules = [delegates({"goal": "x"}), SUMMARY, refusal, READS | {"times": 1}, says("done"), ANSWER]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        result = await ask_one(g)
        assert (result["status"], result["summary"]) == ("completed", "done")
        assert any(is_summary(request) for request in g.model.of("worker"))


async def test_a_worker_that_overflows_for_good_leaves_what_was_found(
    store: Store, tmp_path: Path
) -> None:
    rules = [delegates({"goal": "x"}), SUMMARY, error("context_length", turn=1), READS, ANSWER]
    rules.insert(3, error("context_length", last="summary of"))
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        result = await ask_one(g)
        assert (result["status"], result["exit_reason"]) == ("partial", "model_error")
        assert "RAW OUTPUT" in result["summary"]


async def test_a_page_of_a_file_fits_the_window_of_the_worker_that_reads_it(
    store: Store, tmp_path: Path
) -> None:
    config = looking(tmp_path, models=SMALL)
    (tmp_path / "work" / "seen.txt").write_text("a line of text\n" * 5_000)
    rules = [delegates({"goal": "x"}), READS | {"times": 1}, says("done"), ANSWER]
    async with gateway(rules, store=store, config=config) as g:
        await ask_one(g)
        (read,) = tool_results(g.model.of("worker")[-1])
        assert len(read) <= page_for(8_000) + 100 == 4_100
        assert "go on with offset=" in read


async def test_after_a_kill_a_worker_is_asked_for_its_last_words_once(
    database: str, tmp_path: Path
) -> None:
    config = looking(tmp_path)
    hanging = {**HALF, "reply": {"text": "never", "delay": 60}}
    model = SpyModel([delegates({"goal": "x", "max_iterations": 1}), hanging, READS, ANSWER])
    async with gateway(store=await SqlStore.open(database), model=model, config=config) as g:
        await g.chat.say("go")
        await g.model.called("worker", 2)
    again = SpyModel([HALF, ANSWER])
    async with gateway(store=await SqlStore.open(database), model=again, config=config) as g:
        (result,) = results_in((await g.hears("result: ")).text)
        assert (result["status"], result["summary"]) == ("partial", "half of it")
        (request,) = again.of("worker")
        assert request.messages == model.of("worker")[-1].messages
        assert request.tool_choice == "none"
