"""The published rate limits of the platforms, for stand-ins that refuse what is over them.

Nothing here knows how the bot keeps to them: it counts what arrives.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Rule(Protocol):
    def wait(self, now: float) -> float:
        """Seconds until one more is within the limit; 0 for now."""
        ...

    def count(self, now: float) -> None: ...


@dataclass
class InAnySpan:
    """So many in any span of so many seconds."""

    most: int
    seconds: float
    _times: deque[float] = field(default_factory=deque)

    def wait(self, now: float) -> float:
        while self._times and self._times[0] <= now - self.seconds:
            self._times.popleft()
        if len(self._times) < self.most:
            return 0.0
        return self._times[0] + self.seconds - now

    def count(self, now: float) -> None:
        self._times.append(now)


@dataclass
class Bursts:
    """One a second, and so many at once where nothing was said before."""

    burst: int
    _left: float = math.nan
    _seen: float = 0.0

    def _refill(self, now: float) -> None:
        full = float(self.burst)
        self._left = full if math.isnan(self._left) else min(full, self._left + (now - self._seen))
        self._seen = now

    def wait(self, now: float) -> float:
        self._refill(now)
        # Told with six digits: what was 1.0 once must not become a hair less by counting.
        return max(0.0, round(1.0 - self._left, 6))

    def count(self, now: float) -> None:
        self._refill(now)
        self._left -= 1.0


@dataclass
class Limits:
    """Which rules hold for which requests, and how often they were broken."""

    refused: list[tuple[Hashable, float]] = field(default_factory=list)
    """Key and seconds to wait, of every 429."""
    peak: int = 0
    """The most that were let through in any one second."""
    _rules: dict[Hashable, Rule] = field(default_factory=dict)
    _to_hold: dict[Hashable, float] = field(default_factory=dict)
    _held: dict[Hashable, float] = field(default_factory=dict)
    _recent: deque[float] = field(default_factory=deque)

    def hold(self, chat: Hashable, seconds: float) -> None:
        """Refuse all that is said in a chat, for so long from the first of it."""
        self._to_hold[chat] = seconds

    def refuse(self, chat: Hashable, rules: Sequence[tuple[Hashable, Callable[[], Rule]]]) -> float:
        """Seconds to wait, where it is over a limit; else 0, and it is counted."""
        now = time.monotonic()
        if chat in self._to_hold:
            self._held[chat] = now + self._to_hold.pop(chat)
        held = max(0.0, self._held.get(chat, now) - now)
        for key, make in rules:
            if key not in self._rules:
                self._rules[key] = make()
        waits = {key: self._rules[key].wait(now) for key, _ in rules}
        over = max([held, *waits.values()])
        if over > 0:
            key = next((key for key, wait in waits.items() if wait == over), chat)
            self.refused.append((key, over))
            return over
        for key, _ in rules:
            self._rules[key].count(now)
        self._recent.append(now)
        while self._recent[0] <= now - 1.0:
            self._recent.popleft()
        self.peak = max(self.peak, len(self._recent))
        return 0.0


@dataclass
class TelegramLimits(Limits):
    """In a chat one message a second, and bursts where some are given; 20 a minute in a group; 30
    a second in all. Edits and drafts are counted like messages, typing for itself."""

    burst: int = 1

    def check(self, method: str, params: dict[str, Any]) -> float:
        if not method.startswith(("send", "editMessage")):
            return 0.0
        chat = params.get("chat_id")
        kind = method if method == "sendChatAction" else "message"
        rules: list[tuple[Hashable, Callable[[], Rule]]] = [
            ("all", lambda: InAnySpan(30, 1.0)),
            ((chat, kind), lambda: Bursts(self.burst)),
        ]
        if str(chat).startswith(("-", "@")):
            rules.append(((chat, kind, "minute"), lambda: InAnySpan(20, 60.0)))
        return self.refuse(chat, rules)


@dataclass
class DiscordLimits(Limits):
    """50 requests a second in all, but for answers to interactions; 5 in 5 seconds for each kind of
    request in a channel."""

    def check(self, method: str, path: str) -> float:
        parts = path.strip("/").split("/")
        if parts[0] in ("interactions", "webhooks"):
            return 0.0
        rules: list[tuple[Hashable, Callable[[], Rule]]] = [("all", lambda: InAnySpan(50, 1.0))]
        if parts[0] == "channels" and method != "GET":
            kind = (parts[1], method, parts[2] if len(parts) > 2 else "")
            rules.append((kind, lambda: InAnySpan(5, 5.0)))
        return self.refuse(parts[1] if len(parts) > 1 else "", rules)
