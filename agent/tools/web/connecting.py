"""Connections that lead only to where one may go.

A name is resolved once for a connection, every address is checked, and the connection is made to
the very address that was checked. So an answer that changes between the two does not matter.
"""

import asyncio
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from itertools import zip_longest
from typing import Any

import httpcore

from agent.errors import ToolError
from agent.text.untrusted import quote
from agent.tools.web.addresses import refusal
from agent.tools.web.resolving import Resolver
from agent.tools.web.urls import Allowed

CONNECT_SECONDS = 5.0
"""For each address."""
MOST_ADDRESSES = 4
"""That are tried."""


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Makes the connections of one request. `close` ends those that are left, also one that was
    cancelled in the middle of a handshake."""

    def __init__(
        self, resolver: Resolver, allowed: Allowed, wire: httpcore.AsyncNetworkBackend, whose: str
    ) -> None:
        self._resolver = resolver
        self._whose = whose
        self._allowed = allowed
        self._wire = wire
        self._open: list[httpcore.AsyncNetworkStream] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's signature)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """ToolError where one may not go there, or nobody answers."""
        trusted = self._allowed.covers(host, port)
        addresses = await self._checked(host, port, trusted=trusted)
        reasons = []
        for address in addresses[:MOST_ADDRESSES]:
            try:
                stream = await self._wire.connect_tcp(address, port, CONNECT_SECONDS)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                reasons.append(_reason(error))
                continue
            self._open.append(stream)
            if not trusted and _same_machine(stream):
                raise _forbidden(host, "this machine itself")
            return stream
        raise ToolError(f"{host}:{port} cannot be reached ({', '.join(dict.fromkeys(reasons))})")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's signature)
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise ToolError("sockets of this machine are not fetched from")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        while self._open:
            await self._open.pop().aclose()

    async def _checked(self, host: str, port: int, *, trusted: bool) -> Sequence[str]:
        """Addresses to connect to. One that is not public spoils the others: a name that answers
        with both is not an honest one."""
        if _is_address(host):
            addresses: Sequence[str] = [host]
        else:
            try:
                addresses = await self._resolver.addresses(host, port, self._whose)
            except OSError:
                raise ToolError(f"there is no host named {quote(host)}; check the URL") from None
        if not addresses:
            raise ToolError(f"{quote(host)} has no address")
        if not trusted:
            for address in addresses:
                if (words := refusal(address)) is not None:
                    raise _forbidden(host, words)
        return _in_turns(addresses)


def _in_turns(addresses: Sequence[str]) -> list[str]:
    """IPv6 and IPv4 alternate: where one of them leads nowhere, the other is not tried last."""
    first = ":" in addresses[0]
    same = [address for address in addresses if (":" in address) is first]
    other = [address for address in addresses if (":" in address) is not first]
    pairs = zip_longest(same, other)
    return [address for pair in pairs for address in pair if address is not None]


def _forbidden(host: str, words: str) -> ToolError:
    return ToolError(
        f"{quote(host)} leads to {words}; only public pages are fetched. "
        "An operator can name hosts that may be fetched all the same, under [web] allow."
    )


def _reason(error: Exception) -> str:
    if isinstance(error, httpcore.ConnectTimeout):
        return f"no answer within {CONNECT_SECONDS:g} s"
    return "the connection was refused" if "refused" in str(error).lower() else "no connection"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _same_machine(stream: httpcore.AsyncNetworkStream) -> bool:
    """Whether the other end is this machine under its public address: what listens there may trust
    whoever is on the same machine."""
    ends = [stream.get_extra_info(name) for name in ("client_addr", "server_addr")]
    return all(ends) and ends[0][0] == ends[1][0]
