"""Questions to people, pressed by whoever may and may not, through Telegram."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from storage.records.entries import Json
from storage.sql.store import SqlStore
from tests.flow.telegram_gateway import (
    ANN,
    ANSWER,
    FORUM,
    OWNER,
    STRANGER,
    ConstantIds,
    TelegramGateway,
    call,
    delegate,
    report,
    result_of,
    results_in,
    says,
    telegram_gateway,
)
from tests.stand_ins.telegram_world import buttons

TABLE = [
    {"condition": "It is fine", "branches": {"fine": "report"}},
    {
        "condition": "It is gone",
        "branches": {
            "match": {"action": "escalate", "tier": "human", "prompt": "May it be dead?"},
            "ok": "report",
            "odd": "report",
        },
    },
    {"default": "escalate"},
]
RULES = [delegate(TABLE), report(2, "match", "404"), ANSWER]
BOTH = {
    "owners": [f"telegram:{OWNER}"],
    "allow": ["telegram:*"],
    "approvers": [f"telegram:{OWNER}", f"telegram:{ANN}"],
}


async def asks(g: TelegramGateway, **more: Any) -> Json:
    g.say("go", **more)
    return await g.hears("May it be dead?")


async def audits(g: TelegramGateway) -> list[str]:
    return [what for what, *_ in await g.read(lambda tx: tx.directory.audits())]


async def test_a_press_decides_and_every_trace_of_the_buttons_goes(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        g.press(question, "Odd")
        result = await result_of(g)
        assert (result["branch"], result["resolved_by"]) == ("odd", "human")
        await g.settled()
        assert g.telegram.labels(question) == []
        assert "Olga: Odd" in question["text"]
        assert await g.told() == ""
        assert len(g.asked("worker")) == 1
        assert len(g.asked("parent")) == 2


async def test_a_press_from_a_stranger_changes_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        g.press(question, "Stop", user=STRANGER)
        g.press(question, "Stop", user=ANN)
        assert (await g.told(1)).startswith("You may not decide this")
        assert (await g.told(2)).startswith("You may not decide this")
        await g.settled()
        assert g.telegram.labels(question)
        assert len(await g.read(lambda tx: tx.questions.open())) == 1
        assert await audits(g) == ["denied press", "denied press"]
        assert len(g.asked("parent")) == 1


async def test_of_two_people_at_once_the_first_decides_and_the_other_is_told(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, RULES, access=BOTH) as g:
        question = await asks(g)
        g.press(question, "Stop", user=ANN)
        g.press(question, "Ok", user=OWNER)
        g.press(question, "Stop", user=OWNER)
        assert (await result_of(g))["summary"] == "Ann stopped it."
        assert await g.told(1) == ""
        assert await g.told(2) == await g.told(3) == "Ann: Stop"
        await g.settled()
        assert (await audits(g)).count("decision") == 1
        assert len(g.asked("parent")) == 2


async def test_the_same_press_delivered_twice_counts_once(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        update = g.press(question, "Stop")
        g.telegram.repeat(update)
        await result_of(g)
        g.say("hello")
        await g.hears("result: hello")
        assert len(g.telegram.methods.answers) == 1
        assert g.texts().count("result: hello") == 1


async def test_forged_callback_data_decides_nothing(tmp_path: Path) -> None:
    forged = ["x", "x" * 64, "😀" * 16, "retry", "1:1", "' OR 1=1 --"]
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        for count, data in enumerate(forged, 1):
            g.telegram.forge(question, data, OWNER)
            assert "not valid any more" in await g.told(count)
        assert len(await g.read(lambda tx: tx.questions.open())) == 1
        assert await audits(g) == ["forged press"] * len(forged)


async def test_truncated_and_foreign_tokens_decide_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES, access=BOTH) as g:
        question = await asks(g)
        token = buttons(question)[-1]["callback_data"]
        g.telegram.forge(question, token[:-1], OWNER)
        g.telegram.forge(question, token + "A", OWNER)
        g.say("/help", chat=ANN)
        elsewhere = await g.hears("/stop", chat=ANN)
        g.telegram.forge(elsewhere, token, ANN)
        for count in (1, 2, 3):
            assert "not valid any more" in await g.told(count)
        assert len(await g.read(lambda tx: tx.questions.open())) == 1


async def test_a_press_on_a_question_that_is_over_says_what_became_of_it(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        token = buttons(question)[0]["callback_data"]
        g.say("/stop")
        await g.hears("Stopped.")
        g.telegram.forge(question, token, OWNER)
        assert await g.told() == "Withdrawn."
        await g.settled()
        assert len(g.asked("parent")) == 1


async def test_a_question_that_nobody_decides_ends_as_configured(tmp_path: Path) -> None:
    policy = {"timeout": "0.3s", "on_timeout": "failed"}
    async with telegram_gateway(tmp_path, RULES, escalation=policy) as g:
        question = await asks(g)
        token = buttons(question)[0]["callback_data"]
        result = await result_of(g)
        assert (result["status"], result["exit_reason"]) == ("failed", "expired")
        await g.settled()
        assert g.telegram.labels(question) == []
        g.telegram.forge(question, token, OWNER)
        assert await g.told() == "Nobody decided in time: failed."
        assert len(g.asked("parent")) == 2


async def test_each_level_gets_a_copy_and_the_answer_comes_to_who_asked(tmp_path: Path) -> None:
    levels = [
        {"to": f"telegram:{FORUM}/1", "after": "0s"},
        {"to": f"telegram:{ANN}", "approvers": f"telegram:{ANN}", "after": "0.2s"},
    ]
    async with telegram_gateway(tmp_path, RULES, escalation={"levels": levels}, started=False) as g:
        g.telegram.group(FORUM, "Ops", forum=True)
        assert g.telegram.topic(FORUM, "Decisions", OWNER) == 1
        await g.start()
        question = await asks(g)
        second = await g.hears("May it be dead?", chat=FORUM)
        assert second["message_thread_id"] == 1
        third = await g.hears("May it be dead?", chat=ANN)
        g.press(third, "Stop", user=ANN)
        assert (await result_of(g))["summary"] == "Ann stopped it."
        await g.settled()
        for copy in (question, second, third):
            assert g.telegram.labels(copy) == []
            assert "Ann: Stop" in copy["text"]
        assert g.texts(ANN) == [third["text"]]


async def test_whoever_could_decide_still_can_after_a_later_level(tmp_path: Path) -> None:
    levels = [{"to": f"telegram:{ANN}", "approvers": f"telegram:{ANN}", "after": "0.1s"}]
    async with telegram_gateway(tmp_path, RULES, escalation={"levels": levels}) as g:
        question = await asks(g)
        await g.hears("May it be dead?", chat=ANN)
        g.press(question, "Stop")
        assert (await result_of(g))["summary"] == "Olga stopped it."


async def test_who_may_decide_but_not_talk_may_ask_what_is_open(tmp_path: Path) -> None:
    access = {"owners": [f"telegram:{OWNER}"], "approvers": [f"telegram:{ANN}"]}
    async with telegram_gateway(tmp_path, RULES, access=access) as g:
        await asks(g)
        g.say("hello", chat=ANN)
        await g.hears("I do not know you", chat=ANN)
        g.say("/questions", chat=ANN)
        g.press(await g.hears("May it be dead?", chat=ANN), "Stop", user=ANN)
        assert (await result_of(g))["summary"] == "Ann stopped it."


async def test_a_press_while_the_gateway_is_down_counts_when_it_is_back(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        await g.settled()
        await g.stop()
        g.press(question, "Stop")
        await g.start()
        assert (await result_of(g))["status"] == "rejected"
        await g.settled()
        assert g.telegram.labels(question) == []
        assert len(g.asked("worker")) == 1


async def test_after_a_long_outage_open_questions_are_posted_afresh(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES) as g:
        question = await asks(g)
        await g.settled()
        await g.stop()
        store = await SqlStore.open(g.config["storage"]["url"])
        await store.run(lambda tx: tx.directory.set_fact("alive:telegram", tx.now - 200))
        await store.close()
        await g.start()
        fresh = await g.hears("May it be dead?", count=2)
        g.press(fresh, "Stop")
        await result_of(g)
        await g.settled()
        assert g.telegram.labels(question) == g.telegram.labels(fresh) == []


async def test_try_again_after_a_stop_of_the_bot_runs_a_fresh_worker(tmp_path: Path) -> None:
    rules = [delegate(TABLE), report(2, "match", "404") | {"times": 1}, report(1, "fine"), ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.press(await asks(g), "Try again")
        result = await result_of(g)
        assert result["resolved_by"] == "worker"
        assert len(g.asked("worker")) == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_parallel_waits_keep_apart_though_the_model_calls_every_call_the_same(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    two = [
        {"name": "delegate_task", "arguments": {"goal": goal, "branch_table": TABLE}}
        for goal in ("Task 0", "Task 1")
    ]
    rules = [
        {"when": {"tier": "parent", "last": "^go"}, "reply": {"tool_calls": two}},
        report(2, "match", "404"),
        says("parent", "talk", last="^hello"),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules, wrap=ConstantIds) as g:
        g.say("go")
        await g.hears("Task 0")
        await g.hears("Task 1")
        g.say("hello")
        await g.hears("talk")
        for count, number in enumerate(order, 1):
            g.press(await g.hears(f"Task {number}"), "Stop" if number else "Ok")
            await g.hears("result: ", count=count)
            last = g.asked("parent")[-1].messages[-1]["content"]
            assert results_in(last)["task"] == f"Task {number}"
        states = await g.read(lambda tx: [d.state for d in tx.delegations.recent(1)])
        assert states == ["rejected", "completed"]


async def test_waits_of_several_turns_keep_apart_with_constant_ids(tmp_path: Path) -> None:
    rules = [
        call(
            "parent", "delegate_task", {"goal": "Task {1}", "branch_table": TABLE}, last=r"^go (\d)"
        ),
        report(2, "match", "404"),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules, wrap=ConstantIds) as g:
        for number in (1, 2, 3):
            g.say(f"go {number}")
            await g.hears(f"Task {number}")
        await g.settled()
        for count, number in enumerate((2, 3, 1), 1):
            g.press(await g.hears(f"Task {number}"), "Stop")
            await g.hears("result: ", count=count)
            last = g.asked("parent")[-1].messages[-1]["content"]
            assert results_in(last)["task"] == f"Task {number}"


async def test_stop_ends_work_that_a_decision_started(tmp_path: Path) -> None:
    slow = {"when": {"tier": "worker"}, "reply": {"text": "x", "delay": 60}}
    rules = [delegate(TABLE), report(2, "match", "404") | {"times": 1}, slow, ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.press(await asks(g), "Try again")
        while len(g.asked("worker")) < 2:
            await asyncio.sleep(0.01)
        g.say("/stop")
        await g.hears("Stopped.")
        g.say("/agents")
        shown = await g.hears("Check the page", count=2)
        assert "interrupted" in shown["text"]
        g.say("hello")
        await g.hears("result: hello")
        told = [m["content"] for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert results_in("".join(told))["status"] == "interrupted"
