"""Message → turn → reply: the turn that is due in a session is begun (`policy.due_turns`) and done.

Nothing about a turn is kept in memory that matters. A turn that died, was interrupted or was put
to sleep by a question is continued by the next one from the tail of the session.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from agent.delegation.pending_calls import Results
from agent.models.base import ModelError
from agent.models.retry import Waits, waits_noted
from agent.spans import span_below
from gateway.status.progress import Owner
from gateway.status.signs_of_life import Running, SignsOfLife
from gateway.turns.failures import Failures, explain, no_answer
from gateway.turns.policy.due_turns import DueTurns
from gateway.turns.turn import Job, Turn, traces_of
from storage.errors import EpochLost, StoreUnavailable
from storage.records.delegations import Delegation
from storage.records.inbox_outbox import InboxKind
from storage.traces import traced

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnRunner:
    due: DueTurns
    failures: Failures
    results: Results
    signs: SignsOfLife
    answer: Job
    """Lets the agent answer."""
    jobs: Mapping[InboxKind, Job]
    """What else a turn may be, by the kind of its inbox row."""
    running: dict[int, Turn]
    """The turns that run now, by session; it is kept here."""

    async def advance(self, session: int, begun: Turn | None = None) -> None:
        """Do what is due in a session, first a turn that was begun; what fails each time is given
        up."""
        turns = [begun] if begun is not None else []
        await self.failures.turns(partial(self._advance, turns), self.due.due, session)

    async def _advance(self, begun: list[Turn], session: int) -> None:
        """One turn after the other."""
        try:
            while (turn := begun.pop() if begun else await self.due.next(session)) is not None:
                await self._do(turn)
                if not turn.left:
                    return  # What came since has woken the session itself.
        except EpochLost:
            log.info("session %s is claimed by a newer turn", session)

    async def _do(self, turn: Turn) -> None:
        session, row = turn.journal.session, turn.rows[-1]
        asked, others = traces_of(turn)
        links = (asked, *others) if asked else others
        attributes = {"bough.session": session, "bough.kind": row.kind.value}
        with traced(row.trace), span_below(row.trace, "turn", attributes, links=links):
            told = {"asked": asked} if asked else {}
            log.info("turn begins", extra={"session": session, "kind": row.kind.value, **told})
            await self._shown(turn, session)
            log.info("turn ends", extra={"session": session})

    async def _shown(self, turn: Turn, session: int) -> None:
        self.running[session] = turn
        try:
            delegation = turn.pending.delegation if turn.pending is not None else None
            if delegation is not None and delegation.root == session != delegation.session:
                await self._work_in_background(turn, delegation)
            else:
                row = turn.rows[0]
                owner = Owner(turn.address, turn.journal, row.id, turn.live.maybe)
                at = Running(row.time, lambda: turn.journal.path, Waits())
                with waits_noted(at.waits):
                    async with self.signs.during(session, owner, at):
                        await self._work(turn)
        finally:
            del self.running[session]
            self.due.ended(turn)

    async def _work(self, turn: Turn) -> None:
        composer = self.failures.composer
        try:
            job = self.jobs.get(turn.rows[-1].kind, self.answer)
            await job(turn)
        except ModelError as error:
            log.error("session %s: %s: %s", turn.journal.session, error.kind, error)
            await no_answer(composer, turn, explain(error), str(error))
        except (EpochLost, StoreUnavailable):
            raise
        except Exception as error:
            # A fault of ours must neither lose the message in silence nor be tried for ever.
            log.exception("session %s: the turn failed", turn.journal.session)
            text = "⚠️ Something went wrong in the bot. Its log says what; please try again."
            await no_answer(composer, turn, text, repr(error))

    async def _work_in_background(self, turn: Turn, delegation: Delegation) -> None:
        await self.results.work_in_background(delegation)
        await turn.finish()
