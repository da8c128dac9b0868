"""A URL read strictly: what a browser would mend, or two programs read differently, is refused.
Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.parse import quote as percent

import idna

from agent.errors import ToolError
from agent.text.untrusted import quote

LONGEST_URL = 4_000
"""Characters."""
PORTS = {"http": 80, "https": 443}
_LOWEST_FREE = 1_024
"""Below it, ports are those of well-known services: 80 and 443 are the web's."""
_OTHER_SERVICES = frozenset(
    int(port)
    for port in re.findall(
        r"\d+",
        "1719 1720 1723 2049 3306 3389 3659 4045 4190 5060 5061 5432 5900 6000 6379 6566 6665 6666 "
        "6667 6668 6669 6679 6697 9100 10080 11211 27017",
    )
)
"""What listens there speaks something else, and might take a request for its own commands."""
_BROKEN = re.compile(r"[\x00-\x20\x7f-\x9f\\\u2028\u2029\ud800-\udfff]")
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z")
_KEPT = "!$&'()*+,;=:@/?%~-._[]"
"""Of the path and the query, what is sent as it stands; the rest is escaped."""
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_HIDDEN_STEP = re.compile(r"(?:%2f|%5c)\.\.|\.\.(?:%2f|%5c)", re.IGNORECASE)
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
"""What means the same whether it is escaped or not (RFC 3986): rules see it as it is."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes."""

    scheme: str
    """"http" or "https"."""
    host: str
    """A name in its ASCII form, in small letters and without a dot at its end, or an address in its
    usual form, IPv6 without brackets."""
    port: int
    path: str
    """With the query, ready to be sent: one and the same for all ways of writing it."""

    @property
    def authority(self) -> str:
        """As the Host header has it: the port only where it is not the scheme's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Hosts that may be private: those that the operator names."""

    hosts: frozenset[str]
    """On every port."""
    places: frozenset[tuple[str, int]]

    def covers(self, host: str, port: int) -> bool:
        return host in self.hosts or (host, port) in self.places


def allowed_hosts(entries: Iterable[str]) -> Allowed:
    """Of "host" and "host:port", IPv6 in brackets. ToolError for what is neither."""
    hosts, places = set(), set()
    for entry in entries:
        parts = _split(f"http://{entry}/")
        if parts.path != "/" or "@" in entry or entry.endswith(":"):
            raise ToolError(f"{quote(entry)}: is not a host or host:port")
        host = _host(parts.hostname or "", entry)
        if parts.port is None:
            hosts.add(host)
        else:
            places.add((host, parts.port))
    return Allowed(frozenset(hosts), frozenset(places))


NOBODY = Allowed(frozenset(), frozenset())


def parse_url(text: str, base: Target | None = None, allowed: Allowed | None = NOBODY) -> Target:
    """Where a URL leads; with `base`, as a redirect from there is meant.

    ToolError, in words for a model, where that is no http or https URL, holds a user name, or names
    a port that is not for web pages and that `allowed` does not name; None allows every port.
    """
    text = text.strip(" \t\r\n")
    if len(text) > LONGEST_URL:
        raise ToolError(f"the URL has more than {LONGEST_URL:,} characters; nothing was fetched")
    if _BROKEN.search(text):
        raise ToolError(
            f"{quote(text)}: a URL has no spaces, line breaks or backslashes; write a space as %20"
        )
    if base is not None:
        text = _joined(base, text)
    parts = _split(text)
    if parts.scheme not in PORTS:
        raise ToolError(f"{quote(text)}: only http:// and https:// can be fetched")
    if "@" in parts.netloc:
        raise ToolError(f"{quote(parts.netloc)}: a user name in a URL is refused; take it out")
    host = _host(parts.hostname or "", text)
    port = parts.port if parts.port is not None else PORTS[parts.scheme]
    if allowed is not None and not allowed.covers(host, port):
        _check_port(port)
    path = _without_dots(_sendable(parts.path or "/"))
    if _HIDDEN_STEP.search(path):
        # One server reads a step up here, another a name: a rule could not say which is meant.
        raise ToolError(
            f"{quote(text)}: an escaped slash beside .. is refused; write the path plain"
        )
    path += f"?{_sendable(parts.query)}" if parts.query else ""
    return Target(parts.scheme, host, port, path)


def _joined(base: Target, text: str) -> str:
    try:
        return urljoin(base.url, text)
    except ValueError:
        raise ToolError(f"{quote(text)}: is not a URL") from None


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ToolError(f"{quote(text)}: is not a URL") from None
    return parts


def _check_port(port: int) -> None:
    if port in PORTS.values() or (port >= _LOWEST_FREE and port not in _OTHER_SERVICES):
        return
    raise ToolError(f"port {port} is not one of web pages, so it is refused")


def _host(given: str, text: str) -> str:
    """The host in the one form that is looked up, compared and connected to."""
    if not given:
        raise ToolError(f"{quote(text)}: names no host; write it like https://example.org/page")
    if ":" in given:
        return _literal(given)
    if "%" in given:
        raise ToolError(f"{quote(given)}: is not the name of a host")
    host = _ascii(given).removesuffix(".")
    if not _NAME.match(host):
        raise ToolError(f"{quote(given)}: is not the name of a host")
    if _NUMBER.match(host.rpartition(".")[2]):
        # What else a browser would read as an address: 2130706433, 0x7f.1, 127.1, 0177.0.0.1.
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise ToolError(
                f"{quote(given)}: write an address as four plain numbers, like 192.0.2.1"
            ) from None
    return host


def _literal(given: str) -> str:
    try:
        return str(IPv6Address(given))
    except ValueError:
        raise ToolError(f"{quote(given)}: is not an address") from None


def _ascii(name: str) -> str:
    if name.isascii():
        return name.lower()
    try:
        return idna.encode(name, uts46=True).decode("ascii").lower()
    except idna.IDNAError:
        raise ToolError(f"{quote(name)}: is not the name of a host") from None


def _sendable(text: str) -> str:
    return _ESCAPED.sub(_plain, percent(text, safe=_KEPT))


def _plain(escaped: re.Match[str]) -> str:
    character = chr(int(escaped[1], 16))
    return character if _UNRESERVED.fullmatch(character) else escaped[0].upper()


def _without_dots(path: str) -> str:
    """A path that begins with a slash, without `.` and `..`, which servers follow."""
    kept: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part != ".":
            kept.append(part)
    if parts[-1] in (".", ".."):
        kept.append("")
    return f"/{'/'.join(kept)}"
