"""How fast a platform lets a bot speak, and who may go next. Pure: the clock is given.

A place is taken from when a request begins until some time after it ended. The platform counts it
somewhere in between, so however long requests travel, no span of the platform's own ever holds
more than its limit.

What is published in all holds for what nobody waits for. For answers it is where `Whole` begins:
it tries one more at a time while nothing is refused, and halves where something is.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from adapters.events import Conversation

MESSAGES = ("post", "edit", "draft")
MANY = 1_000
"""Chats that are kept before those that are silent are thrown away."""
LEAST = 1.0
"""Places in all that a platform which keeps refusing leaves."""
CAUTION = 60.0
"""Seconds after a refusal in which what was refused is not tried again."""
BELOW = 0.75
"""Of the count that was refused, the part that is used meanwhile, where that is more than is
published. Ours is counted while requests travel too, so it is above the platform's own."""


class Urgency(IntEnum):
    """Who goes first."""

    ANSWER = 0
    """Somebody waits for it."""
    NOTICE = 1
    """It is to arrive, and nobody waits for it."""
    FLEETING = 2
    """It is shown now or not at all."""


@dataclass(frozen=True, slots=True)
class Limit:
    count: int
    seconds: float
    """In any span of so many seconds, no more than `count`."""
    kept: int = 0
    """Places that signs of life leave free; in a chat, notices do too."""

    def part(self, part: float) -> "Limit":
        """Of processes that share it, what one may use: at least one place."""
        count = max(int(self.count * part), 1)
        return Limit(count, self.seconds, min(int(self.kept * part), count - 1))


@dataclass(frozen=True, slots=True)
class Bursts:
    """So many at once, and one more for each span that passes."""

    count: int
    seconds: float
    """Of the span."""
    kept: int = 0
    """Places that signs of life and notices leave free."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What a platform allows a bot."""

    private: tuple[Limit | Bursts, ...]
    """In one private chat."""
    group: tuple[Limit | Bursts, ...]
    """In one chat of several people, with all its topics."""
    whole: Limit
    """In all."""
    groups: re.Pattern[str]
    """Which chats are groups, by their ids."""
    apart: bool = False
    """New messages and edits are counted each for themselves. What is neither always is."""
    learns: bool = False
    """Answers may be more than `whole`, as long as nothing is refused."""


class Window:
    """What was sent under a limit of so many in any span."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._running = 0
        self._ended: deque[float] = deque()

    def used(self, now: float) -> int:
        while self._ended and self._ended[0] + self.limit.seconds <= now:
            self._ended.popleft()
        return self._running + len(self._ended)

    def wait(self, now: float, most: int) -> float:
        """Seconds until one more makes no more than `most`; infinite where one that runs must end
        first."""
        short = self.used(now) + 1 - most
        if short <= 0:
            return 0.0
        if short > len(self._ended):
            return math.inf
        return self._ended[short - 1] + self.limit.seconds - now

    def wait_in_chat(self, now: float, urgency: Urgency) -> float:
        limit = self.limit
        return self.wait(now, limit.count - (limit.kept if urgency else 0))

    def take(self) -> None:
        self._running += 1

    def end(self, now: float) -> None:
        self._running -= 1
        self._ended.append(now)

    def unused(self, now: float) -> bool:
        return not self.used(now)

    def refused(self, now: float) -> bool:
        return False


class BurstWindow:
    """What was sent under a limit that lets bursts through."""

    def __init__(self, limit: Bursts) -> None:
        self.limit = limit
        self._running = 0
        self._full = -math.inf
        """When all places are free again, should nothing more end."""
        self._wary = -math.inf
        """Until then there are no bursts."""

    def wait_in_chat(self, now: float, urgency: Urgency) -> float:
        limit = self.limit
        count = 1 if now < self._wary else limit.count
        spare = count - 1 - (min(limit.kept, count - 1) if urgency else 0)
        if self._running > spare:
            return math.inf
        return max(self._full - (spare - self._running) * limit.seconds - now, 0.0)

    def take(self) -> None:
        self._running += 1

    def end(self, now: float) -> None:
        self._running -= 1
        self._full = max(self._full, now) + self.limit.seconds

    def unused(self, now: float) -> bool:
        return not self._running and self._full <= now and self._wary <= now

    def refused(self, now: float) -> bool:
        """The platform refuses one that runs; whether it was more than one in a span. Then there
        are no bursts for a while."""
        burst = self._running > 1 or self._full > now
        if burst:
            self._wary = now + CAUTION
        return burst


@dataclass(slots=True)
class _Chat:
    windows: tuple[Window | BurstWindow, ...]
    blocked: float = -math.inf
    """The platform asks to wait until then."""

    def wait(self, now: float, urgency: Urgency) -> float:
        waits = [window.wait_in_chat(now, urgency) for window in self.windows]
        return max(self.blocked - now, *waits, 0.0)


class Whole:
    """What was sent in all chats, and how much may be."""

    def __init__(self, limit: Limit, *, learns: bool) -> None:
        self.limit = limit
        self.blocked = -math.inf
        self.count = float(limit.count)
        """What answers may be, of all processes together: as many were taken already."""
        self._window = Window(limit)
        self._learns = learns
        self._trying = False
        """One that is more than `count` is under way."""
        self._cap, self._cap_until = math.inf, -math.inf

    def wait(self, now: float, urgency: Urgency, part: float, ahead: int = 0) -> float:
        """`part`: of what is allowed that is ours. `ahead`: places that others need first."""
        limit, own = self.limit.part(part), self._own(part)
        match urgency:
            case Urgency.ANSWER:
                most = own + 1 if self._may_try(now) else own
            case Urgency.NOTICE:
                most = min(limit.count, own)
            case Urgency.FLEETING:
                most = min(limit.count, own) - limit.kept - ahead
        return max(self._window.wait(now, most), self.blocked - now, 0.0)

    def take(self, now: float, urgency: Urgency, part: float) -> Callable[[float, bool], None]:
        """What it returns is to be called when the request has ended: with the time then, and
        whether it was accepted."""
        window, tries = self._window, False
        if urgency is Urgency.ANSWER and window.used(now) >= self._own(part):
            tries = self._trying = True
        window.take()

        def end(then: float, accepted: bool) -> None:
            window.end(then)
            if tries:
                self._trying = False
            if tries and accepted and self._cap_until < then:
                self._cap = math.inf
            if tries and accepted and self.count + 1 / part <= self._cap:
                self.count += 1 / part

        return end

    def stretched(self, now: float, part: float) -> bool:
        """Whether more is under way than is published."""
        return self._learns and self._window.used(now) > self.limit.part(part).count

    def refused(self, now: float, part: float) -> None:
        """Halve. What is used beyond what is published is not tried again for a while."""
        used = self._window.used(now) / part
        if self.stretched(now, part):
            self.count = min(self.count, used)
            self._cap = max(used * BELOW, self.limit.count)
            self._cap_until = now + CAUTION
        self.count = max(self.count / 2, LEAST)

    def block(self, until: float) -> None:
        self.blocked = max(self.blocked, until)

    def _own(self, part: float) -> int:
        return max(int(self.count * part + 1e-9), 1)

    def _may_try(self, now: float) -> bool:
        if not self._learns and self.count >= self.limit.count:
            return False
        return not self._trying and (now > self._cap_until or self.count + 1 <= self._cap)


@dataclass(slots=True)
class Pacer:
    """Keeps the count of one platform. Whoever takes a place ends it, once."""

    rates: Rates
    clock: Callable[[], float]
    part: Callable[[], float] = lambda: 1.0
    """How much of what the platform allows in all is ours; other processes have the rest."""
    whole: Whole = field(init=False)
    _chats: dict[tuple[str, str], _Chat] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.whole = Whole(self.rates.whole, learns=self.rates.learns)

    def wait(
        self, to: Conversation, kind: str, urgency: Urgency = Urgency.ANSWER, ahead: int = 0
    ) -> float:
        """Seconds until something may be sent; 0 for now, infinite where that is not known.
        `ahead`: places in all that others need first."""
        whole = self.whole.wait(self.clock(), urgency, self.part(), ahead)
        return max(self.wait_in_chat(to, kind, urgency), whole)

    def wait_in_chat(self, to: Conversation, kind: str, urgency: Urgency) -> float:
        """The same, were there room for all other chats."""
        return self._chat(to, kind).wait(self.clock(), urgency)

    def held(self, to: Conversation, kind: str) -> float:
        """Seconds for which the platform has asked to wait."""
        until = max(self._chat(to, kind).blocked, self.whole.blocked)
        return max(until - self.clock(), 0.0)

    def take(
        self, to: Conversation, kind: str, urgency: Urgency = Urgency.ANSWER
    ) -> Callable[[bool], None]:
        """Take a place; to be called when the request has ended, with whether it was accepted."""
        windows = self._chat(to, kind).windows
        for window in windows:
            window.take()
        of_all = self.whole.take(self.clock(), urgency, self.part())

        def end(accepted: bool) -> None:
            now = self.clock()
            of_all(now, accepted)
            for window in windows:
                window.end(now)

        return end

    def refused(self, to: Conversation, kind: str, seconds: float, *, everywhere: bool) -> None:
        """The platform asks to wait; to be called before the request's place is given back.

        Telegram does not say which of its limits it means. It is taken for the one that is used
        beyond what is published: a burst in that chat, else all that is said. Where none is, it is
        taken for something in that chat.
        """
        now, part, chat = self.clock(), self.part(), self._chat(to, kind)
        burst = [window.refused(now) for window in chat.windows]
        stretched = everywhere or self.whole.stretched(now, part)
        if stretched:
            self.whole.refused(now, part)
        if everywhere or (stretched and not any(burst)):
            self.whole.block(now + seconds)
        if not everywhere:
            chat.blocked = max(chat.blocked, now + seconds)

    def _chat(self, to: Conversation, kind: str) -> _Chat:
        counted = "message" if kind in MESSAGES and not self.rates.apart else kind
        key = (to.chat, counted)
        chat = self._chats.get(key)
        if chat is None:
            if len(self._chats) >= MANY:
                self._tidy()
            in_group = self.rates.groups.fullmatch(to.chat) is not None
            limits = self.rates.group if in_group else self.rates.private
            chat = self._chats[key] = _Chat(tuple(map(_window, limits)))
        return chat

    def _tidy(self) -> None:
        now = self.clock()
        for key in list(_idle(self._chats, now)):
            del self._chats[key]


def _window(limit: Limit | Bursts) -> Window | BurstWindow:
    return Window(limit) if isinstance(limit, Limit) else BurstWindow(limit)


def _idle(chats: dict[tuple[str, str], _Chat], now: float) -> Iterator[tuple[str, str]]:
    for key, chat in chats.items():
        if chat.blocked <= now and all(window.unused(now) for window in chat.windows):
            yield key
