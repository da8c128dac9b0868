"""What a network library says of a failed connection, in words for people. Pure."""

import re

_KNOWN = (
    (
        re.compile(
            r"name or service not known|name resolution|nodename nor servname|"
            r"no address associated|getaddrinfo|getnameinfo",
            re.IGNORECASE,
        ),
        "its name cannot be looked up; check the network of this machine, and the address where "
        "one is set",
    ),
    (
        re.compile(r"certificate|\[ssl: |wrong version number", re.IGNORECASE),
        "its certificate is not trusted; check the address, this machine's clock and its "
        "certificates",
    ),
    (
        re.compile(r"unreachable|no route", re.IGNORECASE),
        "this machine has no way there; check its network",
    ),
    (
        re.compile(r"refused|all connection attempts failed|cannot connect", re.IGNORECASE),
        "nothing answers at that address; check it, and the network",
    ),
)
_CLASS = re.compile(r"\A(?:[\w.]+\.)?\w+(?:Error|Exception): ")
_NUMBER = re.compile(r"\[Errno -?\d+\] ?")


def network_words(said: str) -> str:
    """The cause and what to do, where it is a known one; else the same without names of classes
    and numbers of errors."""
    for pattern, words in _KNOWN:
        if pattern.search(said):
            return words
    return _NUMBER.sub("", _CLASS.sub("", said)).strip() or "the connection was cut"
