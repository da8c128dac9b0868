"""discord.py's client: how it is set up, and how it is kept connected."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Sequence, Set
from typing import TypedDict

import discord
import yarl
from discord.gateway import DiscordWebSocket, KeepAliveHandler
from discord.http import Route

from adapters.backoff import backoff
from adapters.base import Misconfigured

API_BASE = "https://discord.com/api/v10"

_OWN_GATEWAY = DiscordWebSocket.DEFAULT_GATEWAY
_READY_SECONDS = 0.5
"""How long no further server may be announced until discord.py calls the start complete."""

_CLOSE_SECONDS = 10.0
_AUTHENTICATION_FAILED = 4004
_ABANDONED = 4000
"""The code with which discord.py itself closes a connection that it cannot use any more."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds, between connections that end in what cannot be read."""

_log = logging.getLogger(__name__)


_IDENTIFY_SECONDS = 5.0
"""Between two new sessions: Discord lets a bot begin that many at once, and the least is one."""


class _ShardedClient(discord.AutoShardedClient):
    """discord.py begins one session after the other. Where one cannot be had it tries for ever."""

    _tried: int | None = None

    async def launch_shard(
        self, gateway: yarl.URL, shard_id: int, *, initial: bool = False
    ) -> None:
        if self._tried == shard_id:
            self.dispatch("disconnect")
        self._tried = shard_id
        await super().launch_shard(gateway, shard_id, initial=initial)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if not initial:
            await asyncio.sleep(_IDENTIFY_SECONDS)


def new_client(
    api_base: str, gateway_url: str | None, shards: int = 1, held: Sequence[int] = ()
) -> discord.Client:
    """A client without caches of members and messages, and without privileged intents; but see
    `listen_to_all`. It holds all of so many connections, or those that are named: other processes
    hold the rest.

    discord.py keeps both addresses in classes, so there is one Discord in a process.
    Misconfigured where an address cannot be one.
    """
    Route.BASE = _checked("api_base", api_base, {"http", "https"}).rstrip("/")
    DiscordWebSocket.DEFAULT_GATEWAY = (
        yarl.URL(_checked("gateway_url", gateway_url, {"ws", "wss"}))
        if gateway_url
        else _OWN_GATEWAY
    )
    _quiet()
    if shards > 1:
        ids = list(held) or list(range(shards))
        return _ShardedClient(shard_count=shards, shard_ids=ids, **_options())
    return discord.Client(**_options())


class _Options(TypedDict):
    intents: discord.Intents
    max_messages: None
    chunk_guilds_at_startup: bool
    member_cache_flags: discord.MemberCacheFlags
    guild_ready_timeout: float
    max_ratelimit_timeout: float


def _options() -> _Options:
    """Of a client of its own: `listen_to_all` changes them."""
    return _Options(
        # Slash commands and presses come without an intent; the content of private messages,
        # mentions and our own messages comes without the privileged one.
        intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True),
        max_messages=None,
        chunk_guilds_at_startup=False,
        member_cache_flags=discord.MemberCacheFlags.none(),
        guild_ready_timeout=_READY_SECONDS,
        # Longer waits are for the caller to plan, not for discord.py to sleep through.
        max_ratelimit_timeout=30.0,
    )


TO_HEAR_ALL = (
    "switch Message Content Intent on: https://discord.com/developers/applications, this bot, Bot; "
    "then start it anew"
)


def listen_to_all(client: discord.Client) -> None:
    """Ask for what is said to nobody too, where the bot's owner has let the bot read it: by the
    message content intent, on its page in the developer portal. It is the only privileged one that
    is ever asked for. `client` is logged in, and not connected."""
    client._connection._intents.message_content = may_hear_all(client)


def may_hear_all(client: discord.Client) -> bool:
    """Whether the bot's owner has switched that intent on. `client` is logged in."""
    if client.application is None:
        return False
    flags = client.application.flags
    return flags.gateway_message_content or flags.gateway_message_content_limited


def _checked(key: str, url: str, schemes: Set[str]) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in schemes or not rest:
        raise Misconfigured(f"discord.{key} {url!r} is not a {'/'.join(sorted(schemes))} URL")
    return url


async def stay_connected(client: discord.Client) -> None:
    """Receive until the client is closed. Outages are waited out, and so is a gateway that says
    what cannot be read at all (an event that cannot be read ends no connection).

    Misconfigured where Discord closes the connection for a reason that does not pass.
    """
    clock, pauses = asyncio.get_running_loop().time, backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
    kinds: set[type[Exception]] = set()
    while True:
        began = clock()
        try:
            await client.connect(reconnect=True)
            return
        except discord.PrivilegedIntentsRequired:
            raise Misconfigured(
                "Discord refuses the bot's intents, of which only the message content intent is "
                "privileged; look at it on the bot's page in the developer portal"
            ) from None
        except discord.ConnectionClosed as closed:
            raise Misconfigured(_closed_for_good(closed.code)) from None
        except Exception as error:  # noqa: BLE001
            # discord.py raises anything over a frame of a shape that it does not expect.
            if client.is_closed():
                return
            if isinstance(error, AttributeError) and getattr(client, "ws", None) is None:
                # discord.py issue 10520: where the very first connection fails, connect() waits
                # and then fails on the missing old one. Trying again is what it meant to do.
                continue
            if clock() - began > _LONGEST_PAUSE:
                pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
            pause = next(pauses)
            _log.error(
                "Discord's gateway cannot be understood (%r); a new connection in %g s",
                error,
                pause,
                exc_info=None if type(error) in kinds else error,
            )
            kinds.add(type(error))
            await _abandon(client)
            await asyncio.sleep(pause)


async def _abandon(client: discord.Client) -> None:
    """End a connection that discord.py has left open."""
    client.dispatch("disconnect")
    if (socket := getattr(client, "ws", None)) is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await socket.close(_ABANDONED)


def _closed_for_good(code: int) -> str:
    if code == _AUTHENTICATION_FAILED:
        return "Discord does not accept the bot token any more; set discord.token anew"
    return f"Discord closed the connection for good (code {code})"


async def close(client: discord.Client) -> None:
    """Close the connections. A gateway that does not answer is not waited for."""
    _stop_leftovers(client)
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await client.close()
    except TimeoutError:
        await client.http.close()


def _stop_leftovers(client: discord.Client) -> None:
    """Stop what discord.py forgets about when it is closed while it connects.

    That is the task that waits for servers to be announced, which would then fail on the closed
    client, and the thread with the heartbeats of a connection that was not complete yet.
    """
    if ready_task := client._connection._ready_task:
        ready_task.cancel()
    for thread in threading.enumerate():
        if isinstance(thread, KeepAliveHandler) and thread.ws.token == client.http.token:
            thread.stop()


def _quiet() -> None:
    """Keep discord.py from logging what is logged here in our own words, or must not be logged.

    Its client logs a traceback for each failed attempt to connect; its http and webhook loggers
    write URLs, which hold the tokens of interactions. A level that somebody set stays.
    """
    levels = {
        "discord": logging.WARNING,
        "discord.client": logging.CRITICAL,
        "discord.http": logging.ERROR,
        "discord.shard": logging.CRITICAL,
        "discord.webhook.async": logging.ERROR,
    }
    for name, level in levels.items():
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(level)
