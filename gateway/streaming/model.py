"""The model of a turn whose answers are shown while they come."""

from dataclasses import dataclass

from agent.concurrency import kept_going
from agent.models.base import Model, Reply, Request
from gateway.streaming.live_answer import GRACE, LiveAnswer


@dataclass(frozen=True, slots=True)
class Shown:
    """When a call is over, nothing of what was shown of it is on its way any more: what comes next,
    the whole text, must not be overtaken."""

    model: Model
    answer: LiveAnswer

    async def complete(self, request: Request) -> Reply:
        try:
            return await self.model.complete(request)
        finally:
            if self.answer.begun:
                await kept_going(self.answer.settle(), 2 * GRACE)
            else:
                self.answer.forget()
