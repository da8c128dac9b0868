"""Channels and threads in which nobody had talked to the bot, and somebody may have meanwhile."""

from collections.abc import Container
from datetime import timedelta

import discord
from discord.utils import time_snowflake, utcnow

MOST_CHANNELS = 100
MOST_MESSAGES = 200
"""Read of each, the newest."""
_AGE = timedelta(hours=24)

_Place = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


def no_older(since: int) -> int:
    """A message id from which on is read: that one, or one of a day ago."""
    return max(since, time_snowflake(utcnow() - _AGE))


def candidates(client: discord.Client, since: int, known: Container[int]) -> list[int]:
    """Where something was said after the message `since`, as far as the bot may read it; the
    latest first. `known` are left out."""
    places = [
        place
        for guild in client.guilds
        for place in (*guild.channels, *guild.threads)
        if isinstance(place, _Place)
        and place.id not in known
        and (place.last_message_id or 0) > since
        and _readable(place)
    ]
    places.sort(key=lambda place: place.last_message_id or 0, reverse=True)
    return [place.id for place in places[:MOST_CHANNELS]]


def _readable(place: _Place) -> bool:
    """True where that is not known: Discord will say."""
    me: discord.Member | None = place.guild.me  # its type leaves out that it may not be known
    if me is None:
        return True
    try:
        allowed = place.permissions_for(me)
    except discord.ClientException:  # a thread whose channel is not known
        return True
    return allowed.read_messages and allowed.read_message_history
