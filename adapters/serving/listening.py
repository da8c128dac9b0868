"""Where a server of ours listens: "HOST:PORT", as the configuration writes it."""

import ipaddress
import re
from dataclasses import dataclass

_SHAPE = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9.-]+)):(?P<port>[0-9]{1,5})"
)


@dataclass(frozen=True, slots=True)
class Listen:
    host: str
    port: int

    @property
    def everywhere(self) -> bool:
        """At all addresses, of IPv4 and of IPv6."""
        return ":" in self.host and ipaddress.IPv6Address(self.host).is_unspecified

    @classmethod
    def parse(cls, text: str) -> "Listen":
        """ValueError, for who wrote it."""
        found = _SHAPE.fullmatch(text)
        port = int(found["port"]) if found else -1
        if not found or port > 65_535:
            raise ValueError(
                'must be "HOST:PORT", like "127.0.0.1:8443", or "[::1]:8443" with IPv6'
            )
        if found["six"]:
            try:
                ipaddress.IPv6Address(found["six"])
            except ValueError:
                raise ValueError(f"[{found['six']}] is not an IPv6 address") from None
        return cls(found["six"] or found["host"], port)
