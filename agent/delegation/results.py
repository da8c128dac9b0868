"""Results of delegations that come after their call: decided by people, or from the background."""

from dataclasses import dataclass

from agent.delegation.interruption import outcome_of, result_of
from agent.delegation.result import to_text
from agent.delegation.runner import Finished, Subagents
from agent.delegation.settle import has_result, is_answered
from agent.runtime.journal import Journal
from agent.runtime.loop import outcome_draft
from agent.runtime.next_step import calls_of
from agent.tools.base import Done, Outcome
from storage.records.delegations import Delegation
from storage.records.inbox_outbox import Arrival, InboxRow
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class Results:
    store: Store
    subagents: Subagents

    async def delegation(self, row: InboxRow) -> Delegation | None:
        """The delegation that an inbox row is about; None for talk."""
        if row.kind not in ("resume", "result", "background"):
            return None
        return await self.store.read(lambda tx: delegation_of(tx, row))

    async def carry_on(self, journal: Journal, row: InboxRow, delegation: Delegation) -> None:
        """Go on after a decision, or take in what the background brought; the result goes to the
        session's leaf."""
        if row.kind == "resume":
            performed = await self.subagents.carry_on(delegation)
            if not isinstance(performed, Finished):
                return
        await self._append(journal, delegation.id)

    async def work_in_background(self, delegation: Delegation) -> bool:
        """Carry a background delegation on; True where its result now waits in the inbox of the
        session that delegated."""
        performed = await self.subagents.carry_on(delegation)
        if not isinstance(performed, Finished):
            return False
        arrival = Arrival(
            key=f"result:{delegation.id}",
            kind="result",
            address=delegation.address,
            payload={"delegation": delegation.id},
            session=delegation.session,
        )
        await self.store.run(lambda tx: tx.inbox.receive(arrival))
        return True

    async def _append(self, journal: Journal, delegation: int) -> None:
        row = await self.store.read(lambda tx: tx.delegations.get(delegation))
        caller = await self.store.read(lambda tx: tx.tree.entry(row.call_entry))
        call = next(call for call in calls_of(caller) if call.id == row.call_id)
        if has_result(journal.path, caller, call, row.id):
            return
        if is_answered(journal.path, caller, call):
            result = await self.store.read(lambda tx: result_of(tx, row))
            outcome: Outcome = Done(to_text(result), (row.id,))
        else:
            outcome = await self.store.read(lambda tx: _whole(tx, row))
        if isinstance(outcome, Done):
            await journal.append(outcome_draft(call, caller.id, outcome))


def delegation_of(tx: Transaction, row: InboxRow) -> Delegation:
    """The delegation that a row of kind resume, result or background is about."""
    if row.kind == "resume":
        question = tx.questions.get(row.payload["question"])
        return tx.delegations.get(question.subject["delegation"])
    return tx.delegations.get(row.payload["delegation"])


def _whole(tx: Transaction, row: Delegation) -> Outcome:
    """What the call that a delegation belongs to comes to."""
    return outcome_of(tx, tx.delegations.of_call(row.session, row.call_entry, row.call_id))
