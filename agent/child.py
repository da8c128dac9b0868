"""One child agent of a delegation: a session of its own, found again after a restart."""

from dataclasses import dataclass

from agent.journal import Alongside, Journal
from agent.loop import Agent, Loop, Result
from agent.model import Model, Reply, ToolCall
from agent.tail import tool_message
from storage.delegations import Delegation
from storage.entries import Draft, Entry, Kind, Session, SessionDraft, SessionKind, message
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class Child:
    model: Model
    agent: Agent
    journal: Journal
    delegation: int

    @classmethod
    async def resume(
        cls,
        store: Store,
        model: Model,
        delegation: Delegation,
        agent: Agent,
        title: str,
        task: str,
    ) -> "Child":
        """The child with this title, with its task as the first message; made where missing."""

        def work(tx: Transaction) -> Session:
            known = (s for s in tx.tree.children(delegation.journal) if s.title == title)
            session = next(known, None) or tx.tree.create(
                SessionDraft(SessionKind.SUBAGENT, title, parent_session=delegation.journal)
            )
            tx.delegations.update(delegation.id, tier=agent.tier, model=agent.spec.model)
            return session

        session = await store.run(work)
        child = cls(model, agent, await Journal.claim(store, session.id), delegation.id)
        if not child.journal.path:
            await child.tell(task)
        return child

    async def run(self) -> Result:
        """Raises ModelError."""
        return await Loop(self.model, self.agent, self.journal, on_reply=self._count).run()

    async def tell(self, text: str, *, correction: bool = False) -> None:
        body = message("user", text, correction=correction)
        await self.journal.append(Draft(Kind.MESSAGE, body))

    async def answer(
        self, entry: Entry, call: ToolCall, text: str, *, correction: bool = False
    ) -> None:
        """Give a final tool's call a result, so that the child goes on."""
        body = tool_message(call, entry.id, text) | {"correction": correction}
        await self.journal.append(Draft(Kind.MESSAGE, body))

    def was_corrected(self) -> bool:
        return any(entry.body.get("correction") for entry in self.journal.path)

    def raw_tail(self, limit: int = 4_000) -> str:
        """End of what the child's tools gave back."""
        outputs = [
            str(entry.body["content"])
            for entry in self.journal.path
            if entry.kind is Kind.MESSAGE
            and entry.body["role"] == "tool"
            and entry.body["name"] != "think"
            and not entry.body.get("correction")
        ]
        return "\n".join(outputs)[-limit:]

    def _count(self, reply: Reply) -> Alongside:
        return lambda tx, _: tx.delegations.update(self.delegation, usage=reply.usage)
