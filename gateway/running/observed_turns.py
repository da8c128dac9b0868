"""Turns, told to who counts them: each with what came of it, and how long it took."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from agent.models.base import ModelError, ModelErrorKind
from gateway.monitoring.observer import Observer
from gateway.turns.turn import Job, Turn
from storage.errors import EpochLost, StoreUnavailable
from storage.records.inbox_outbox import InboxKind


@dataclass(frozen=True, slots=True)
class ObservedJob:
    job: Job
    observer: Observer
    unanswered: str
    """What a turn came to that ended well and said nothing."""

    async def __call__(self, turn: Turn) -> None:
        """Raises what the job raises."""
        # Read now: the row of a turn may be another when talk was steered in.
        kind, waited = turn.rows[-1].kind, turn.begun - turn.rows[0].time
        begun, outcome = time.perf_counter(), "failed"
        self.observer.turn_began()
        try:
            await self.job(turn)
            outcome = self._came_to(turn)
        except ModelError as error:
            outcome = "budget" if error.kind is ModelErrorKind.BUDGET else "model_error"
            raise
        except EpochLost:
            outcome = "superseded"
            raise
        except StoreUnavailable:
            outcome = "store"
            raise
        except asyncio.CancelledError:
            outcome = "interrupted"
            raise
        finally:
            self.observer.turn_ended(kind, outcome, time.perf_counter() - begun, waited)

    def _came_to(self, turn: Turn) -> str:
        if turn.given_up:
            return "limit"
        return "answered" if turn.answered else self.unanswered


def observed(
    answer: Job, jobs: Mapping[InboxKind, Job], observer: Observer
) -> tuple[Job, Mapping[InboxKind, Job]]:
    """The agent's answer, and what else a turn may be, by the kind of its row."""
    each = {kind: ObservedJob(job, observer, "done") for kind, job in jobs.items()}
    return ObservedJob(answer, observer, "waiting"), each
