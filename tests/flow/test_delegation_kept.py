"""What a worker found is not found again: after an extension it goes on in its own conversation,
and one that begins anew is told what the last one did."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from agent.models.base import Request
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
    offered,
    reports,
    tool_results,
)

TABLE = [
    {"condition": "There", "branch": "report"},
    {"default": {"action": "escalate", "tier": "overseer"}},
]
LOOKS = calls("read_file", {"path": "seen.txt"}, turn=0, last="Task: look")
ODD = {"condition": "default", "branch": "default", "evidence": "it glows", "observed_state": "odd"}
REPORTS_ODD = calls("report_outcome", ODD)
GREEN = {"conditions": [{"description": "It glows", "branch": "report"}], "reason": "new"}
TASK = delegates({"goal": "look", "branch_table": TABLE})
RESOLVES = calls("resolve", {"summary": "settled"}, tier="overseer")


def extends(**more: Any) -> Rule:
    return calls("extend_table", GREEN | more, tier="overseer")


def looking(folder: Path, **sections: Any) -> dict[str, Any]:
    workspace = folder / "work"
    workspace.mkdir()
    (workspace / "seen.txt").write_text("RAW OUTPUT\n")
    return {"tools": {"toolsets": ["file"], "workspace": str(workspace)}, **sections}


def only_grow(requests: list[Request]) -> bool:
    """Each of these is the one before it with something more at its end."""
    return all(
        list(later.messages[: len(earlier.messages)]) == list(earlier.messages)
        and list(later.tools) == list(earlier.tools)
        and len(later.messages) > len(earlier.messages)
        for earlier, later in pairwise(requests)
    )


async def test_an_extension_costs_one_call_of_the_overseer_and_one_of_the_same_worker(
    store: Store, tmp_path: Path
) -> None:
    rules = [
        TASK,
        LOOKS,
        reports("It glows", "match", "green", last="It glows"),
        REPORTS_ODD,
        extends(),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        result = await ask_one(g)
        assert (result["condition"], result["summary"]) == ("It glows", "green")
        worker = g.model.of("worker")
        assert (len(worker), len(g.model.of("overseer"))) == (3, 1)
        assert only_grow(worker)
        told = worker[-1].messages[-1]
        assert "2. It glows" in told["content"]
        assert "1. There" not in told["content"]


async def test_a_worker_that_ended_in_text_goes_on_too(store: Store) -> None:
    talks = {"when": {"tier": "worker"}, "reply": {"text": "I cannot say."}}
    rules = [TASK, reports("It glows", "match", last="It glows"), talks, extends(), ANSWER]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["condition"] == "It glows"
        assert len(g.model.of("worker")) == 3
        assert only_grow(g.model.of("worker"))


async def test_each_of_two_extensions_tells_only_what_is_new(store: Store) -> None:
    blue = {"conditions": [{"description": "It is blue", "branch": "report"}], "reason": "more"}
    rules = [
        TASK,
        reports("It is blue", "match", last="It is blue"),
        REPORTS_ODD,
        calls("extend_table", blue, tier="overseer", last="It glows"),
        extends(),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        assert (await ask_one(g))["condition"] == "It is blue"
        assert only_grow(g.model.of("worker"))
        first, second = (r.messages[-1]["content"] for r in g.model.of("worker")[1:])
        assert "2. It glows" in first
        assert "3. It is blue" in second
        assert "It glows" not in second


async def test_a_fresh_worker_begins_with_what_the_last_one_read_and_found(
    store: Store, tmp_path: Path
) -> None:
    rules = [
        TASK,
        reports("It glows", "match", last="A worker before you"),
        LOOKS,
        REPORTS_ODD,
        extends(fresh=True),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        assert (await ask_one(g))["condition"] == "It glows"
        worker = g.model.of("worker")
        assert len(worker) == 3
        text = first_message(worker[-1])
        assert text.startswith("Task: look")
        assert '{"path": "seen.txt"}\nRAW OUTPUT\n' in text
        assert "it glows" in text
        assert "Overseer 1: added outcomes. new" in text
        assert "2. It glows" in worker[-1].messages[0]["content"]


async def test_try_again_begins_with_what_was_tried(store: Store, tmp_path: Path) -> None:
    to_a_person = {"action": "escalate", "tier": "human", "prompt": "Lost?"}
    rules = [
        delegates({"goal": "look", "branch_table": [TABLE[0], {"default": to_a_person}]}),
        reports("There", "match", "found it", last="A worker before you"),
        LOOKS,
        REPORTS_ODD,
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        await g.chat.say("go")
        await g.chat.press(await asked(g, "Lost?"), "Try again")
        await g.hears("found it")
        worker = g.model.of("worker")
        assert len(worker) == 3
        assert "RAW OUTPUT" in first_message(worker[-1])
        assert "had it tried again" in first_message(worker[-1])


async def test_what_a_former_worker_read_is_bounded_by_the_window_of_the_next(
    store: Store, tmp_path: Path
) -> None:
    models = {"parent": {"model": "big"}, "worker": {"model": "small", "context_window": 8_000}}
    config = looking(tmp_path, models=models)
    (tmp_path / "work" / "seen.txt").write_text("a line of text\n" * 5_000)
    rules = [
        TASK,
        reports("It glows", "match", last="A worker before you"),
        LOOKS,
        REPORTS_ODD,
        extends(fresh=True),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=config) as g:
        await ask_one(g)
        text = first_message(g.model.of("worker")[-1])
        assert "a line of text" in text
        assert "cut" in text
        assert len(text) < 2_000 * 4 + 200


async def test_the_overseer_looks_with_the_workers_tools_that_change_nothing(
    store: Store, tmp_path: Path
) -> None:
    looks = calls("read_file", {"path": "seen.txt"}, tier="overseer", turn=0)
    rules = [TASK, REPORTS_ODD, looks, RESOLVES, ANSWER]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        assert (await ask_one(g))["summary"] == "settled"
        first, second = g.model.of("overseer")
        assert offered(first) >= {"read_file", "list_files", "search_files", "resolve"}
        assert not offered(first) & {"write_file", "think", "delegate_task"}
        assert "10 steps" in first.messages[0]["content"]
        assert tool_results(second) == ["RAW OUTPUT\n"]


async def test_an_overseer_that_only_looks_comes_to_its_limit_and_a_person_decides(
    store: Store, tmp_path: Path
) -> None:
    looks = calls("list_files", {}, tier="overseer")
    async with gateway(
        [TASK, REPORTS_ODD, looks, ANSWER], store=store, config=looking(tmp_path)
    ) as g:
        await g.chat.say("go")
        await asked(g, "no result within 10 model calls")
        assert len(g.model.of("overseer")) == 10


async def test_without_toolsets_an_overseer_only_decides(store: Store) -> None:
    async with gateway([TASK, REPORTS_ODD, RESOLVES, ANSWER], store=store) as g:
        await ask_one(g)
        (request,) = g.model.of("overseer")
        assert offered(request) == {"extend_table", "ask_worker", "resolve", "escalate_to_human"}
        assert "steps in all" not in request.messages[0]["content"]


async def test_a_worker_checks_what_the_overseer_names_and_reports_again(
    store: Store, tmp_path: Path
) -> None:
    rules = [
        TASK,
        calls("read_file", {"path": "seen.txt"}, last="Is it raw"),
        reports("There", "match", "it is raw", last="RAW"),
        REPORTS_ODD,
        calls("ask_worker", {"check": "Is it raw?"}, tier="overseer"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=looking(tmp_path)) as g:
        assert (await ask_one(g))["summary"] == "it is raw"
        assert only_grow(g.model.of("worker"))
        assert len(g.model.of("worker")) == 3


async def test_after_a_kill_a_worker_is_told_of_the_extension_once(database: str) -> None:
    slow = reports("It glows", "match", "green", last="It glows")
    slow["reply"]["delay"] = 60
    rules = [TASK, slow, REPORTS_ODD, extends(), ANSWER]
    model = SpyModel(rules)
    async with gateway(store=await SqlStore.open(database), model=model) as g:
        await g.chat.say("go")
        await g.model.called("worker", 2)
    cut = model.of("worker")[-1]
    again = SpyModel([reports("It glows", "match", "green", last="It glows"), ANSWER])
    async with gateway(store=await SqlStore.open(database), model=again) as g:
        await g.hears("green")
        (request,) = again.of("worker")
        assert request.messages == cut.messages
        assert again.of("overseer") == []
