"""The bill of a model call: every call passes here and is noted once, with what is made of it where
there is something."""

from dataclasses import dataclass

from agent.models.base import Model, ModelSpec, Purpose, Reply, Request
from storage.records.ledger import LedgerLine
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class Account:
    """Whose call it is."""

    tier: str
    """parent, worker, overseer, judge."""
    session: int
    """The session that called: the chat's, or that of a child's delegation."""
    purpose: Purpose
    delegation: int | None = None


def bill(tx: Transaction, account: Account, spec: ModelSpec, reply: Reply) -> None:
    """Note what a call of `spec` used."""
    purpose = account.purpose
    line = LedgerLine(
        account.tier,
        reply.model or spec.model,
        reply.usage,
        account.session,
        purpose.address,
        purpose.person,
        account.delegation,
    )
    tx.ledger.add(line)
    if account.delegation is not None:
        tx.delegations.update(account.delegation, usage=reply.usage)


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """A model whose calls are billed as each comes back: for work of many calls that may be cut
    between them, or fail at a later one."""

    model: Model
    store: Store
    account: Account

    async def complete(self, request: Request) -> Reply:
        """Raises what the model raises."""
        reply = await self.model.complete(request)
        await self.store.run(lambda tx: bill(tx, self.account, request.spec, reply))
        return reply
