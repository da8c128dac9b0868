"""A look at a Telegram bot before it serves: its token, and whether a webhook keeps updates away.

`start` would remove a webhook by itself: here it is only seen, and removed when that is wanted.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import partial

import httpx
import telegram
from telegram.error import InvalidToken
from telegram.request import HTTPXRequest

from adapters.base import Misconfigured, Refused, Throttled, Unavailable
from adapters.checkup import Checkup, Trouble
from adapters.telegram.errors import adapter_errors, refused_token
from adapters.telegram.logs import hide_token


async def check(token: str, base_url: str) -> Checkup:
    """Misconfigured where the token is wrong; Unavailable where Telegram is not there."""
    clock = _Clock()
    async with _bot(token, base_url, clock.look) as bot:
        webhook = (await bot.get_webhook_info()).url
        found = Checkup(
            f"@{bot.username}",
            hears_all=bot.can_read_all_group_messages is True,
            to_hear_all="switch its privacy mode off (@BotFather: /setprivacy, Disable), then take "
            "it out of the group and put it in again; or make it an administrator there",
            clock_ahead=clock.ahead,
        )
    if not webhook:
        return found
    trouble = Trouble(
        "a webhook is set, so Telegram sends updates there and nothing can be polled",
        "remove it (deleteWebhook); what waits at Telegram is kept",
        partial(remove_webhook, token, base_url),
    )
    return replace(found, troubles=(trouble,))


@dataclass
class _Clock:
    """This machine's clock beside the platform's, by the dates of its answers."""

    ahead: float = 0.0

    async def look(self, response: httpx.Response) -> None:
        with suppress(ValueError, TypeError):
            said = parsedate_to_datetime(response.headers.get("date", ""))
            self.ahead = time.time() - said.timestamp()


async def remove_webhook(token: str, base_url: str) -> None:
    """No update is lost: Telegram keeps them for who polls."""
    async with _bot(token, base_url) as bot:
        await bot.delete_webhook(drop_pending_updates=False)


@asynccontextmanager
async def _bot(
    token: str, base_url: str, seen: Callable[[httpx.Response], Awaitable[None]] | None = None
) -> AsyncIterator[telegram.Bot]:
    """A bot that is signed in. `seen`: is shown each answer."""
    if not token:
        raise refused_token()
    hide_token(token)
    hooks = {"event_hooks": {"response": [seen]}} if seen is not None else None
    request = HTTPXRequest(connect_timeout=10, read_timeout=20, pool_timeout=20, httpx_kwargs=hooks)
    bot = telegram.Bot(token, base_url, request=request)
    try:
        with adapter_errors(token):
            try:
                await bot.initialize()
            except InvalidToken:  # 401, or 404 for what does not even look like a token
                raise refused_token() from None
            yield bot
    except Refused:
        raise Misconfigured(
            "Telegram does not take the request: check [telegram] token, and base_url, where it is "
            "set: it must lead to a Bot API server"
        ) from None
    except Throttled as error:
        raise Unavailable(f"Telegram: {error}") from None
    finally:
        await bot.shutdown()
