"""REST calls through discord.py's own client, so that its rate limits and retries hold.

Calls are made by path and JSON instead of through discord.py's model objects: what was stored
before a restart (ids, handles) is all there is to call with, and the JSON is what the pure
modules here make and what the published specification describes.
"""

import asyncio
import json
from typing import Any

import aiohttp
import discord
from discord.http import Route

from adapters.base import (
    AdapterError,
    Misconfigured,
    Refused,
    Throttled,
    Unavailable,
    Unreachable,
    Upload,
)
from adapters.cleaning import clean, printable
from adapters.discord.payload import form
from adapters.timeliness import ensure_timely
from adapters.wording import network_words

PLATFORM_ERRORS = (
    discord.HTTPException,
    discord.RateLimited,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
    json.JSONDecodeError,
)
"""What a call through discord.py raises where Discord, or the way to it, is the reason."""

_PATIENCE_SECONDS = 60.0
_RETRY_AFTER_SECONDS = 60.0
_WORDS = 300
"""Characters of what Discord says."""
_UNKNOWN_CHANNEL, _UNKNOWN_USER = 10003, 10013
_UNKNOWN_WEBHOOK = 10015
_MISSING_PERMISSIONS = 50013
_THREAD_EXISTS = 160004
_THREAD_ARCHIVED = 50083
_REPLY_NOT_ALLOWED = frozenset({160002, 160009, 160010})


class ReplyRefused(Refused):
    """The message may be sent, but not as a reply: the bot must not read the history here."""


class NotAcknowledged(Refused):
    """Discord knows of no interaction that is acknowledged and has that token."""


class ThreadExists(Refused):
    """There is a thread on that message already."""


class ThreadArchived(Refused):
    """The thread is archived: it takes new messages, and no changes."""


class NotPermitted(Unreachable):
    """The bot lacks a permission here: to send messages, or only for what this one brings."""


class Rest:
    """Calls that outlive their caller's cancellation.

    A call that is cancelled while discord.py waits for a global rate limit to end leaves the
    limit in place for ever, and with it every other call. So a cancelled caller leaves, and the
    call goes on, owned by this object until it ends or `close` is called.
    """

    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._calls: set[asyncio.Task[Any]] = set()

    async def call(
        self,
        method: str,
        path: str,
        payload: Any = None,
        *,
        upload: Upload | None = None,
        **parameters: Any,
    ) -> Any:
        """The decoded reply. `parameters` fill the braces of the path. Raises AdapterError."""
        route = Route(method, path, **parameters)
        body = {} if payload is None else {"json": payload}
        if upload is not None:
            body = {"form": form(payload, upload)}
        call = asyncio.create_task(self._client.http.request(route, **body))
        self._calls.add(call)
        call.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await asyncio.shield(call)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if call.cancelled() and not (task and task.cancelling()):
                # By `close`, while the caller lives on.
                raise Unavailable("the connection to Discord was closed meanwhile") from None
            raise
        except PLATFORM_ERRORS as error:
            raise adapter_error(error) from error

    async def message_id(self, method: str, path: str, payload: Any, **parameters: Any) -> str:
        """As `call`, and the id of the message, or channel, that is the answer."""
        reply = await self.call(method, path, payload, **parameters)
        if not (isinstance(reply, dict) and isinstance(reply.get("id"), str)):
            raise Unavailable("Discord's answer is not what it answers to this")
        return str(reply["id"])

    async def close(self) -> None:
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    def _ended(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            # Whoever still waits gets the exception; asyncio shall not report it a second time.
            call.exception()


def timely() -> aiohttp.TraceConfig:
    """Has each request, and each time that discord.py makes it again, go out only while it may."""

    async def begins(*_: object) -> None:
        ensure_timely()

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(begins)
    return trace


def adapter_error(error: Exception) -> AdapterError:
    """One of PLATFORM_ERRORS in the words of the seam."""
    match error:
        case discord.RateLimited():
            return Throttled(error.retry_after)
        case discord.HTTPException():
            return _of_status(error)
        case TimeoutError():
            return Unavailable("Discord did not answer in time")
        case _:
            return Unavailable(f"Discord cannot be reached: {network_words(str(error))}")


def _of_status(error: discord.HTTPException) -> AdapterError:
    text = _discords_words(error)
    if error.code in _REPLY_NOT_ALLOWED:
        return ReplyRefused(text)
    if error.code == _UNKNOWN_WEBHOOK:
        return NotAcknowledged(text)
    if error.code == _THREAD_EXISTS:
        return ThreadExists(text)
    if error.code == _THREAD_ARCHIVED:
        return ThreadArchived(text)
    match error.status:
        case 429:
            # discord.py raises this where what stands in front of Discord refuses all we send.
            everywhere = not error.response.headers.get("Via")
            return Throttled(_retry_after(error), everywhere=everywhere)
        case 401:
            return Misconfigured(f"{text}; the bot token is not valid any more")
        case 403 if not _is_json(error):
            return Unavailable(f"{text}; that is not Discord itself but what stands in front of it")
        case 403 if error.code == _MISSING_PERMISSIONS:
            return NotPermitted(text)
        case 403:
            return Unreachable(text)
        case 404 if error.code in (_UNKNOWN_CHANNEL, _UNKNOWN_USER):
            return Unreachable(text)
        case status if status >= 500:
            return Unavailable(text)
        case _:
            return Refused(text)


def _discords_words(error: discord.HTTPException) -> str:
    """Discord's own words without its numbers; what stands in front of it sends whole pages."""
    said = printable(" ".join(clean(error.text).split())) if _is_json(error) else ""
    return f"Discord refuses it (HTTP {error.status})" + (f": {said[:_WORDS]}" if said else "")


def _is_json(error: discord.HTTPException) -> bool:
    return str(error.response.headers.get("Content-Type", "")).startswith("application/json")


def _retry_after(error: discord.HTTPException) -> float:
    header = str(error.response.headers.get("Retry-After", ""))
    return float(header) if header.isdecimal() else _RETRY_AFTER_SECONDS
