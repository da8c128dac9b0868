"""What was said in a channel while nobody listened."""

import discord

from adapters.discord.rest import PLATFORM_ERRORS, adapter_error

LIMIT = 1000
"""Messages read of one channel, the newest: in a busy channel most are older than the outage."""


async def missed(client: discord.Client, channel_id: int, after: int) -> list[discord.Message]:
    """Messages newer than the id `after`, oldest first. Raises AdapterError."""
    try:
        channel = client.get_partial_messageable(channel_id)
        anything = [m async for m in channel.history(limit=1, after=discord.Object(after))]
        if not anything:
            return []
        known = await _known(client, channel_id)
        newest = known.history(limit=LIMIT, after=discord.Object(after), oldest_first=False)
        return [m async for m in newest][::-1]
    except PLATFORM_ERRORS as error:
        raise adapter_error(error) from error


async def _known(client: discord.Client, channel_id: int) -> discord.abc.Messageable:
    """The channel with its kind and server: messages read by REST do not say where they stand."""
    try:
        channel = client.get_channel(channel_id) or await client.fetch_channel(channel_id)
    except discord.NotFound:
        # Its messages could be read just now, so it is there. Channels of servers are announced
        # when the connection is made; private ones never are.
        return client.get_partial_messageable(channel_id, type=discord.ChannelType.private)
    if isinstance(channel, discord.abc.Messageable):
        return channel
    return client.get_partial_messageable(channel_id)
