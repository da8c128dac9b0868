"""Patience with a model that is busy or away: which failures are tried again, and when."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agent.backoff import backoff
from agent.models.base import RETRIED, Model, ModelError, ModelErrorKind, Reply, Request

logger = logging.getLogger(__name__)

LONGEST_WAIT = 60.0
"""Seconds. A provider that asks for more is not waited for: a person is at the other end."""
PATIENCE = 60.0
"""Seconds for which a provider that is busy or away is tried again."""
ATTEMPTS = 4
"""Replies that cannot be read, until the call is given up: that rarely passes with time."""


@dataclass(slots=True)
class Waits:
    """What a call of a model waits for at the moment."""

    failures: list[str] = field(default_factory=list)
    """Every failure of a call so far."""
    now: str = ""
    """Why a call is going to be made again, in words for people; "" while none waits."""
    until: float = 0.0
    """When it is made again, in Unix seconds."""


_heard: ContextVar[Waits | None] = ContextVar("calls that are made again", default=None)


@contextmanager
def waits_noted(waits: Waits) -> Iterator[None]:
    """Inside, failures of calls and the pauses after them are noted: others can say why it takes
    long."""
    token = _heard.set(waits)
    try:
        yield
    finally:
        _heard.reset(token)


class Retrying:
    """A model that tries another one again, with exponential backoff and jitter.

    Only the kinds in RETRIED are tried again, and nothing of whose answer something was heard. One
    that is busy or away is tried for `patience` seconds after its first failure, the time of the
    calls included. Where the provider said how long to wait, it is waited that long at least; over
    LONGEST_WAIT the error is raised at once and says so.

    `attempts` counts the first one, of a reply that cannot be read. `base` and `cap` are the bounds
    of `backoff`, in seconds.
    """

    def __init__(
        self,
        model: Model,
        *,
        attempts: int = ATTEMPTS,
        patience: float = PATIENCE,
        base: float = 0.5,
        cap: float = 10.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self._model = model
        self._attempts = attempts
        self._patience = patience
        self._base = base
        self._cap = cap
        self._sleep = sleep

    async def complete(self, request: Request) -> Reply:
        pauses = backoff(self._base, self._cap, jitter=True)
        left, unread, failed = self._patience, 0, False
        while True:
            began = time.monotonic()
            try:
                return await self._model.complete(request)
            except ModelError as error:
                failure = error
            if (heard := _heard.get()) is not None:
                heard.failures.append(str(failure))
            if failure.partial or failure.kind not in RETRIED:
                raise failure
            unread += failure.kind is ModelErrorKind.BAD_REPLY
            left -= time.monotonic() - began if failed else 0.0
            failed = True
            asked = failure.retry_after or 0.0
            if asked > LONGEST_WAIT:
                raise _too_long(failure, asked)
            if unread >= self._attempts or left <= 0 or asked > left:
                raise failure
            wait = max(min(next(pauses), left), asked)
            left -= wait
            logger.warning("%s; trying again in %.1f s", failure, wait)
            await self._pause(failure, wait, heard)

    async def _pause(self, failure: ModelError, seconds: float, waits: Waits | None) -> None:
        if waits is None:
            return await self._sleep(seconds)
        waits.now, waits.until = str(failure), time.time() + seconds
        try:
            await self._sleep(seconds)
        finally:
            waits.now = ""


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
