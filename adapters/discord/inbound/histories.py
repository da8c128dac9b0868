"""Histories of channels, a few at a time and with patience."""

import asyncio
import logging
from itertools import islice

import discord

from adapters.backoff import backoff
from adapters.base import AdapterError, Throttled, Unavailable
from adapters.discord.inbound.elsewhere import MOST_MESSAGES
from adapters.discord.inbound.history import Unparsed, missed

_READERS = 4
_PAUSES = (*islice(backoff(1.0, 60.0), 10), 0.0)
"""Seconds after each attempt to read a history; there is one attempt per pause. So long an outage
may be; after that the channel's live messages, which wait meanwhile, are worth more."""
_FEW_PAUSES = (1.0, 4.0, 0.0)
"""The same where nobody had talked to the bot: all other channels wait for these."""

_log = logging.getLogger(__name__)


class Histories:
    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._readers = asyncio.Semaphore(_READERS)

    async def since(self, channel: int, after: int) -> list[discord.Message | Unparsed]:
        """Empty where it cannot be read; the reason is logged."""
        async with self._readers:
            for pause in _PAUSES:
                try:
                    return await missed(self._client, channel, after)
                except (Unavailable, Throttled) as error:
                    problem: AdapterError = error
                    await asyncio.sleep(pause)
                except AdapterError as error:
                    problem = error
                    break
        _log.warning("channel %d: what was missed cannot be read: %s", channel, problem)
        return []

    async def glance(self, channel: int, after: int) -> list[discord.Message]:
        """Of a channel in which nobody had talked to the bot. Empty where it cannot be read:
        nobody said that the bot may."""
        async with self._readers:
            for pause in _FEW_PAUSES:
                try:
                    found = await missed(self._client, channel, after, MOST_MESSAGES)
                except (Unavailable, Throttled):
                    await asyncio.sleep(pause)
                except AdapterError as error:
                    _log.debug("channel %d: no look at what was missed: %s", channel, error)
                    break
                else:
                    return [one for one in found if isinstance(one, discord.Message)]
        return []
