"""How work is divided among processes: pure, with the numbers given."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from adapters.platforms import PLATFORMS

BUCKETS = tuple(f"deliver:{number}" for number in range(32))
"""Parts of all conversations, each of which one process sends to."""


@dataclass(frozen=True, slots=True)
class Share:
    """Duties of a kind, of which each process that takes part has as many as the others."""

    names: tuple[str, ...]
    partners: str
    """What precedes the name of a process in the lease by which it takes part."""

    def fair(self, processes: int) -> int:
        """How many one of so many processes has at the most."""
        return math.ceil(len(self.names) / max(processes, 1))


DELIVERY = Share(BUCKETS, "delivers:")
CLOCK = Share(("clock",), "keeps the clock:")
"""To begin at their times what is scheduled and what a question's policy makes due, and to forget
people."""


def receiving(platform: str, feeds: tuple[str, ...]) -> Share:
    """Of what a platform tells: each of its feeds is one process's at a time."""
    return Share(feeds, f"receives:{platform}:")


def own_of(platform: str) -> Share:
    """To send to a platform that is there for one process alone."""
    return Share((f"deliver:{platform}",), f"delivers to {platform}:")


def bucket_of(queue: str) -> str:
    """Whose turn it is to send what waits under a name, the address of a conversation mostly: the
    same in every process, for ever, and for all topics of a chat, because a platform counts what is
    sent to them together."""
    chat = queue.partition("/")[0]
    platform = chat.partition(":")[0]
    if platform in PLATFORMS and PLATFORMS[platform].local:
        return f"deliver:{platform}"
    return BUCKETS[crc32(chat.encode()) % len(BUCKETS)]


def surplus(mine: Sequence[str], fair: int, busy: frozenset[str], *, patient: bool) -> list[str]:
    """What to let go of: that of which nothing is under way. Who is patient no more lets go of the
    rest too."""
    count = max(len(mine) - fair, 0)
    idle = [name for name in mine if name not in busy]
    rest = [] if patient else [name for name in mine if name in busy]
    return (idle + rest)[:count]
