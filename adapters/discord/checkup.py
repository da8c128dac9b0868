"""A look at a Discord bot before it serves: its token, and what it is let hear. It opens no session
and registers nothing."""

from dataclasses import replace

import aiohttp

from adapters.checkup import Checkup, Clock
from adapters.discord.adapter import DiscordAdapter


async def check(token: str, api_base: str, gateway_url: str | None = None) -> Checkup:
    """Misconfigured where the token is wrong; Unavailable where Discord is not there."""
    clock = Clock()

    async def look(
        _session: aiohttp.ClientSession, _context: object, seen: aiohttp.TraceRequestEndParams
    ) -> None:
        clock.look(seen.response.headers.get("Date", ""))

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(look)
    found = await DiscordAdapter(token, api_base, gateway_url).look(trace)
    return replace(found, clock_ahead=clock.ahead)
