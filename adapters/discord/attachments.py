"""Fetching what people attached, from Discord's own hosts and nowhere else."""

import aiohttp
import yarl

from adapters.base import Refused, Throttled, Unavailable
from adapters.discord.rest import adapter_error

_HOSTS = frozenset(
    {yarl.URL("https://cdn.discordapp.com"), yarl.URL("https://media.discordapp.net")}
)
_SECONDS = 60.0
_CHUNK = 1 << 16
_RETRY_AFTER_SECONDS = 5.0


async def fetch(ref: str, limit: int, api_base: str) -> bytes:
    """The content at the URL of an attachment. Raises AdapterError.

    The URL is its own permission, so the bot's token is not sent. Besides Discord's hosts for
    attachments there is that of `api_base`: a Discord elsewhere has its attachments there too.
    """
    url = _checked(ref, api_base)
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    # As it was attached: what is compressed on the way could be of any size when it is not.
    headers = {"Accept-Encoding": "identity"}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
            # A redirect could lead to any host.
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            _check_status(response)
            return await _read(response, limit)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise adapter_error(error) from error


def _checked(ref: str, api_base: str) -> yarl.URL:
    try:
        url = yarl.URL(ref)
        known = url.origin() in _HOSTS | {yarl.URL(api_base).origin()} and url.user is None
    except ValueError:
        known = False
    if not known:
        raise Refused("that is not a file on Discord; attach it to a message")
    return url


def _check_status(response: aiohttp.ClientResponse) -> None:
    match response.status:
        case 200:
            return
        case 429:
            header = response.headers.get("Retry-After", "")
            raise Throttled(float(header) if header.isdecimal() else _RETRY_AFTER_SECONDS)
        case 403 | 404 | 410:
            raise Refused("the file is not on Discord any more; attach it again")
        case status if status >= 500:
            raise Unavailable(f"Discord's file host answers {status}")
        case status:
            raise Refused(f"Discord's file host answers {status}; attach the file again")


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    too_big = Refused(f"the file is too big: more than {limit:,} bytes")
    if (response.content_length or 0) > limit:
        raise too_big
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        content += chunk
        if len(content) > limit:
            raise too_big
    return bytes(content)
