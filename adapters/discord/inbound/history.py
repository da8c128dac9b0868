"""What was said in a channel while nobody listened."""

from dataclasses import dataclass
from typing import Any

import discord

from adapters.base import Unavailable
from adapters.discord.inbound.unreadable import snowflake
from adapters.discord.rest import PLATFORM_ERRORS, adapter_error

LIMIT = 1000
"""Messages read of one channel, the newest: in a busy channel most are older than the outage."""
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A message as Discord tells it, which discord.py cannot read, and why."""

    data: Any
    error: Exception


async def missed(
    client: discord.Client, channel_id: int, after: int, limit: int = LIMIT
) -> list[discord.Message | Unparsed]:
    """Messages newer than the id `after`, oldest first, the newest `limit` of them. Raises
    AdapterError."""
    try:
        if not _listed(await client.http.logs_from(channel_id, 1, after=after)):
            return []
        channel = await _known(client, channel_id)
        newest = await _newest(client, channel_id, after, limit)
    except PLATFORM_ERRORS as error:
        raise adapter_error(error) from error
    return [_parsed(client, channel, data, channel_id) for data in reversed(newest)]


async def _newest(client: discord.Client, channel_id: int, after: int, limit: int) -> list[Any]:
    """As Discord tells them, newest first."""
    found: list[Any] = []
    before: int | None = None
    while len(found) < limit:
        page = _listed(await client.http.logs_from(channel_id, _PAGE, before=before))
        numbers = [_number(data) for data in page]
        # One without an id stands here; where it belongs, its neighbours say.
        found += [
            data for data, number in zip(page, numbers, strict=True) if not 0 < number <= after
        ]
        oldest = min((number for number in numbers if number), default=0)
        if len(page) < _PAGE or oldest <= after or oldest == before:
            break
        before = oldest
    return found[:limit]


def _number(data: Any) -> int:
    """The message's id; 0 where it has none."""
    return int(snowflake(data.get("id")) or 0) if isinstance(data, dict) else 0


def _listed(answer: object) -> list[Any]:
    """Unavailable for what is no list of messages: what stands in front of Discord, perhaps."""
    if not isinstance(answer, list):
        raise Unavailable("Discord's answer is not a list of messages")
    return answer


def _parsed(
    client: discord.Client, channel: discord.abc.Messageable, data: Any, channel_id: int
) -> discord.Message | Unparsed:
    try:
        return client._connection.create_message(channel=channel, data=data)  # type: ignore[arg-type]
    except Exception as error:  # noqa: BLE001
        # Whatever discord.py's parser raises: this message is odd, the others are not.
        fields = data if isinstance(data, dict) else {}
        return Unparsed(fields | {"channel_id": channel_id}, error)


async def _known(client: discord.Client, channel_id: int) -> discord.abc.Messageable:
    """The channel with its kind and server: messages read by REST do not say where they stand."""
    try:
        channel = client.get_channel(channel_id) or await client.fetch_channel(channel_id)
    except discord.NotFound:
        # Its messages could be read just now, so it is there. Channels of servers are announced
        # when the connection is made; private ones never are.
        return client.get_partial_messageable(channel_id, type=discord.ChannelType.private)
    except PLATFORM_ERRORS:
        raise
    except Exception:  # noqa: BLE001
        # A kind of channel, or a shape of one, that discord.py does not know.
        return client.get_partial_messageable(channel_id)
    if isinstance(channel, discord.abc.Messageable):
        return channel
    return client.get_partial_messageable(channel_id)
