"""Patience with a model that is busy or away: which failures are tried again, and when."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agent.backoff import backoff
from agent.models.base import RETRIED, Model, ModelError, Reply, Request

logger = logging.getLogger(__name__)

LONGEST_WAIT = 60.0
"""Seconds. A provider that asks for more is not waited for: a person is at the other end."""


_heard: ContextVar[list[str] | None] = ContextVar("failures that are tried again", default=None)


@contextmanager
def failures_noted(failures: list[str]) -> Iterator[None]:
    """Inside, every failure of a call is noted in the list: who is out of time may say why."""
    token = _heard.set(failures)
    try:
        yield
    finally:
        _heard.reset(token)


class Retrying:
    """A model that tries another one again, with exponential backoff and jitter.

    Only the kinds in RETRIED are tried again, and nothing of whose answer something was heard.
    Where the provider said how long to wait, it is waited that long at least; over LONGEST_WAIT the
    error is raised at once and says so.

    `attempts` counts the first one. `base` and `cap` are the bounds of `backoff`, in seconds.
    """

    def __init__(
        self,
        model: Model,
        *,
        attempts: int = 4,
        base: float = 0.5,
        cap: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self._model = model
        self._attempts = attempts
        self._base = base
        self._cap = cap
        self._sleep = sleep

    async def complete(self, request: Request) -> Reply:
        pauses = backoff(self._base, self._cap, jitter=True)
        for attempt in range(self._attempts):
            try:
                return await self._model.complete(request)
            except ModelError as error:
                failure = error
            if (heard := _heard.get()) is not None:
                heard.append(str(failure))
            if failure.partial or failure.kind not in RETRIED or attempt == self._attempts - 1:
                break
            if failure.retry_after is not None and failure.retry_after > LONGEST_WAIT:
                raise _too_long(failure, failure.retry_after)
            wait = max(next(pauses), failure.retry_after or 0.0)
            logger.warning("%s; trying again in %.1f s", failure, wait)
            await self._sleep(wait)
        raise failure


def _too_long(failure: ModelError, wait: float) -> ModelError:
    return ModelError(
        failure.kind,
        f"{failure} (it asks to wait {wait:.0f} s, which is too long)",
        retry_after=wait,
    )


def read_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds the provider asks to wait, None where it does not say.

    Reads `retry-after-ms` and `retry-after` (seconds or an HTTP date). Names in `headers` must
    compare as lower case, as httpx.Headers do. A date in the past is 0.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    """A finite number of at least 0, or None."""
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
