"""How fast a platform lets a bot speak, and who may go next. Pure: the clock is given.

A place in a window is taken from when a request begins until `seconds` after it ended. The platform
counts it somewhere in between, so however long requests travel, no window of the platform's own
ever holds more than its limit.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from adapters.events import Conversation

MESSAGES = ("post", "edit", "draft")
MANY = 1_000
"""Windows that are kept before those that nobody needs are thrown away."""


@dataclass(frozen=True, slots=True)
class Limit:
    count: int
    seconds: float
    """In any span of so many seconds, no more than `count`."""
    kept: int = 0
    """Places that only what lasts may take: signs of life leave them free."""

    def part(self, part: float) -> "Limit":
        """Of processes that share it, what one may use: at least one place."""
        count = max(int(self.count * part), 1)
        return Limit(count, self.seconds, min(int(self.kept * part), count - 1))


@dataclass(frozen=True, slots=True)
class Rates:
    """What a platform allows a bot."""

    private: tuple[Limit, ...]
    """In one private chat."""
    group: tuple[Limit, ...]
    """In one chat of several people, with all its topics."""
    whole: tuple[Limit, ...]
    """In all."""
    groups: re.Pattern[str]
    """Which chats are groups, by their ids."""
    apart: bool = False
    """New messages and edits are counted each for themselves. What is neither always is."""


class Window:
    """What was sent under one limit."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._running = 0
        self._ended: deque[float] = deque()

    def wait(self, now: float, *, fleeting: bool, part: float = 1.0) -> float:
        """Seconds until there is a place; infinite where one that runs must end first. `part`: of
        the limit that is ours, the rest being other processes'."""
        limit = self.limit if part >= 1.0 else self.limit.part(part)
        while self._ended and self._ended[0] + limit.seconds <= now:
            self._ended.popleft()
        used = self._running + len(self._ended)
        short = used + 1 - (limit.count - (limit.kept if fleeting else 0))
        if short <= 0:
            return 0.0
        if short > len(self._ended):
            return math.inf
        return self._ended[short - 1] + limit.seconds - now

    def take(self) -> None:
        self._running += 1

    def end(self, now: float) -> None:
        self._running -= 1
        self._ended.append(now)

    @property
    def unused(self) -> bool:
        return not (self._running or self._ended)


@dataclass(slots=True)
class _Chat:
    windows: tuple[Window, ...]
    blocked: float = -math.inf
    """The platform asks to wait until then."""

    def wait(self, now: float, *, fleeting: bool, part: float = 1.0) -> float:
        waits = [window.wait(now, fleeting=fleeting, part=part) for window in self.windows]
        return max(self.blocked - now, *waits, 0.0)


@dataclass(slots=True)
class Pacer:
    """Keeps the count of one platform. Whoever takes a place ends it, once."""

    rates: Rates
    clock: Callable[[], float]
    part: Callable[[], float] = lambda: 1.0
    """How much of what the platform allows in all is ours; other processes have the rest."""
    _whole: _Chat = field(init=False)
    _chats: dict[tuple[str, str], _Chat] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._whole = _Chat(tuple(map(Window, self.rates.whole)))

    def wait(self, to: Conversation, kind: str, *, fleeting: bool = False) -> float:
        """Seconds until something may be sent; 0 for now, infinite where that is not known."""
        here = self._chat(to, kind).wait(self.clock(), fleeting=fleeting)
        return max(here, self.wait_of_all(fleeting=fleeting))

    def wait_of_all(self, *, fleeting: bool = False) -> float:
        """The same, whatever the chat."""
        return self._whole.wait(self.clock(), fleeting=fleeting, part=self.part())

    def take(self, to: Conversation, kind: str) -> Callable[[], None]:
        """Take a place; to be called when the request has ended, however it did."""
        windows = (*self._whole.windows, *self._chat(to, kind).windows)
        for window in windows:
            window.take()

        def end() -> None:
            now = self.clock()
            for window in windows:
                window.end(now)

        return end

    def block(self, to: Conversation, kind: str, seconds: float, *, everywhere: bool) -> None:
        """The platform asks to wait, all the same: in that chat, or everywhere."""
        chat = self._whole if everywhere else self._chat(to, kind)
        chat.blocked = max(chat.blocked, self.clock() + seconds)

    def _chat(self, to: Conversation, kind: str) -> _Chat:
        counted = "message" if kind in MESSAGES and not self.rates.apart else kind
        key = (to.chat, counted)
        chat = self._chats.get(key)
        if chat is None:
            if len(self._chats) >= MANY:
                self._tidy()
            in_group = self.rates.groups.fullmatch(to.chat) is not None
            limits = self.rates.group if in_group else self.rates.private
            chat = self._chats[key] = _Chat(tuple(map(Window, limits)))
        return chat

    def _tidy(self) -> None:
        now = self.clock()
        for key in list(_idle(self._chats, now)):
            del self._chats[key]


def _idle(chats: dict[tuple[str, str], _Chat], now: float) -> Iterator[tuple[str, str]]:
    for key, chat in chats.items():
        chat.wait(now, fleeting=False)  # forgets what is long past
        if chat.blocked <= now and all(window.unused for window in chat.windows):
            yield key
