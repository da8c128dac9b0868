"""Models that misbehave, and what reaches which model: through litellm, seen from Telegram."""

import asyncio
import json
from pathlib import Path

import pytest

from gateway.status import progress
from storage.records.entries import Json
from tests.flow.telegram_gateway import (
    ANN,
    ANSWER,
    KEY,
    STRANGER,
    call,
    delegate,
    report,
    result_of,
    says,
    telegram_gateway,
)
from tests.stand_ins.model import (
    HTML,
    INVALID_JSON,
    NO_CHOICES,
    WRONG_SHAPE,
    Cut,
    Fault,
    Hang,
    Status,
)

ECHO = [says("parent", "you said: {last}")]
TABLE = [{"condition": "Fine", "branches": {"ok": "report"}}, {"default": "escalate"}]
THINK = {"name": "think", "arguments": {"thought": "hm"}}


PASSING: list[Fault] = [
    Status(429, {"Retry-After": "0"}),
    Status(500),
    Status(503, body="<html>overloaded</html>"),
    Cut(),
    HTML,
    INVALID_JSON,
    WRONG_SHAPE,
    NO_CHOICES,
]


async def test_faults_that_pass_are_waited_out(tmp_path: Path) -> None:
    people = range(2000, 2000 + len(PASSING))
    access = {"allow": ["telegram:*"]}
    async with telegram_gateway(tmp_path, ECHO, access=access) as g:
        g.models.faults.extend(PASSING)
        for person in people:
            g.say("hello", chat=person)
        for person in people:
            await g.hears("you said: hello", chat=person)
            assert len(g.texts(person)) == 1
        assert len(g.models.requests) == 2 * len(PASSING)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Status(401), "HTTP 401 Unauthorized: injected. Trying again will not help"),
        (Status(400, message="no such thing"), "no such thing"),
        (Status(400, message="Did you mean that?"), "Did you mean that? Trying again"),
        (Status(400, message="maximum context length is 8192"), "/new begins another"),
    ],
)
async def test_a_fault_that_stays_is_said_at_once_and_the_next_message_works(
    tmp_path: Path, fault: Fault, said: str
) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.models.faults.append(fault)
        g.say("first")
        shown = await g.hears("The model could not answer")
        assert said in shown["text"]
        assert "?. " not in shown["text"] and ".. " not in shown["text"]
        g.say("second")
        await g.hears("you said: second")
        assert len(g.models.requests) == 2


async def test_the_status_message_says_why_a_turn_waits_for_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.05)
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.models.faults.append(Status(503, {"Retry-After": "15"}, message="overloaded"))
        g.say("hello")
        shown = await g.hears("The model cannot be reached: ")
        assert "asked again in" in shown["text"] and "503" in shown["text"]
        g.say("/stop")
        await g.hears("Done.")


async def test_garbage_without_end_is_said(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.models.faults.extend([HTML] * 4)
        g.say("first")
        shown = await g.hears("The model could not answer")
        assert shown["text"].endswith("Please try again later.")
        assert "nginx" not in shown["text"]
        assert "Traceback" not in shown["text"]


async def test_a_model_that_never_says_anything_is_said(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [says("parent", " \n")]) as g:
        g.say("hello")
        await g.hears("empty answer")


async def test_impossible_tool_calls_get_their_errors_and_the_turn_goes_on(
    tmp_path: Path,
) -> None:
    calls = [
        {"name": "no_such_tool", "arguments": {}},
        {"name": "think", "arguments": "{broken"},
        {"name": "think", "arguments": "[1]"},
        {"name": "think", "arguments": {"thought": None}},
        {"name": "delegate_task", "arguments": {}},
        {"name": "delegate_task", "arguments": {"goal": "x", "max_iterations": "soon"}},
        {"name": "report_outcome", "arguments": {"condition": 1}},
        {"name": "", "arguments": {}},
    ]
    rules = [
        {"when": {"tier": "parent", "turn": 0}, "reply": {"tool_calls": calls}},
        says("parent", "I see"),
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("hello")
        await g.hears("I see")
        told = [m["content"] for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert len(told) == len(calls)
        assert all(text.startswith("Error: ") for text in told)
        assert g.asked("worker") == []


async def test_two_hundred_calls_one_after_the_other_end_at_the_limit(tmp_path: Path) -> None:
    rules = [{"when": {"tier": "parent"}, "reply": {"tool_calls": [THINK]}}]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("hello")
        await g.hears("I stopped after 50 steps without an answer. Write to go on.")
        assert len(g.models.requests) == 50


async def test_two_hundred_calls_at_once_each_get_a_result(tmp_path: Path) -> None:
    rules = [
        {"when": {"tier": "parent", "turn": 0}, "reply": {"tool_calls": [THINK] * 200}},
        says("parent", "done"),
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("hello")
        await g.hears("done")
        told = [m for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert len(told) == 200


async def test_a_worker_that_never_reports_ends_at_its_limit(tmp_path: Path) -> None:
    rules = [
        delegate(TABLE, max_iterations=4),
        {"when": {"tier": "worker"}, "reply": {"tool_calls": [THINK]}},
        call("overseer", "resolve", {"summary": "gave up"}),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        assert (await result_of(g))["resolved_by"] == "overseer"
        assert len(g.asked("worker")) == 4 + 1
        assert g.asked("worker")[-1].body["tool_choice"] == "none"


async def test_a_worker_without_steps_tells_the_person_who_decides_what_it_has(
    tmp_path: Path,
) -> None:
    to_a_person = {"default": {"action": "escalate", "tier": "human"}}
    rules = [
        delegate([*TABLE[:1], to_a_person], max_iterations=1),
        says("worker", "half of it", last="Report in text what you have"),
        {"when": {"tier": "worker"}, "reply": {"tool_calls": [THINK]}},
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        question = await g.hears("half of it")
        g.press(question, "Stop")
        assert (await result_of(g))["status"] == "rejected"


async def test_a_worker_whose_model_is_refused_fails_and_the_parent_hears_why(
    tmp_path: Path,
) -> None:
    refused = {"when": {"tier": "worker"}, "reply": {"error": "auth", "text": "key expired"}}
    async with telegram_gateway(tmp_path, [delegate(TABLE), refused, ANSWER]) as g:
        g.say("go")
        result = await result_of(g)
        assert (result["status"], result["exit_reason"]) == ("failed", "model_error")
        assert "key expired" in result["summary"]


async def test_an_overseer_whose_model_is_refused_leaves_it_to_a_person(tmp_path: Path) -> None:
    refused = {"when": {"tier": "overseer"}, "reply": {"error": "auth", "text": "key expired"}}
    rules = [delegate(TABLE), report("default", "default"), refused, ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        question = await g.hears("The overseer model could not be called")
        g.press(question, "Other outcomes…")
        await g.told()
        await g.settled()
        g.press(question, "Ok")
        assert (await result_of(g))["status"] == "completed"


async def test_an_overseers_impossible_decisions_are_its_errors(tmp_path: Path) -> None:
    bad: list[Json] = [
        {"name": "extend_table", "arguments": {"conditions": []}},
        {"name": "resolve", "arguments": {}},
    ]
    rules = [
        delegate(TABLE),
        report("default", "default"),
        {"when": {"tier": "overseer", "turn": 0}, "reply": {"tool_calls": bad[:1]}},
        {"when": {"tier": "overseer", "turn": 1}, "reply": {"tool_calls": bad[1:]}},
        call("overseer", "resolve", {"summary": "found"}),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        assert (await result_of(g))["summary"] == "found"
        told = [m["content"] for m in g.asked("overseer")[-1].messages if m["role"] == "tool"]
        assert all(text.startswith("Error: ") for text in told)


async def test_each_tier_gets_its_own_tools_and_its_key(tmp_path: Path) -> None:
    rules = [
        delegate(TABLE),
        report("default", "default"),
        call("overseer", "resolve", {"summary": "found"}),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        await result_of(g)
        tools = {
            tier: {tool["function"]["name"] for tool in g.asked(tier)[0].tools}
            for tier in ("parent", "worker", "overseer")
        }
        assert tools == {
            "parent": {"think", "clarify", "delegate_task"},
            "worker": {"think", "report_outcome"},
            "overseer": {"extend_table", "ask_worker", "resolve", "escalate_to_human"},
        }
        assert {r.headers["Authorization"] for r in g.models.requests} == {f"Bearer {KEY}"}
        assert "go" not in [m["content"] for m in g.asked("worker")[0].messages]


async def test_a_strangers_words_reach_no_model(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        for text in ("SECRET WORD", "/help", "/stop", "SECRET WORD"):
            g.say(text, chat=STRANGER)
        await g.hears(f"telegram:{STRANGER}", chat=STRANGER)
        g.say("hello", chat=ANN)
        await g.hears("you said: hello", chat=ANN)
        assert len(g.texts(STRANGER)) == 1
        assert len(g.models.requests) == 1
        assert "SECRET" not in json.dumps(g.models.requests[0].body)


async def test_talk_during_a_call_hangs_up_on_the_model(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        g.models.faults.append(Hang())
        g.say("first")
        async with asyncio.timeout(60):
            await g.models.arrived.wait()
            g.say("second")
            await g.models.hung_up.wait()
        await g.hears("you said: second")
        said = [m["content"] for m in g.asked("parent")[-1].messages[1:]]
        assert said == ["first", "second"]
