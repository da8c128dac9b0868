"""The getUpdates loop: an update is confirmed to Telegram only after it was committed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import telegram
from telegram.error import Conflict, RetryAfter, TelegramError
from telegram.request import BaseRequest, HTTPXRequest

from adapters.backoff import backoff
from adapters.base import Receive, Stopping
from adapters.cleaning import clean, printable
from adapters.events import NOWHERE, Conversation, Unreadable, Update
from adapters.inbound.ordering import Alone, take_in
from adapters.telegram.errors import hidden, refusal, seconds
from adapters.telegram.inbound.normalize import normalize

log = logging.getLogger(__name__)

_UNREADABLE = "bough_unreadable"
"""Field of an update that the library cannot read, beside its number: why."""
_REASON = 200
"""Characters of that."""
UPDATES = ("message", "edited_message", "callback_query")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
"""Seconds between failures."""


class PollingRequest(HTTPXRequest):
    """Requests of the loop: one update that cannot be read does not take its batch with it.

    The library parses a whole batch or nothing, and would be given the same batch for ever.
    """

    @staticmethod
    def parse_json_payload(payload: bytes) -> Any:
        """The answer, in which an update that the library cannot read is only that."""
        answer: Any = BaseRequest.parse_json_payload(payload)
        match answer:
            case {"ok": False}:
                return answer
            case {"result": list(updates)}:
                return {**answer, "result": [readable(update) for update in updates]}
            case _:
                raise TelegramError("Invalid server response")


def readable(update: Any) -> Any:
    """An update as Telegram tells it, or what stands for one that the library cannot read."""
    if not (isinstance(update, dict) and isinstance(update.get("update_id"), int)):
        raise TelegramError("Invalid server response")
    try:
        telegram.Update.de_json(update, None)
    except Exception as error:  # noqa: BLE001
        # Whatever a parser makes of an odd shape: the other updates are not odd.
        return {"update_id": update["update_id"], _UNREADABLE: _reason(error)}
    return update


def _reason(error: Exception) -> str:
    """On one line; what people wrote may be in it."""
    log.debug("where Telegram's update cannot be read", exc_info=error)
    return " ".join(printable(clean(f"{type(error).__name__}: {error}"[:_REASON])).split())


class Outage:
    """Failures in a row: what the log has heard of already, and how long to wait now.

    `end` is what the log says when it is over.
    """

    def __init__(self, end: str) -> None:
        self._end = end
        self._begin()

    def _begin(self) -> None:
        self._failures = 0
        self._heard = ""
        self._pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)

    def is_news(self, what: str) -> bool:
        news = what != self._heard
        self._heard = what
        return news

    def delay(self) -> float:
        """Seconds to wait after one more failure."""
        self._failures += 1
        return next(self._pauses)

    def over(self) -> None:
        if self._failures:
            log.info("%s, after %d failures", self._end, self._failures)
        self._begin()


class Poller:
    """Reads updates for one bot. `timeout` is how long Telegram may hold a request, in seconds;
    `request` is what the bot makes the requests of the loop with; `alone`: see ordering.py."""

    def __init__(
        self,
        bot: telegram.Bot,
        token: str,
        timeout: int,
        ready: Callable[[], object],
        request: BaseRequest,
        alone: Alone,
    ) -> None:
        self._bot = bot
        self._token = token
        self._timeout = timeout
        self._ready = ready
        self._request = request
        self._alone = alone
        self._offset: int | None = None
        self._unheard = Outage("Telegram's updates arrive again")
        self._uncommitted = Outage("updates are committed again")

    async def run(self, receive: Receive) -> None:
        """Until cancelled. Misconfigured where Telegram refuses what no waiting changes."""
        self._offset = None  # of an earlier run: another process may have read on since
        await self._connect_anew()
        await self._without_webhook()
        hold = 0  # The first request answers at once, so that being ready is known soon.
        while True:
            updates = await self._fetch(hold)
            if updates is None:
                continue
            self._ready()
            hold = self._timeout
            if updates:
                await self._commit(updates, receive)
            else:
                # All below the offset is confirmed now. Telegram may start again with lower ids
                # after a quiet week, and would take an old offset for their confirmation.
                self._offset = None

    async def _connect_anew(self) -> None:
        """An earlier run may have been cut off in a request, and cancelled again while that gave
        its connection back: then it never does, and there is only one."""
        await self._request.shutdown()
        await self._request.initialize()

    async def _without_webhook(self) -> None:
        """Remove one that was set: it would keep updates from being polled. None is lost."""
        while True:
            try:
                await self._bot.delete_webhook(drop_pending_updates=False)
            except RetryAfter as error:
                await self._wait("Telegram asks to wait", error, seconds(error))
            except TelegramError as error:
                if (refused := refusal(error, self._token)) is not None:
                    raise refused from None
                await self._wait("it is not known whether a webhook is set", error)
            else:
                return

    async def _fetch(self, hold: int) -> tuple[telegram.Update, ...] | None:
        """The next updates; None after a failure, when it is time to try again."""
        try:
            updates = await self._bot.get_updates(
                offset=self._offset, timeout=hold, allowed_updates=UPDATES
            )
        except RetryAfter as error:
            await self._wait("Telegram asks to poll more slowly", error, seconds(error))
        except Conflict as error:
            await self._wait("another program, or a webhook, takes this bot's updates", error)
        except TelegramError as error:
            if (refused := refusal(error, self._token)) is not None:
                raise refused from None
            await self._wait("no updates from Telegram", error)
        else:
            self._unheard.over()
            return updates
        return None

    async def _wait(self, what: str, error: TelegramError, least: float = 0.0) -> None:
        if self._unheard.is_news(what):
            log.warning("%s: %s; trying on", what, hidden(str(error), self._token))
        await asyncio.sleep(max(least, self._unheard.delay()))

    async def _commit(self, updates: tuple[telegram.Update, ...], receive: Receive) -> None:
        arrived = [normalized(update, self._bot.bot) for update in updates]
        committed, failure = await take_in(arrived, receive, self._alone)
        if committed:
            self._offset = updates[committed - 1].update_id + 1
        if failure is None:
            return self._uncommitted.over()
        if isinstance(failure, Stopping):
            raise failure
        if self._uncommitted.is_news("commit"):
            log.error("updates cannot be committed; trying on", exc_info=failure)
        await asyncio.sleep(self._uncommitted.delay())


def normalized(update: telegram.Update, bot: telegram.User) -> Update | None:
    """None for what is nobody's message or press."""
    if why := update.api_kwargs.get(_UNREADABLE):
        return _unreadable(update, why)
    try:
        return normalize(update, bot)
    except Exception as error:  # noqa: BLE001
        # The same: an update that its parser took and we cannot.
        return _unreadable(update, _reason(error))


def _unreadable(update: telegram.Update, why: str) -> Unreadable:
    number = update.update_id
    log.error("Telegram's update %d cannot be read and is passed over (%s)", number, why)
    key = f"telegram:unreadable:{number}"
    return Unreadable(key, Conversation("telegram", NOWHERE), "", why)
