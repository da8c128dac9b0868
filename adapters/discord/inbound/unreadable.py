"""What comes from Discord and cannot be read: told as a value, so that it ends nothing.

discord.py's parsers raise whatever a field of an odd shape makes them raise, and out of its
connection that would end the bot, and end it again after each start, when the history is read.
"""

import logging
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

import discord
from discord.abc import User

from adapters.cleaning import clean
from adapters.events import NOWHERE, Conversation, Unreadable

CREATED, UPDATED, INTERACTION = "MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"
_READY = "READY"
_REASON = 200
"""Characters of a reason."""
_DIGITS = 20
"""Of an id, which has 64 bits."""

_log = logging.getLogger(__name__)

Unread = Callable[[str, Any, Exception], None]
"""Told of an event that cannot be read: its name, its data as it came, and why."""


def guard_parsers(client: discord.Client, me: User, unread: Unread) -> None:
    """Let discord.py tell `unread` of an event that it cannot read, instead of raising."""
    parsers = client._connection.parsers
    for event, parse in list(parsers.items()):
        parsers[event] = partial(_parse, me, event, parse, unread)


def _parse(me: User, event: str, parse: Callable[[Any], None], unread: Unread, data: Any) -> None:
    try:
        parse(data)
    except Exception as error:  # noqa: BLE001
        # Whatever a foreign parser raises, and every event that follows would be lost with it.
        unread(event, data, error)
        if event == _READY:
            # Without this one nothing else is received.
            parse(_least_ready(me, data))


def _least_ready(me: User, data: Any) -> dict[str, Any]:
    """READY with what is known without it, and the servers that have an id."""
    user = {"id": str(me.id), "username": me.name, "discriminator": "0", "avatar": None}
    given = data.get("guilds") if isinstance(data, Mapping) else ()
    known = (
        [guild for guild in given if isinstance(guild, Mapping)] if isinstance(given, list) else []
    )
    numbers = [number for guild in known if (number := snowflake(guild.get("id")))]
    guilds = [{"id": number, "unavailable": True} for number in numbers]
    shard = data.get("shard") if isinstance(data, Mapping) else None
    return {"user": user | {"bot": True}, "guilds": guilds, "shard": shard or [0, 1]}


def snowflake(value: Any) -> str:
    """An id as its digits; "" for what is none."""
    text = str(value) if isinstance(value, str | int) else ""
    return text if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else ""


def unreadable(event: str, data: Any, error: Exception) -> Unreadable:
    """An event as it came, and why it cannot be read. The same event has the same key."""
    fields = data if isinstance(data, Mapping) else {}
    channel, number = snowflake(fields.get("channel_id")), snowflake(fields.get("id"))
    mark = number if number and event != UPDATED else f"{number}:{_digest(data)}"
    return Unreadable(
        key=f"discord:unreadable:{event}:{mark}",
        conversation=Conversation("discord", channel or NOWHERE),
        # An edit, or the id of something else, says nothing about how far a channel was read.
        message_id=number if event == CREATED else "",
        why=_reason(event, error),
    )


def unreadable_message(message: discord.Message, edited: bool, error: Exception) -> Unreadable:
    """A message that discord.py could read and we cannot."""
    data = {"id": message.id, "channel_id": message.channel.id, "edited": str(message.edited_at)}
    return unreadable(UPDATED if edited else CREATED, data, error)


def unreadable_interaction(
    interaction: discord.Interaction[discord.Client], error: Exception
) -> Unreadable:
    return unreadable(INTERACTION, {"id": interaction.id}, error)


def _digest(data: Any) -> str:
    return sha256(repr(data).encode(errors="replace")).hexdigest()[:16]


def _reason(event: str, error: Exception) -> str:
    return clean(f"{event}: {type(error).__name__}: {error}"[:_REASON])


class Complaints:
    """Logs what cannot be read: each event in a line, each kind of fault with a traceback once."""

    def __init__(self) -> None:
        self._kinds: set[tuple[str, type[Exception], int]] = set()

    def add(self, event: Unreadable, error: Exception) -> None:
        kind = (event.why.partition(":")[0], type(error), _line(error))
        _log.error(
            "an event of Discord cannot be read and is passed over: %s in %s (%s)",
            event.key,
            event.conversation.address,
            event.why,
            exc_info=None if kind in self._kinds else error,
        )
        self._kinds.add(kind)


def _line(error: Exception) -> int:
    """Where it was raised: the line, in whichever file."""
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].lineno or 0) if frames else 0
