"""The guard before every tool: rules, then a person where one must agree, then the tool; nothing
secret in what comes out.

What a person decided about holds for exactly the call that they were shown, with the files that it
names, and for as long as that person may decide. It is looked at anew when the call is run again
with their answer, and the files once more right before a command begins: so neither a restart, nor
silence, nor an answer to something else lets anything through.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from agent.errors import ToolError
from agent.fairness import FairThreads
from agent.settings import ToolRule
from agent.text.untrusted import quote
from agent.tools.approval.answer import (
    CHOICES,
    KIND,
    SHOWN,
    approves,
    asks_in,
    call_hash,
    covers,
    files_of,
    holds,
    own_question,
    refusal,
    subject,
)
from agent.tools.approval.question import Asking, changed_text, no_right_text, question_text
from agent.tools.approval.rules import Decision, Line, Rules
from agent.tools.base import (
    NOTHING_DONE,
    Ask,
    Binds,
    Bound,
    Call,
    Changed,
    Describes,
    Done,
    Outcome,
    Requested,
    Setting,
    Tool,
    Waiting,
)
from storage.records.entries import Entry
from storage.records.questions import Question, QuestionState
from storage.records.tools.grants import Grant
from storage.store import Store, Transaction

Redact = Callable[[str], str]
"""A text without what must not be known."""
Ran = Callable[[str, str | None, str], None]
"""Told the name of a tool that was called, its toolset, and what came of it: "done", "error" (the
call could not be done, or was not allowed), "asked" (a person must decide), "cancelled", "failed"
(a fault of the tool)."""


def _untold(_: str, __: str | None, ___: str) -> None:
    """Nobody counts."""


COMMANDS = frozenset({"run_command", "execute_code"})
"""Tools that run what files of the workspace say."""
WAITS = (
    "a person is asked whether this may be run; their answer comes later, so do not call it again"
)
_LOOKS = FairThreads(4, "looks at files that calls name")
MOST_WAITING = 20
"""Calls of one chat's session that people are asked about at a time; a few more where several are
made at once."""
FULL = (
    f"{MOST_WAITING} calls of this conversation wait for a person already; {NOTHING_DONE}. "
    "Wait for their answers"
)
CHANGED = (
    "Error: not run. What it would do now is not what was approved: the folder or the conversation "
    "is another. Nothing was done."
)


@dataclass(frozen=True, slots=True)
class Guard:
    store: Store
    rules: Callable[[], Rules]
    redact: Redact
    may_approve: Callable[[str], bool]
    """Whether somebody, by their identity, may let calls run now."""
    ran: Ran = _untold

    def before(self, tool: Tool, setting: Setting, goal: str | None = None) -> "Guarded":
        """`goal`: of the child that the tool is for; None for the agent that people talk to."""
        return Guarded(self, tool, setting, goal)

    def lets_read(self, tool: str, path: str) -> bool:
        """Whether the rules let a file be read without asking, where it is not the tool that reads
        it. Blocks."""
        line = Line(tool, json.dumps({"path": path}, ensure_ascii=False), "json")
        decided = self.rules().decide_now(line)
        return decided is None or decided.decision is Decision.ALLOW


@dataclass(frozen=True, slots=True)
class Standing:
    rules: tuple[ToolRule, ...]
    """Those that calls of the tool are tried on, in order."""
    asks: bool
    """Where none of them matches."""
    asks_when: str
    """Where not all ask then: which, in words."""


class Guarded:
    """A tool with the guard before it; to all others it looks like the tool."""

    def __init__(self, guard: Guard, tool: Tool, setting: Setting, goal: str | None) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        self.traits = tool.traits
        self._guard = guard
        self._tool = tool
        self._setting = setting
        self._goal = goal

    async def run(self, call: Call) -> Outcome:
        redact, came_to = self._guard.redact, "failed"
        try:
            outcome = await self._run(call)
            came_to = _came_to(outcome)
            return _redacted(outcome, redact)
        except ToolError as error:
            came_to = "error"
            raise ToolError(redact(str(error))) from None
        except asyncio.CancelledError:
            came_to = "cancelled"
            raise
        finally:
            self._guard.ran(self.name, self.traits.toolset, came_to)

    def begins_with(self, asked: Question) -> bool:
        """A call that was refused may be told so as often as it takes."""
        return asked.kind != KIND or (approves(asked) and asks_in(asked, self._setting.home))

    @property
    def standing(self) -> Standing:
        """What becomes of its calls here, before anybody looks at one."""
        traits = self.traits
        rules = tuple(self._guard.rules().of(self.name))
        return Standing(rules, traits.needs_approval, traits.asks_when)

    async def _run(self, call: Call) -> Outcome:
        requested = await self._requested(call)
        call = replace(call, may_reach=partial(self._may_reach, call.address))
        line = Line(self.name, requested.line, requested.syntax)
        decided = await self._guard.rules().decide(line, call.address)
        asks = self.traits.needs_approval if requested.asks is None else requested.asks
        decision = decided.decision if decided is not None else None
        if requested.doubt and decision is Decision.ALLOW and decided and decided.by_match:
            requested, decision = replace(requested, risk=requested.doubt), Decision.ASK
        elif requested.risk and (decided is None or not decided.by_match):
            requested = replace(requested, risk=await self._risk(call, requested.risk))
            decision = (
                Decision.ASK if requested.risk and decision is not Decision.DENY else decision
            )
        if decision is Decision.DENY:
            assert decided is not None
            return self._denied(call, requested, decided.rule)
        asked = own_question(call)
        if asked is not None:
            return await self._answered(call, asked, requested)
        match decision:
            case Decision.ASK:
                return await self._unless_granted(call, requested)
            case None if asks:
                return await self._unless_granted(call, requested)
            case Decision.ALLOW | None:
                return await self._tool.run(call)
            case _:
                assert_never(decision)

    async def _may_reach(self, address: str, line: str) -> None:
        """What let the call begin, a rule or a person, spoke of its first line only. So where a
        person would be asked about this one, it is refused: the model can ask for it by itself."""
        decided = await self._guard.rules().decide(Line(self.name, line), address)
        decision = decided.decision if decided is not None else None
        if decision is Decision.DENY:
            raise ToolError(f"a rule of [[tools.rules]] forbids {self.name} for {quote(line, 300)}")
        if decision is Decision.ASK or (decision is None and self.traits.needs_approval):
            raise ToolError(
                f"a person must agree to {self.name} for {quote(line, 300)}; call it with that, "
                "so that they are asked"
            )

    async def _risk(self, call: Call, why: str) -> str:
        """Why a call must be asked for that makes commands do what they would not; "" where each of
        those is asked for itself."""
        home, rule = self._setting.home, self._guard.rules().allows_some(COMMANDS)
        if rule:
            return f"{why} Rule {rule} of `[[tools.rules]]` lets some commands run unasked."

        def granted(tx: Transaction) -> bool:
            return any(grant.tool in COMMANDS for grant in tx.grants.list(home, call.address))

        if await self._guard.store.read(granted):
            return f"{why} A command was allowed for this conversation, and runs unasked."
        return ""

    async def _requested(self, call: Call) -> Requested:
        if isinstance(self._tool, Describes):
            return await self._tool.requested(call)
        arguments = call.arguments
        line = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        shown = json.dumps(arguments, indent=2, ensure_ascii=False)
        return Requested(line, shown, syntax="json")

    async def _unless_granted(self, call: Call, requested: Requested) -> Outcome:
        if call.asked is not None:
            # It ran, with approval, and asked something itself.
            return await self._tool.run(call)
        look = await self._binding(call)
        bound = await _LOOKS.run(call.address, look)
        if await self._used_grant(call, requested, bound):
            return await self._run_with(call, requested, look, bound.digests)
        return await self._ask(call, requested, bound)

    async def _binding(self, call: Call) -> Callable[[], Bound]:
        return await self._tool.binding(call) if isinstance(self._tool, Binds) else Bound

    async def _used_grant(self, call: Call, requested: Requested, bound: Bound) -> bool:
        """Whether a grant lets it run, which is counted: in one transaction, by today's rights."""
        key = call_hash(self.name, call.arguments, requested.where)
        home = self._setting.home

        def found(tx: Transaction) -> Grant | None:
            grant = tx.grants.find(home, call.address, self.name, key)
            good = grant is not None and holds(grant, tx.now, self._guard.may_approve)
            return grant if good and grant is not None and covers(grant, bound.digests) else None

        def use(tx: Transaction) -> bool:
            grant = found(tx)
            if grant is not None:
                tx.grants.use(grant.id)
            return grant is not None

        store = self._guard.store
        return await store.read(found) is not None and await store.run(use)

    async def _run_with(
        self,
        call: Call,
        requested: Requested,
        look: Callable[[], Bound],
        approved: Mapping[str, str],
    ) -> Outcome:
        """Run it with the files that were approved; where one is another by the time it begins,
        ask anew."""
        if not isinstance(self._tool, Binds):
            return await self._tool.run(call)
        try:
            return await self._tool.run(replace(call, changed=lambda: look().changed(approved)))
        except Changed as error:
            bound = await _LOOKS.run(call.address, look)
            return await self._ask(call, requested, bound, changed_text(error.paths))

    async def _ask(self, call: Call, requested: Requested, bound: Bound, why: str = "") -> Outcome:
        home = self._setting.home

        def look(tx: Transaction) -> tuple[int, str]:
            waiting = sum(asks_in(question, home) for question in tx.questions.open())
            return waiting, tx.inbox.name_in(home, call.person)

        waiting, name = await self._guard.store.read(look)
        if waiting >= MOST_WAITING:
            raise ToolError(FULL)
        asking = Asking(name, call.person, call.address, self._goal)
        text = question_text(self.name, requested, asking, bound, why)
        key = call_hash(self.name, call.arguments, requested.where)
        about = subject(self.name, key, home, requested, bound.digests)
        return Ask(text, CHOICES, WAITS, KIND, subject=about)

    async def _answered(self, call: Call, asked: Question, requested: Requested) -> Outcome:
        if asked.state is QuestionState.OPEN:
            return Waiting(asked.id, WAITS)
        if not approves(asked):
            return Done(refusal(asked))
        exact = call_hash(self.name, call.arguments, requested.where)
        if asked.subject.get("hash") != exact or not asks_in(asked, self._setting.home):
            return Done(CHANGED)  # in a fork, which has the call on its path too
        look, approved = await self._binding(call), files_of(asked)
        bound = await _LOOKS.run(call.address, look)
        if not self._guard.may_approve(asked.decided_by):
            name = quote(asked.decided_name or asked.decided_by)[1:-1]
            return await self._ask(call, requested, bound, no_right_text(name))
        if changed := bound.changed(approved):
            return await self._ask(call, requested, bound, changed_text(changed))
        return await self._run_with(replace(call, asked=None), requested, look, approved)

    def _denied(self, call: Call, requested: Requested, rule: int) -> Done:
        shown = quote(requested.shown, SHOWN)[1:-1]
        details = {"tool": self.name, "shown": self._guard.redact(shown), "rule": rule}
        text = f"Error: {self.name} is not allowed here: rule {rule} of [[tools.rules]] forbids it"
        audit = partial(_audit, who=call.person, details=details)
        return Done(f"{text}. Nothing was done; do not try to get there another way.", also=audit)


def _came_to(outcome: Outcome) -> str:
    match outcome:
        case Done(text):
            return "error" if text.startswith("Error:") else "done"
        case Ask() | Waiting():
            return "asked"
        case _:
            assert_never(outcome)


def _audit(tx: Transaction, _: Entry, *, who: str, details: dict[str, object]) -> None:
    tx.directory.audit("denied call", who, details)


def _redacted(outcome: Outcome, redact: Redact) -> Outcome:
    match outcome:
        case Done():
            files = tuple(
                replace(file, name=redact(file.name), caption=redact(file.caption))
                for file in outcome.files
            )
            return replace(outcome, text=redact(outcome.text), files=files)
        case Waiting():
            return replace(outcome, text=redact(outcome.text))
        case Ask(kind=kind) if kind == KIND:
            return outcome  # what people approve is shown as it is
        case Ask():
            text, details = redact(outcome.text), redact(outcome.details)
            return replace(outcome, text=text, details=details, told=redact(outcome.told))
        case _:
            assert_never(outcome)
