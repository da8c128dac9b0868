"""What people and the parent see of delegations: queued ones, verdicts, whole turns, a line for
each task that ended, and files that two wrote."""

import asyncio
from pathlib import Path

import pytest

from adapters.base import Edit, Post
from adapters.recording import RecordingAdapter
from agent.delegation.result import with_shared_files
from gateway.status import agents_panel, progress
from storage.records.entries import Json
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import SlowModel
from tests.flow.conftest import PATIENCE, gateway
from tests.flow.delegating import (
    ANSWER,
    Rule,
    ask,
    calls,
    delegates,
    results_in,
    says,
    tool_results,
)

ONE_AT_A_TIME: Json = {"delegation": {"max_concurrent_children": 1}}
JUDGED = {"goal": "find files", "acceptance_criteria": "It names three."}


def verdict(word: str) -> Rule:
    given = {"verdict": word, "reasoning": "I looked."}
    return calls("give_verdict", given, tier="judge")


async def test_one_that_waits_for_a_place_is_stopped_and_those_after_it_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents_panel, "EVERY", 0.05)
    rules = [
        delegates(*({"goal": goal} for goal in ("one", "two", "three"))),
        says("one is done", last="Task: one", delay=2),
        says("{last}"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=ONE_AT_A_TIME) as g:
        await g.chat.say("go")
        await g.model.called("worker")
        await g.chat.say("/agents")
        shown = await g.hears("now: model")
        assert shown.text.count("queued") == 2
        stops = [one.label for one in shown.buttons if one.label.startswith("Stop")]
        assert sorted(stops) == ["Stop agent 1", "Stop agent 2", "Stop agent 3"]
        await g.chat.press(shown, "Stop agent 2")
        await g.hears("result: ")
        results = [results_in(text)[0] for text in tool_results(g.model.of("parent")[-1])]
        assert [one["status"] for one in results] == ["completed", "interrupted", "completed"]
        assert results[1]["exit_reason"] == "interrupted"
        assert len(g.model.of("worker")) == 2


async def test_stop_ends_those_that_wait_for_a_place_too(store: Store) -> None:
    rules = [delegates({"goal": "one"}, {"goal": "two"}), says("never", delay=60), ANSWER]
    async with gateway(rules, store=store, config=ONE_AT_A_TIME) as g:
        await g.chat.say("go")
        await g.model.called("worker")
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        rows = await store.read(lambda tx: tx.delegations.recent(1))
        assert [row.state for row in rows] == ["interrupted"] * 2
        assert len(g.model.of("worker")) == 1
        assert g.app.router.context.active == {}


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("PASS", "✅ #1 find files\ncompleted · judge: PASS · "),
        ("FAIL", "❌ #1 find files\nended · judge: FAIL · "),
        ("INCONCLUSIVE", "⚠️ #1 find files\ncompleted · judge: INCONCLUSIVE · "),
    ],
)
async def test_what_a_judge_found_is_shown(store: Store, word: str, shown: str) -> None:
    rules = [delegates(JUDGED), says("a, b"), verdict(word), ANSWER]
    async with gateway(rules, store=store) as g:
        await ask(g)
        await g.chat.say("/agents")
        await g.hears(shown)


async def test_how_often_a_worker_was_sent_back_is_shown(store: Store) -> None:
    again = delegates(JUDGED | {"retry_on_fail": 1})
    rules = [again, says("a, b"), verdict("FAIL"), ANSWER]
    async with gateway(rules, store=store) as g:
        await ask(g)
        await g.chat.say("/agents")
        await g.hears("ended · judge: FAIL · sent back once · ")


async def test_a_part_of_the_work_is_no_success(store: Store) -> None:
    rules = [
        delegates({"goal": "one", "max_iterations": 1}),
        says("half of it", last="Report in text what you have"),
        calls("think", {"thought": "hm"}),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await ask(g)
        await g.chat.say("/agents")
        await g.hears("◐ #1 one\npartial · ")


async def test_a_transcript_shows_whole_turns(store: Store) -> None:
    """One that is longer than a page is cut into pages of its own, and nothing is left out."""
    lines = [f"line {number} of the list" for number in range(200)]
    rules = [
        delegates({"goal": "one"}),
        calls("think", {"thought": "x" * 900}, turn=0),
        calls("think", {"thought": "y" * 900}, turn=1),
        says("\n".join(lines)),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.chat.say("/agents 1")
        shown = await g.hears("Page 1 of")
        pages = [shown.text]
        while "Next ▶" in [button.label for button in shown.buttons]:
            await g.chat.press(shown, "Next ▶")
            await g.hears(f"Page {len(pages) + 1} of {shown.text.rpartition(' ')[2]}")
            pages.append(shown.text)
        assert all(len(page) < 2_000 for page in pages)
        for letter in "xy":
            assert sum(letter * 900 in page for page in pages) == 1
        whole = "".join(pages)
        assert all(line in whole for line in lines)
        await g.chat.press(shown, "◀ Back")
        await g.hears(f"Page {len(pages) - 1} of")


async def test_each_task_has_a_line_when_it_has_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.1)
    monkeypatch.setattr(progress, "EVERY", 0.1)
    rules = [
        delegates({"goal": "one"}, JUDGED),
        says("a\nb", last="Task: find files"),
        verdict("FAIL"),
        says("one is *done*"),
        ANSWER,
    ]
    model = SlowModel(rules, "Task: one")
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        failed = "❌ #2 find files — a b · judge: FAIL · $"
        shown = await g.hears(failed)
        assert "⏳ #1 one · worker · model" in shown.text
        model.may_go_on.set()
        await g.hears("result: ")
        await g.settled()
        texts = [o.body["text"] for o in g.chat.outgoing if isinstance(o, Post | Edit)]
        last = next(text for text in reversed(texts) if progress.OVER in text)
        assert last.startswith(f"{progress.OVER}\n\n✅ #1 one — one is done · $")
        assert failed in last


def writing(*goals: str) -> list[Rule]:
    return [
        delegates({"tasks": [{"goal": goal} for goal in goals]}),
        *(
            calls("write_file", {"path": f"./{goal[0]}.txt", "content": goal}, last=f"Task: {goal}")
            for goal in goals
        ),
        says("written", last="Wrote"),
        ANSWER,
    ]


def files(folder: Path) -> Json:
    return {"tools": {"toolsets": ["file"], "workspace": str(folder)}}


async def test_two_that_wrote_the_same_file_are_told_so(store: Store, tmp_path: Path) -> None:
    async with gateway(writing("a1", "b", "a2"), store=store, config=files(tmp_path)) as g:
        first, other, second = await ask(g)
        assert "task 3 of this call wrote the same: a.txt" in first["warnings"][0]
        assert "task 1 of this call wrote the same: a.txt" in second["warnings"][0]
        assert not other.get("warnings")
        assert "wrote the same" in tool_results(g.model.of("parent")[-1])[0]


async def test_what_a_command_of_one_wrote_counts_too(store: Store, tmp_path: Path) -> None:
    allowed = {"tool": "run_command", "decision": "allow"}
    tools = {"toolsets": ["file", "terminal"], "workspace": str(tmp_path / "w"), "rules": [allowed]}
    line = {"command": "mkdir d; echo hi > ./a.txt; echo ho > d/b.txt"}
    rules = [
        delegates({"tasks": [{"goal": "a1"}, {"goal": "command"}]}),
        calls("run_command", line, last="Task: command"),
        calls("write_file", {"path": "a.txt", "content": "1"}, last="Task: a1"),
        says("written", last="Wrote|exit|status"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config={"tools": tools}) as g:
        first, second = await ask(g)
        assert "task 2 of this call wrote, or ran a command" in first["warnings"][0]
        assert "the same: a.txt; only" in second["warnings"][0]
        assert second["files"] == {"a.txt": "changed", "d/b.txt": "changed"}


async def test_one_that_ended_before_a_restart_counts(database: str, tmp_path: Path) -> None:
    rules, chat = writing("a1", "a2"), RecordingAdapter(name="telegram")
    config = files(tmp_path)
    held = [says("never", last="Task: a2", delay=60), *rules]
    store: Store = await SqlStore.open(database)
    async with gateway(held, store=store, chat=chat, config=config) as g:
        await g.chat.say("go")
        await g.model.called("worker", 3)
        async with asyncio.timeout(PATIENCE):
            while (await store.read(lambda tx: tx.delegations.get(1))).state != "completed":
                await asyncio.sleep(0.01)
    store = await SqlStore.open(database)
    async with gateway(rules, store=store, chat=chat, config=config) as g:
        results = results_in((await g.hears("result: ")).text)
        assert len(g.model.of("worker")) == 2
        assert all("wrote the same: a.txt" in one["warnings"][0] for one in results)


def test_many_shared_files_are_one_warning() -> None:
    wrote = {f"{number}.txt": "wrote" for number in range(30)}
    first, second, third = with_shared_files(
        [
            {"files": wrote, "warnings": ["old"]},
            {"files": wrote | {"r": "read"}},
            {"files": {"r": "read"}},
        ]
    )
    assert first["warnings"][0] == "old"
    assert len(first["warnings"]) == 2
    assert "0.txt" in second["warnings"][0]
    assert "and 20 more" in second["warnings"][0]
    assert third == {"files": {"r": "read"}}


def test_what_a_command_changed_is_shared_too() -> None:
    wrote, changed = {"a.txt": "wrote"}, {"a.txt": "changed", "b.txt": "changed"}
    first, second = with_shared_files([{"files": wrote}, {"files": changed}])
    assert (
        "task 2 of this call wrote, or ran a command that may have changed,"
        in (first["warnings"][0])
    )
    assert "the same: a.txt; only" in second["warnings"][0]
    assert len(first["warnings"]) == len(second["warnings"]) == 1
