"""A look at a Telegram bot before it serves: its token, and whether a webhook keeps updates away.

`start` would remove a webhook by itself: here it is only seen, and removed when that is wanted.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import telegram
from telegram.error import InvalidToken
from telegram.request import HTTPXRequest

from adapters.base import Throttled, Unavailable
from adapters.checkup import Checkup, Trouble
from adapters.telegram.errors import adapter_errors, refused_token
from adapters.telegram.logs import hide_token


async def check(token: str, base_url: str) -> Checkup:
    """Misconfigured where the token is wrong; Unavailable where Telegram is not there."""
    async with _bot(token, base_url) as bot:
        webhook = (await bot.get_webhook_info()).url
        who = f"@{bot.username}"
    if not webhook:
        return Checkup(who)
    trouble = Trouble(
        "a webhook is set, so Telegram sends updates there and nothing can be polled",
        "remove it (deleteWebhook); what waits at Telegram is kept",
        partial(remove_webhook, token, base_url),
    )
    return Checkup(who, (trouble,))


async def remove_webhook(token: str, base_url: str) -> None:
    """No update is lost: Telegram keeps them for who polls."""
    async with _bot(token, base_url) as bot:
        await bot.delete_webhook(drop_pending_updates=False)


@asynccontextmanager
async def _bot(token: str, base_url: str) -> AsyncIterator[telegram.Bot]:
    """A bot that is signed in."""
    if not token:
        raise refused_token()
    hide_token(token)
    request = HTTPXRequest(connect_timeout=10, read_timeout=20, pool_timeout=20)
    bot = telegram.Bot(token, base_url, request=request)
    try:
        with adapter_errors(token):
            try:
                await bot.initialize()
            except InvalidToken:  # 401, or 404 for what does not even look like a token
                raise refused_token() from None
            yield bot
    except Throttled as error:
        raise Unavailable(f"Telegram: {error}") from None
    finally:
        await bot.shutdown()
