"""One child agent of a delegation: a session of its own, found again after a restart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from agent.delegation.supervision import Activity
from agent.models.base import Model, Purpose, Reply, ToolCall
from agent.models.metering import Account
from agent.runtime.journal import Journal
from agent.runtime.loop import Agent, Loop, Result
from agent.runtime.next_step import tool_message
from agent.runtime.people import Asker
from agent.tools.base import Effects
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
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class Child:
    model: Model
    agent: Agent
    journal: Journal
    delegation: Delegation
    activity: Activity
    asker: Asker

    @classmethod
    async def resume(
        cls,
        store: Store,
        model: Model,
        asker: Asker,
        delegation: Delegation,
        agent: Agent,
        run: Run,
        task: str,
        activity: Activity,
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
                begin(tx, session, task, handed)
            tx.delegations.update(delegation.id, tier=agent.tier, model=agent.spec.model)
            return session

        session = await store.run(work)
        journal = await Journal.claim(store, session.id)
        return cls(model, agent, journal, delegation, activity, asker)

    async def run(self) -> Result:
        """Raises ModelError."""
        loop = Loop(
            self.model,
            self.agent,
            self.journal,
            account_of(self.delegation, self.agent.tier),
            asker=self.asker,
            on_reply=self._count,
            before_model=self._before_model,
            on_tool=self.activity.beat,
        )
        return await loop.run()

    async def tell(self, text: str, *, correction: bool = False) -> None:
        body = message("user", text, correction=correction)
        await self.journal.append(Draft(Kind.MESSAGE, body))

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

    async def _before_model(self) -> None:
        await self.activity.may_go_on()
        self.activity.beat("model")


def title_of(run: Run) -> str:
    """A run as people read it."""
    match run.role:
        case RunRole.WORKER | RunRole.OVERSEER:
            return f"{run.role} {run.number}"
        case RunRole.WORKER_AS_TEXT:
            return f"worker {run.number}, commands as text"
        case _:
            assert_never(run.role)


def begin(tx: Transaction, session: Session, task: str, handed: Sequence[Json]) -> None:
    """The first entries of a child's session."""
    leaf, caller = None, None
    for body in (message("user", task), *({**body, "handed": True} for body in handed)):
        if body["role"] == "tool":
            body = body | {"call_entry": caller}
        leaf = tx.tree.append(session.id, Draft(Kind.MESSAGE, body), after=leaf).id
        caller = leaf if body["role"] == "assistant" else caller


def account_of(delegation: Delegation, tier: str) -> Account:
    """Who pays for the model calls of a delegation."""
    purpose = Purpose(delegation.address, delegation.person)
    return Account(tier, delegation.session, purpose, delegation.id)
