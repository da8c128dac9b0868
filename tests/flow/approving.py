"""A tool that a person must agree to, and what the tests of approvals share."""

import asyncio
from typing import Any

from adapters.recording import Shown
from agent.errors import ToolError
from agent.tools.base import Call, Done, Effects, Requested, Traits
from tests.flow.conftest import Gateway
from tests.flow.delegating import Rule, asked

ASKED = "Approval needed"


class Launch:
    """Launches what it is told to; it notes each time it really does."""

    name = "launch"
    description = "Launch something."
    traits = Traits(Effects.CHANGES, needs_approval=True)

    def __init__(self, *, hangs: bool = False) -> None:
        self.parameters: dict[str, Any] = {"type": "object"}
        self.launched: list[str] = []
        self.people: list[str] = []
        """Whom each was launched for."""
        self.hangs = hangs
        self.began = asyncio.Event()
        self.where = "the yard"
        self.says = "launched {}"

    async def requested(self, call: Call) -> Requested:
        line = str(call.arguments.get("what", ""))
        if line == "never":
            raise ToolError("that is never launched")
        return Requested(line, line, self.where, "shell")

    async def run(self, call: Call) -> Done:
        assert call.asked is None, "the guard's question is not the tool's"
        line = str(call.arguments["what"])
        self.launched.append(line)
        self.people.append(call.person)
        self.began.set()
        if self.hangs:
            await asyncio.Event().wait()
        return Done(self.says.format(line))


def launches(*what: str, last: str = "^go", tier: str = "parent") -> Rule:
    """One reply with a call for each."""
    made = [{"name": "launch", "arguments": {"what": each}} for each in what]
    return {"when": {"tier": tier, "last": last}, "reply": {"tool_calls": made}}


def rule(decision: str, match: str | None = None, tool: str = "launch") -> dict[str, Any]:
    given = {"tool": tool, "decision": decision}
    return given | {"match": match} if match is not None else given


async def question_of(g: Gateway, text: str = "go") -> Shown:
    await g.chat.say(text)
    return await asked(g, ASKED)
