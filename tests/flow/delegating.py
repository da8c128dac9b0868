"""What the flow tests of delegations share: rules for scripted models, and readers of results."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from adapters.recording import Shown
from agent.delegation.children.supervision import Activity
from agent.models.base import Reply, Request
from tests.flow.conftest import PATIENCE, Gateway, SpyModel

Rule = dict[str, Any]

ASKING = [
    {
        "condition": "Gone",
        "branches": {
            "match": {"action": "escalate", "tier": "human", "prompt": "Lost?"},
            "found": {"action": "report", "label": "It is there"},
        },
    },
    {"condition": "There", "branches": {"seen": {"action": "report"}}},
    {"default": {"action": "escalate", "tier": "human", "prompt": "{observed_state}"}},
]
"""A branch table that can ask a person."""

ANSWER: Rule = {"when": {"tier": "parent"}, "reply": {"text": "result: {last}"}}


def delegates(*calls: dict[str, Any], last: str = "^go", tier: str = "parent") -> Rule:
    """Each mapping is the arguments of one delegate_task call, all made in one reply."""
    made = [{"name": "delegate_task", "arguments": arguments} for arguments in calls]
    return {"when": {"tier": tier, "last": last}, "reply": {"tool_calls": made}}


def says(text: str, *, tier: str = "worker", delay: float = 0, **when: Any) -> Rule:
    return {"when": {"tier": tier, **when}, "reply": {"text": text, "delay": delay}}


def calls(name: str, arguments: dict[str, Any], *, tier: str = "worker", **when: Any) -> Rule:
    reply = {"tool_calls": [{"name": name, "arguments": arguments}]}
    return {"when": {"tier": tier, **when}, "reply": reply}


def reports(condition: Any, branch: str, evidence: str = "seen", **when: Any) -> Rule:
    arguments = {"condition": condition, "branch": branch, "evidence": evidence}
    return calls("report_outcome", arguments, **when)


def results_in(text: str) -> list[dict[str, Any]]:
    """The results in a tool message, or in what ANSWER made of one."""
    start = text.index('{"results"')
    found: list[dict[str, Any]] = json.JSONDecoder().raw_decode(text[start:])[0]["results"]
    return found


async def ask(g: Gateway, text: str = "go") -> list[dict[str, Any]]:
    """The results of the delegation that this message causes, as the answer shows them."""
    await g.chat.say(text)
    return results_in((await g.hears("result: ")).text)


async def ask_one(g: Gateway) -> dict[str, Any]:
    (result,) = await ask(g)
    return result


async def out_of_time(g: Gateway, once: Callable[[Activity], object]) -> dict[str, Any]:
    """What becomes of the only child whose time, a thousand seconds, is over once this is so."""
    active = g.app.upkeep.housekeeping.runner.results.subagents.active
    await g.chat.say("go")
    async with asyncio.timeout(PATIENCE):
        while not any(once(child) for child in active.values()):
            await asyncio.sleep(0.01)
    (child,) = active.values()
    child.clock = lambda: time.monotonic() + 1_000
    (result,) = results_in((await g.hears("result: ")).text)
    return result


async def asked(g: Gateway, text: str) -> Shown:
    """The open question that holds a text, once it is there."""

    def holding(shown: list[Shown]) -> list[Shown]:
        return [s for s in shown if text in s.text and s.buttons]

    async with asyncio.timeout(PATIENCE):
        return holding(await g.chat.wait_for(lambda shown: bool(holding(shown))))[-1]


def tool_results(request: Request) -> list[str]:
    return [message["content"] for message in request.messages if message["role"] == "tool"]


def offered(request: Request) -> set[str]:
    return {tool["function"]["name"] for tool in request.tools}


def first_message(request: Request) -> str:
    return str(next(m["content"] for m in request.messages if m["role"] == "user"))


class HeldModel(SpyModel):
    """Answers the children with these goals once their gates are opened."""

    def __init__(self, rules: Sequence[Rule], *goals: str) -> None:
        super().__init__(rules)
        self.gates = {goal: asyncio.Event() for goal in goals}

    async def answer(self, request: Request) -> Reply:
        for goal, gate in self.gates.items():
            if f"Task: {goal}" in first_message(request):
                await gate.wait()
        return await super().answer(request)


class CountingModel(SpyModel):
    """Knows how many calls of each tier run at once, at the most. The first of a worker are not
    answered before there are as many as `together` says."""

    def __init__(self, rules: Sequence[Rule], together: int = 1) -> None:
        super().__init__(rules)
        self._together = together
        self._enough = asyncio.Event()
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    async def complete(self, request: Request) -> Reply:
        tier = request.spec.name
        self.running[tier] += 1
        self.most[tier] = max(self.most[tier], self.running[tier])
        if self.running["worker"] == self._together:
            self._enough.set()
        try:
            if tier == "worker":
                await self._enough.wait()
            return await super().complete(request)
        finally:
            self.running[tier] -= 1
