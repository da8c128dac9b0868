"""Calls of models, told to who counts them: whole calls, and single attempts."""

import asyncio
import time
from dataclasses import dataclass

from agent.models.base import Model, ModelError, Reply, Request
from gateway.monitoring.observer import Observer


@dataclass(frozen=True, slots=True)
class ObservedCalls:
    """Belongs around everything that is done for one model, its retries and budgets; the models
    that stand in for it are calls of their own."""

    model: Model
    observer: Observer

    async def complete(self, request: Request) -> Reply:
        """Raises what the model raises."""
        begun, outcome = time.perf_counter(), "failed"
        self.observer.call_began()
        try:
            reply = await self.model.complete(request)
            outcome = "ok"
            return reply
        except ModelError as error:
            outcome = error.kind
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self.observer.call_ended(request.spec.name, outcome, time.perf_counter() - begun)


@dataclass(frozen=True, slots=True)
class ObservedAttempts:
    """Belongs below retries and the rotation of keys."""

    model: Model
    observer: Observer

    async def complete(self, request: Request) -> Reply:
        """Raises what the model raises."""
        try:
            return await self.model.complete(request)
        except ModelError as error:
            self.observer.attempt_failed(request.spec.name, error.kind)
            raise
