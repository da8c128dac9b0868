"""Another way where a model fails: other keys for it, other models in its place. None is taken once
something of an answer was heard: a second one would begin anew."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from agent.models.base import RETRIED, Model, ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.registry import Models
from agent.models.replay import without_replay

logger = logging.getLogger(__name__)

ANOTHER_KEY = frozenset({ModelErrorKind.AUTH, ModelErrorKind.RATE_LIMIT})
"""Failures that are one key's."""
ANOTHER_MODEL = ANOTHER_KEY | {ModelErrorKind.UNAVAILABLE, ModelErrorKind.BAD_REPLY}
"""Failures that are one model's; what is left are the request's own."""


class KeyRotation:
    """A model that is called with the next of its spec's keys where one is refused or busy.

    Each key is tried once in a call, from the one that worked last. Belongs inside Retrying: a
    wait is due only when no key is left.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._working: dict[tuple[str, ...], int] = {}
        """Keys → position of the one that worked last."""

    async def complete(self, request: Request) -> Reply:
        keys = request.spec.api_keys
        if len(keys) < 2:
            return await self._model.complete(request)
        first = self._working.get(keys, 0)
        failures: list[ModelError] = []
        for position in (*range(first, len(keys)), *range(first)):
            spec = replace(request.spec, api_key=keys[position])
            try:
                reply = await self._model.complete(replace(request, spec=spec))
            except ModelError as error:
                if error.partial or error.kind not in ANOTHER_KEY:
                    raise
                logger.warning("%s (key %d of %d)", error, position + 1, len(keys))
                failures.append(error)
            else:
                self._working[keys] = position
                return reply
        raise _soonest(failures)


def _soonest(failures: Sequence[ModelError]) -> ModelError:
    """The failure that may pass by waiting, the shortest wait first; else the last one."""
    busy = [error for error in failures if error.kind is ModelErrorKind.RATE_LIMIT]
    return min(busy, key=lambda error: error.retry_after or 0.0, default=failures[-1])


class Fallback:
    """A model that is replaced by the next of its spec's fallbacks where it fails.

    Belongs around everything that is done for a single model. A reply says which model gave it,
    and costs what that one costs.
    """

    def __init__(self, model: Model, models: Models) -> None:
        self._model = model
        self._models = models

    async def complete(self, request: Request) -> Reply:
        """Where all fail: one ModelError that says how each did."""
        failures: list[ModelError] = []
        chain = (request.spec, *self._models.fallbacks(request.spec))
        for number, spec in enumerate(chain, start=1):
            try:
                reply = await self._model.complete(_addressed(request, spec))
            except ModelError as error:
                if error.partial and failures:
                    error.model = spec.model
                if error.partial or error.kind not in ANOTHER_MODEL:
                    raise
                failures.append(error)
                for other in chain[number : number + 1]:
                    logger.warning("%s; %s (%s) is asked instead", error, other.name, other.model)
            else:
                return replace(reply, model=spec.model) if failures else reply
        raise _together(failures)


def _addressed(request: Request, spec: ModelSpec) -> Request:
    if spec is request.spec:
        return request
    messages = request.messages
    if spec.model != request.spec.model:
        messages = without_replay(messages)
    return replace(request, spec=spec, messages=messages)


def _together(failures: Sequence[ModelError]) -> ModelError:
    """All failures as one, of a kind that says whether trying again later may help."""
    if len(failures) == 1:
        return failures[0]
    chosen = next((error for error in failures if error.kind in RETRIED), failures[0])
    text = "; ".join(str(error) for error in failures)
    return ModelError(chosen.kind, text, retry_after=chosen.retry_after)
