"""One child agent of a delegation: a session of its own, found again after a restart."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from agent.compaction.cut import DEFAULT_WINDOW
from agent.compaction.service import Compacting
from agent.delegation.children.last_call import LastCallDue, Short, asked, mark, request, shortage
from agent.delegation.children.supervision import Activity
from agent.models.base import Model, Purpose, Reply, ToolCall
from agent.models.metering import Account
from agent.runtime.journal import Journal
from agent.runtime.loop import Loop, OutOfIterations, Result
from agent.runtime.next_step import Repeated, tool_message
from agent.runtime.people import Asker
from agent.runtime.steps.agent import Agent, AgentRun
from agent.runtime.steps.model_calls import ModelCalls
from agent.runtime.steps.tool_runs import ToolRuns
from agent.text.templates import cut, cut_head
from agent.tools.base import Effects
from agent.tools.schedule.zones import received_at
from storage.records.delegations import Delegation
from storage.records.entries import (
    Draft,
    Entry,
    Json,
    Kind,
    Run,
    RunRole,
    Session,
    SessionDraft,
    SessionKind,
    message,
)
from storage.records.speakers import zone_said
from storage.store import Store, Transaction

KEPT_LIMIT = 8_000
"""Characters of task and instructions that stand below a summary word for word."""
BACK = 200
"""Entries in which is looked for the zone of whoever delegated."""


@dataclass(frozen=True, slots=True)
class LastWord:
    """The child could not go on, and was asked to report what it has."""

    short: Short
    entry: Entry
    """Its reply. Calls in it were not run."""


@dataclass(frozen=True, slots=True)
class Child:
    model: Model
    agent: Agent
    journal: Journal
    delegation: Delegation
    activity: Activity
    asker: Asker | None
    compacting: Compacting

    @classmethod
    async def resume(
        cls,
        store: Store,
        model: Model,
        asker: Asker | None,
        delegation: Delegation,
        agent: Agent,
        run: Run,
        task: str,
        activity: Activity,
        compacting: Compacting,
        handed: Sequence[Json] = (),
    ) -> "Child":
        """The child that runs this; made where missing, with its task as the first message and
        what it was handed as calls that were made already."""

        def work(tx: Transaction) -> Session:
            known = (s for s in tx.tree.children(delegation.journal) if s.run == run)
            session = next(known, None)
            if session is None:
                kind, parent = SessionKind.SUBAGENT, delegation.journal
                draft = SessionDraft(kind, title_of(run), parent_session=parent, run=run)
                session = tx.tree.create(draft)
                begin(tx, session, task, handed, _zone(tx, delegation))
            tx.delegations.update(delegation.id, tier=agent.tier, model=agent.spec.model)
            return session

        session = await store.run(work)
        journal = await Journal.claim(store, session.id, whole=True)
        return cls(model, agent, journal, delegation, activity, asker, compacting)

    async def run(self, *, last_call: bool = False) -> Result | LastWord:
        """Raises ModelError. With `last_call`, one that cannot go on says its last word."""
        was_asked = asked(self.journal.path)
        if was_asked is not None:
            return await self._last_word(*was_asked)
        loop = self._loop(last_call)
        try:
            result = await self.compacting.run(loop, self._kept)
        except LastCallDue as due:
            return await self._last_word(due.of)
        if last_call and isinstance(result, OutOfIterations):
            return await self._last_word(Short.STEPS)
        if last_call and isinstance(result, Repeated):
            return await self._last_word(Short.REPEATS)
        return result

    def _loop(self, last_call: bool) -> Loop:
        calls = self._model_calls()
        tools = ToolRuns(calls.run, asker=self.asker, on_tool=self.activity.beat)
        return Loop(calls, tools, before_model=partial(self._before_model, last_call))

    def _model_calls(self) -> ModelCalls:
        account = account_of(self.delegation, self.agent.tier)
        return ModelCalls(self.model, AgentRun(self.agent, self.journal, account), self._count)

    async def _last_word(self, of: Short, said: Entry | None = None) -> LastWord:
        if said is None:
            if asked(self.journal.path) is None:
                await self.tell(request(of), **mark(of))
            await self._may_call()
            said = await self._model_calls().call_last()
        return LastWord(of, said)

    async def tell(self, text: str, **more: Any) -> None:
        """`more`: what the message has besides; `correction` where it sends the child back."""
        await self.journal.append(Draft(Kind.MESSAGE, message("user", text, **more)))

    async def answer(
        self, entry: Entry, call: ToolCall, text: str, *, correction: bool = False
    ) -> None:
        """Give a final tool's call a result, so that the child goes on."""
        body = tool_message(call, entry.id, text) | {"correction": correction}
        await self.journal.append(Draft(Kind.MESSAGE, body))

    def corrections(self) -> int:
        """How often it was sent back."""
        return sum(bool(entry.body.get("correction")) for entry in self.journal.path)

    def was_only_handed(self) -> bool:
        """Its history has calls that it was handed, and no reply of its own."""
        replies = [e.body for e in self.journal.path if e.body.get("role") == "assistant"]
        return bool(replies) and all(body.get("handed") for body in replies)

    def raw_tail(self, limit: int = 4_000) -> str:
        """End of what the child's tools gave back of what they looked at or did."""
        tools = self.agent.tools.values()
        silent = {tool.name for tool in tools if tool.traits.effects is Effects.NONE}
        outputs = [
            str(entry.body["content"])
            for entry in self.journal.path
            if entry.kind is Kind.MESSAGE
            and entry.body["role"] == "tool"
            and entry.body["name"] not in silent
            and not entry.body.get("correction")
            and not entry.body.get("handed")
        ]
        return "\n".join(outputs)[-limit:]

    def _count(self, _: Reply) -> None:
        self.activity.calls += 1

    async def _before_model(self, last_call: bool) -> None:
        await self._may_call()
        account = account_of(self.delegation, self.agent.tier)
        spec, purpose = self.agent.spec, account.purpose
        await self.compacting.where_due(
            self.journal, spec, purpose, account=account, keep=self._kept
        )
        short = shortage(self.journal.path, spec, self.activity) if last_call else None
        if short is not None:
            raise LastCallDue(short)

    async def _may_call(self) -> None:
        await self.activity.may_go_on()
        self.activity.beat("model")

    def _kept(self) -> str:
        """What no summary may lose: the task, and what the child was sent back with."""
        task, *told = [
            str(entry.body["content"])
            for entry in self.journal.path
            if entry.kind is Kind.MESSAGE and entry.body["role"] in ("user", "tool")
            if entry.body["role"] == "user" or entry.body.get("correction")
        ]
        room = min(KEPT_LIMIT, (self.agent.spec.context_window or DEFAULT_WINDOW) // 2)
        kept = cut(task, room // 2)
        since = cut_head("\n\n".join(told), max(room - len(kept), room // 2))
        return f"{kept}\n\n{since}" if told else kept


def title_of(run: Run) -> str:
    """A run as people read it."""
    match run.role:
        case RunRole.WORKER | RunRole.OVERSEER:
            return f"{run.role} {run.number}"
        case RunRole.WORKER_AS_TEXT:
            return f"worker {run.number}, commands as text"
        case _:
            assert_never(run.role)


def _zone(tx: Transaction, delegation: Delegation) -> str:
    """The zone in which whoever delegated was told the time; "" where they were not."""
    leaf = tx.tree.session(delegation.session).leaf
    said = (zone_said(e.body) for e in reversed(tx.tree.path_end(leaf, BACK)) if zone_said(e.body))
    return next(said, "") if leaf is not None else ""


def begin(
    tx: Transaction, session: Session, task: str, handed: Sequence[Json], zone: str = ""
) -> None:
    """The first entries of a child's session. `zone`: in which it is told the time."""
    leaf, caller = None, None
    when = received_at(tx.now, zone) if zone else {}
    for body in (message("user", task, **when), *({**body, "handed": True} for body in handed)):
        if body["role"] == "tool":
            body = body | {"call_entry": caller}
        leaf = tx.tree.append(session.id, Draft(Kind.MESSAGE, body), after=leaf).id
        caller = leaf if body["role"] == "assistant" else caller


def account_of(delegation: Delegation, tier: str) -> Account:
    """Who pays for the model calls of a delegation."""
    purpose = Purpose(delegation.address, delegation.person)
    return Account(tier, delegation.session, purpose, delegation.id)
