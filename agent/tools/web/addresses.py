"""Which addresses of the internet are public. Pure.

The tables are our own, from IANA's registries of special addresses: what Python's `ipaddress` calls
global has changed between its versions. What is refused that might have been let through is a page
that is not read; the other way round it is somebody's router.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_PRIVATE = "an address of a private network"
_LOCAL = "this machine itself"
_METADATA = "an address of a cloud's own services"
_LINK = "an address of the local link, where clouds answer with credentials"
_RESERVED = "a reserved address"
_MANY = "an address of many machines at once"
_TUNNEL = "an IPv6 address that stands for an IPv4 one"

_V4 = tuple(
    (IPv4Network(network), words)
    for network, words in (
        ("0.0.0.0/8", _LOCAL),
        ("10.0.0.0/8", _PRIVATE),
        ("100.64.0.0/10", _PRIVATE),
        ("127.0.0.0/8", _LOCAL),
        ("168.63.129.16/32", _METADATA),
        ("169.254.0.0/16", _LINK),
        ("172.16.0.0/12", _PRIVATE),
        ("192.0.0.0/24", _RESERVED),
        ("192.0.2.0/24", _RESERVED),
        ("192.31.196.0/24", _RESERVED),
        ("192.52.193.0/24", _RESERVED),
        ("192.88.99.0/24", _RESERVED),
        ("192.168.0.0/16", _PRIVATE),
        ("192.175.48.0/24", _RESERVED),
        ("198.18.0.0/15", _PRIVATE),
        ("198.51.100.0/24", _RESERVED),
        ("203.0.113.0/24", _RESERVED),
        ("224.0.0.0/4", _MANY),
        ("240.0.0.0/4", _RESERVED),
    )
)
_V6 = tuple(
    (IPv6Network(network), words)
    for network, words in (
        ("::/128", _LOCAL),
        ("::1/128", _LOCAL),
        ("::/96", _TUNNEL),
        ("::ffff:0:0/96", _TUNNEL),
        ("::ffff:0:0:0/96", _TUNNEL),
        ("64:ff9b:1::/48", _TUNNEL),
        ("2001::/32", _TUNNEL),
        ("2001::/23", _RESERVED),
        ("2001:db8::/32", _RESERVED),
        ("2002::/16", _TUNNEL),
        ("2620:4f:8000::/48", _RESERVED),
        ("3fff::/20", _RESERVED),
        ("fc00::/7", _PRIVATE),
        ("fe80::/10", _LINK),
        ("fec0::/10", _PRIVATE),
        ("ff00::/8", _MANY),
    )
)
_UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 that is given out."""
_NAT64 = IPv6Network("64:ff9b::/96")
"""How networks without IPv4 reach it: what stands in the last four bytes is where it goes."""


def refusal(address: str) -> str | None:
    """What an address is, in words, where nothing may be fetched from it; None for a public one."""
    try:
        found = ip_address(address)
    except ValueError:
        return "no address"
    return _refused_v4(found) if isinstance(found, IPv4Address) else _refused_v6(found)


def _refused_v4(address: IPv4Address) -> str | None:
    return next((words for network, words in _V4 if address in network), None)


def _refused_v6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return _LINK
    if address in _NAT64:
        return _refused_v4(IPv4Address(int(address) & 0xFFFF_FFFF))
    words = next((words for network, words in _V6 if address in network), None)
    return words if words is not None or address in _UNICAST else _RESERVED
