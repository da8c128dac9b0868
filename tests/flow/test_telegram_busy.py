"""Talk, presses and commands in the middle of work: what is cut, what waits, what goes on."""

import asyncio
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from agent.runtime.next_step import suspended_calls
from storage.errors import NotFound
from storage.records.entries import Entry, Json, Session, SessionKind
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.flow.telegram_gateway import (
    ANN,
    ANSWER,
    OWNER,
    PATIENCE,
    STRANGER,
    ConstantIds,
    Gate,
    TelegramGateway,
    delegate,
    report,
    result_of,
    results_in,
    says,
    telegram_gateway,
)
from tests.stand_ins.telegram_world import buttons

T = TypeVar("T")

TABLE = [
    {"condition": "Fine", "branches": {"ok": "report"}},
    {
        "condition": "Gone",
        "branches": {
            "match": {"action": "escalate", "tier": "human", "prompt": "Dead?"},
            "fine": {"action": "report", "label": "Fine, then"},
        },
    },
    {"default": "escalate"},
]
TALK = says("parent", "talk", last="^hello")
SLOW_WORKER = {"when": {"tier": "worker"}, "reply": {"text": "x", "delay": 60}}


class StopsAfterAsking(SqlStore):
    """A store whose caller, once a question is stored, hears of it no more: the turn is between
    the question and the note that the call waits for it."""

    async def run(self, work: Callable[[Transaction], T]) -> T:
        result = await super().run(work)
        if isinstance(result, Entry) and result.body.get("data", {}).get("kind") == "asked":
            await asyncio.Event().wait()
        return result


@pytest.mark.parametrize("cut", ["hello", "/new"])
async def test_a_question_that_was_just_asked_outlives_the_turn_that_is_cut(
    tmp_path: Path, cut: str
) -> None:
    rules = [delegate(TABLE), report(2, "match", "404"), TALK, ANSWER]
    async with telegram_gateway(tmp_path, rules, store=StopsAfterAsking) as g:
        g.say("go")
        question = await g.hears("Dead?")
        g.say(cut)
        await g.hears("talk" if cut == "hello" else "A new conversation")
        g.press(question, "Fine, then")
        result = await result_of(g)
        assert (result["status"], result["resolved_by"]) == ("completed", "human")


async def test_a_question_that_was_just_asked_is_withdrawn_by_stop(tmp_path: Path) -> None:
    rules = [delegate(TABLE), report(2, "match", "404"), TALK, ANSWER]
    async with telegram_gateway(tmp_path, rules, store=StopsAfterAsking) as g:
        g.say("go")
        question = await g.hears("Dead?")
        g.say("/stop")
        await g.hears("Stopped.")
        await g.settled()
        assert g.telegram.labels(question) == []
        g.say("hello")
        await g.hears("talk")
        told = [m["content"] for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert results_in(told[0])["status"] == "interrupted"


async def test_talk_interrupts_the_running_child_which_says_so(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [delegate(TABLE), SLOW_WORKER, TALK]) as g:
        g.say("go")
        while not g.asked("worker"):
            await asyncio.sleep(0.01)
        g.say("hello")
        await g.hears("talk")
        told = [m["content"] for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert results_in(told[0])["status"] == "interrupted"
        assert len(g.texts()) == 1


async def test_talk_leaves_children_that_wait_and_work_that_was_decided_alone(
    tmp_path: Path,
) -> None:
    again = {**report(1, "ok"), "reply": {**report(1, "ok")["reply"], "delay": 0.5}}
    rules = [delegate(TABLE), report(2, "match") | {"times": 1}, again, TALK, ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        question = await g.hears("Dead?")
        g.say("hello")
        await g.hears("talk")
        g.press(question, "Try again")
        while len(g.asked("worker")) < 2:
            await asyncio.sleep(0.01)
        g.say("hello")
        assert (await result_of(g))["resolved_by"] == "worker"
        await g.hears("talk", count=2)


async def test_steered_talk_stands_behind_the_results_of_running_calls(tmp_path: Path) -> None:
    gate = Gate("go")
    rules = [delegate(TABLE), report(1, "ok"), ANSWER]
    async with telegram_gateway(tmp_path, rules, wrap=gate, session={"busy": "steer"}) as g:
        g.say("go")
        while not g.models.requests:
            await asyncio.sleep(0.01)
        g.say("turn left")
        await g.telegram.wait_for(lambda: not g.telegram.world.pending, PATIENCE)
        gate.open.set()
        await g.hears("result: turn left")
        roles = [m["role"] for m in g.asked("parent")[-1].messages]
        assert roles == ["system", "user", "assistant", "tool", "user"]
        told = [m["content"] for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert results_in(told[0])["status"] == "completed"


def goes(word: str, *goals: str, **reply: object) -> Json:
    calls = [
        {"name": "delegate_task", "arguments": {"goal": goal, "branch_table": TABLE}}
        for goal in goals
    ]
    return {
        "when": {"tier": "parent", "last": f"^{word}$"},
        "reply": {"tool_calls": calls, **reply},
    }


CROWD_RULES = [
    goes("one", "ask"),
    goes("two", "ask", "ask slowly", text="Wait."),
    goes("three", "ask", "fine", "ask slowly"),
    {"when": {"tier": "parent", "last": "^slow$"}, "reply": {"text": "slow", "delay": 0.2}},
    says("parent", "talk"),
    report(1, "ok", when={"last": "Task: fine"}),
    {
        "when": {"tier": "worker", "last": "slowly"},
        "reply": {**report(2, "match")["reply"], "delay": 0.2},
    },
    report(2, "match"),
]
WORDS = ("one", "two", "three", "slow", "hello", "one", "two", "/stop", "/new", "/questions")


async def somebody(g: TelegramGateway, chat: int, chance: random.Random) -> None:
    """Talks and presses without waiting for anything."""
    for _ in range(40):
        asked = [message for message in g.telegram.messages(chat) if buttons(message)]
        if asked and chance.random() < 0.4:
            message = chance.choice(asked)
            data = chance.choice(buttons(message))["callback_data"]
            g.press(message, data, user=chance.choice((OWNER, OWNER, STRANGER)))
        else:
            g.say(chance.choice(WORDS), chat=chat)
        await asyncio.sleep(chance.choice((0, 0.001, 0.01, 0.05, 0.1)))


def loose_ends(tx: Transaction) -> list[str]:
    """What waits for nothing, and questions that nothing waits for."""
    found = [f"inbox row {row.key}" for row in tx.inbox.unfinished()]
    asked = {question.subject["delegation"] for question in tx.questions.open()}
    waiting = set()
    for session in chats(tx):
        for delegation in tx.delegations.unfinished(session.id):
            if delegation.state != "waiting" or delegation.id not in asked:
                found.append(f"delegation {delegation.id} is {delegation.state} for ever")
        for entry, call in suspended_calls(tx.tree.path(session.leaf)):
            waiting |= {one.id for one in tx.delegations.of_call(session.id, entry, call)}
    found += [f"delegation {number} waits, its call does not" for number in asked - waiting]
    found += [f"the call of delegation {number} waits for ever" for number in waiting - asked]
    return found


def chats(tx: Transaction) -> list[Session]:
    found: list[Session] = []
    for number in count(1):
        try:
            session = tx.tree.session(number)
        except NotFound:
            break
        if session.kind is SessionKind.CHAT:
            found.append(session)
    return found


@pytest.mark.parametrize("busy", ["interrupt", "queue", "steer"])
async def test_whatever_people_do_and_whenever_it_restarts_nothing_is_left_hanging(
    tmp_path: Path, busy: str
) -> None:
    async with telegram_gateway(
        tmp_path, CROWD_RULES, wrap=ConstantIds, session={"busy": busy}
    ) as g:
        people = [
            asyncio.create_task(somebody(g, chat, random.Random(chat))) for chat in (OWNER, ANN)
        ]
        await asyncio.sleep(0.5)
        await g.stop()
        await g.start()
        await asyncio.gather(*people)
        await g.telegram.wait_for(lambda: not g.telegram.world.pending)
        await g.settled()
        assert await g.read(loose_ends) == []
        assert await g.read(lambda tx: tx.outbox.pending()) == []
        decided = await g.read(lambda tx: tx.directory.audits("decision"))
        assert len(decided) == len({details["question"] for _, _, details, _ in decided})
