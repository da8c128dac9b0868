"""A look at a Telegram bot before it serves: its token, and whether updates reach it, by polling or
by a webhook. A webhook is only seen here, and removed when that is wanted."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import httpx
import telegram
from telegram.error import InvalidToken
from telegram.request import HTTPXRequest

from adapters.base import Misconfigured, Refused, Throttled, Unavailable
from adapters.checkup import Checkup, Clock, Trouble
from adapters.telegram.errors import adapter_errors, hidden, refused_token, telegrams_words
from adapters.telegram.logs import hide_token

_RECENT = timedelta(hours=1)
"""How long a failure of Telegram's to bring an update is one to mend: it says nothing of when it
was over."""


async def check(token: str, base_url: str, webhook_url: str | None = None) -> Checkup:
    """Of a bot whose updates are brought to `webhook_url`, or that polls, where there is none.

    Misconfigured where the token is wrong; Unavailable where Telegram is not there.
    """
    clock = Clock()

    async def look(response: httpx.Response) -> None:
        clock.look(response.headers.get("date", ""))

    async with _bot(token, base_url, look) as bot:
        webhook = await bot.get_webhook_info()
        found = Checkup(
            f"@{bot.username}",
            hears_all=bot.can_read_all_group_messages is True,
            to_hear_all="switch its privacy mode off (@BotFather: /setprivacy, Disable), then take "
            "it out of the group and put it in again; or make it an administrator there",
            clock_ahead=clock.ahead,
        )
    if webhook_url is not None:
        return _with_webhook(found, webhook, webhook_url, token)
    if not webhook.url:
        return found
    trouble = Trouble(
        "a webhook is set, so Telegram sends updates there and nothing can be polled",
        "remove it (deleteWebhook); what waits at Telegram is kept",
        partial(remove_webhook, token, base_url),
    )
    return replace(found, troubles=(trouble,))


def _with_webhook(found: Checkup, seen: telegram.WebhookInfo, url: str, token: str) -> Checkup:
    if seen.url != url:
        other = "Telegram brings updates elsewhere" if seen.url else "no webhook is set yet"
        return replace(found, notes=(f"{other}: bough run sets it",))
    count = seen.pending_update_count
    waiting = "1 update waits at Telegram" if count == 1 else f"{count} updates wait at Telegram"
    failed = seen.last_error_date
    if failed is None or datetime.now(UTC) - failed > _RECENT:
        return replace(found, notes=(f"the webhook is set, {waiting}",))
    trouble = Trouble(
        f"Telegram could not bring updates at {failed:%H:%M} UTC: "
        f"{hidden(telegrams_words(seen), token)}; {waiting}",
        "make what stands at webhook_url pass them on to [telegram] listen, and start the bot; "
        "Telegram tries again by itself",
    )
    return replace(found, troubles=(trouble,))


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
