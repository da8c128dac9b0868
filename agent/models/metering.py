"""A model whose calls are booked as each comes back: for work of many calls that may be cut
between them, or fail at a later one."""

from dataclasses import dataclass

from agent.models.base import Model, Reply, Request
from storage.records.ledger import LedgerLine
from storage.store import Store


@dataclass(frozen=True, slots=True)
class MeteredModel:
    model: Model
    store: Store
    session: int

    async def complete(self, request: Request) -> Reply:
        """Raises what the model raises."""
        reply = await self.model.complete(request)
        purpose, answered = request.purpose, reply.model or request.spec.model
        line = LedgerLine(
            "parent", answered, reply.usage, self.session, purpose.address, purpose.person
        )
        await self.store.run(lambda tx: tx.ledger.add(line))
        return reply
