"""Updates that Telegram brings, instead of being asked for them: "200" is said of an update only
after it was committed, and Telegram brings again what it heard nothing else of."""

import asyncio
import hmac
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus

import telegram
from telegram.error import BadRequest, RetryAfter, TelegramError
from yarl import URL

from adapters.base import Misconfigured, Receive, Stopping
from adapters.events import Update
from adapters.inbound.ordering import Alone, Lines, lines_of
from adapters.serving.listening import Listen
from adapters.telegram.errors import hidden, refusal, seconds, telegrams_words
from adapters.telegram.inbound.held_back import HeldBack
from adapters.telegram.inbound.polling import UPDATES, Outage, normalized, readable
from adapters.telegram.inbound.webhook_server import WebhookServer
from adapters.telegram.logs import hide_token

log = logging.getLogger(__name__)

CONNECTIONS = 40
"""Requests that Telegram may make side by side: its own default."""
PATIENCE = 10.0
"""Seconds until Telegram is told to come again with what is not committed."""
MOST_WAITING = 200
"""Updates that are being taken in; more are to come again."""
_NUMBERS = 2**63
"""More than there are numbers of updates."""
LOOK_EVERY = 300.0
"""Seconds between looks at what stands at Telegram."""
MOST_RETURNS = 3
"""Times in a row that a webhook is set again which somebody else took away."""


@dataclass(frozen=True, slots=True)
class Webhook:
    url: str
    listen: Listen
    secret: str = field(repr=False)


def secret_of(token: str) -> str:
    """What Telegram shows where nothing else is configured: the same in every process of this bot,
    and after every restart."""
    return hmac.digest(token.encode(), b"bough: secret of the webhook", "sha256").hex()


class WebhookListener:
    """What `Poller` is, where Telegram brings the updates.

    As with polling, an update waits for those before it of the same chat or person: so what one
    person does is done in order, whatever way a proxy or a second attempt of Telegram's makes it
    take, and what comes after an update that Telegram must bring again waits for it. An update
    that is still being taken in when it comes again is waited for, and not taken in beside itself.

    All of that within this process: where several serve one webhook, a proxy may bring what one
    person does to different ones.
    """

    def __init__(
        self,
        webhook: Webhook,
        bot: telegram.Bot,
        token: str,
        ready: Callable[[], object],
        alone: Alone,
    ) -> None:
        hide_token(webhook.secret)
        self._webhook = webhook
        self._bot = bot
        self._token = token
        self._ready = ready
        path = URL(webhook.url).path  # decoded, as the server tells it of a request
        self.server = WebhookServer(webhook.listen, path, webhook.secret, self._bring)
        self._receive: Receive
        self._group: asyncio.TaskGroup
        self._lines = Lines(alone)
        self._held = HeldBack()
        self._waiting: dict[int, asyncio.Task[bool]] = {}
        """By number, what is being taken in."""
        self._unset = Outage("Telegram has taken the webhook")
        self._uncommitted = Outage("updates are committed again")
        self._failed_at: datetime | None = None
        self._returns = 0

    async def run(self, receive: Receive) -> None:
        """Until cancelled. Misconfigured where the place to listen cannot be had, Telegram will
        not take the URL, or the token is no longer good."""
        self._receive = receive
        self._waiting.clear()  # what an earlier run was cancelled in
        self._held.clear()
        try:
            async with asyncio.TaskGroup() as self._group:
                await self.server.open()
                await self._set()
                self._ready()
                while True:
                    await asyncio.sleep(LOOK_EVERY)
                    await self.look()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            await self.server.close()

    async def _set(self) -> None:
        """Tell Telegram where to bring updates. What waits there is kept, and polling ends."""
        while True:
            try:
                await self._bot.set_webhook(
                    self._webhook.url,
                    secret_token=self._webhook.secret,
                    allowed_updates=UPDATES,
                    max_connections=CONNECTIONS,
                    drop_pending_updates=False,
                )
            except BadRequest as error:
                said = hidden(str(error), self._token)
                raise Misconfigured(f"Telegram refuses [telegram] webhook_url: {said}") from None
            except RetryAfter as error:
                await self._wait("Telegram asks to set the webhook later", error, seconds(error))
            except TelegramError as error:
                if (refused := refusal(error, self._token)) is not None:
                    raise refused from None
                await self._wait("the webhook cannot be set", error)
            else:
                self._unset.over()
                return

    async def _wait(self, what: str, error: TelegramError, least: float = 0.0) -> None:
        if self._unset.is_news(what):
            log.warning("%s: %s; trying on", what, hidden(str(error), self._token))
        await asyncio.sleep(max(least, self._unset.delay()))

    async def look(self) -> None:
        """At what Telegram says of the webhook, and put back what another program took away.
        Misconfigured where Telegram refuses what no waiting changes."""
        if refused := self.server.refused:
            self.server.refused = 0
            log.warning("webhook: %d requests without the right secret were refused", refused)
        try:
            info = await self._bot.get_webhook_info()
        except TelegramError as error:
            if (why := refusal(error, self._token)) is not None:
                raise why from None
            log.info("webhook: no look at Telegram: %s", hidden(str(error), self._token))
            return
        if info.last_error_date is not None and info.last_error_date != self._failed_at:
            self._failed_at = info.last_error_date
            log.warning(
                "webhook: Telegram could not bring updates (%s); %d wait there",
                hidden(telegrams_words(info), self._token),
                info.pending_update_count,
            )
        if info.url == self._webhook.url:
            self._returns = 0
        elif self._returns < MOST_RETURNS:
            self._returns += 1
            log.warning("webhook: another program took it away; it is set again")
            await self._set()
        elif self._returns == MOST_RETURNS:
            self._returns += 1
            log.error(
                "webhook: another program takes it away again and again, and gets the updates of "
                "this bot; end that program, or give it a bot of its own"
            )

    # An update

    async def _bring(self, body: bytes) -> HTTPStatus:
        try:
            update = telegram.Update.de_json(readable(json.loads(body)), self._bot)
        except (ValueError, RecursionError, TelegramError):
            return HTTPStatus.BAD_REQUEST
        if isinstance(update.update_id, bool) or not 0 <= update.update_id < _NUMBERS:
            return HTTPStatus.BAD_REQUEST
        taking = self._waiting.get(update.update_id)
        if taking is None:
            number, arrived = update.update_id, normalized(update, self._bot.bot)
            if len(self._waiting) >= MOST_WAITING:
                self._missed(number, arrived)
                return HTTPStatus.SERVICE_UNAVAILABLE
            take = self._take(number, arrived)
            taking = self._group.create_task(take, name="an update of the webhook")
            self._waiting[number] = taking
        done, _ = await asyncio.wait([taking], timeout=PATIENCE)
        committed = bool(done) and not taking.cancelled() and taking.result()
        return HTTPStatus.OK if committed else HTTPStatus.SERVICE_UNAVAILABLE

    async def _take(self, number: int, update: Update | None) -> bool:
        """Whether it is committed."""
        try:
            if update is not None:
                async with self._lines.turn(update):
                    if self._held.is_behind(number, lines_of(update)):
                        self._missed(number, update)
                        return False
                    await self._receive(update)
                    self._held.taken(number)
                    self._uncommitted.over()
            return True
        except Stopping:
            return False
        except Exception:
            # The edge to whatever takes updates in: Telegram brings this one again.
            self._missed(number, update)
            if self._uncommitted.is_news("commit"):
                log.exception("updates cannot be committed; Telegram brings them again")
            self._uncommitted.delay()
            return False
        finally:
            del self._waiting[number]

    def _missed(self, number: int, update: Update | None) -> None:
        if update is not None:
            self._held.missed(number, lines_of(update))
