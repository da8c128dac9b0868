"""Taking updates in side by side, and yet in order: each waits only for those before it of the same
chat or the same person. To commit one takes milliseconds, and a database commits many at once.

What may change who may talk is taken in alone: presses, because nobody knows here what they do, and
the commands that say so of themselves. Others may take seconds (/import), and change nothing for
other chats.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from adapters.base import CommandSpec, Receive
from adapters.events import Message, Press, Unreadable, Update

AT_ONCE = 100
"""Updates that are taken in side by side; as many as Telegram tells of at once."""
_ALL = "all"
"""The line of those that are taken in alone."""
_NONE = re.compile(r"(?!)")

Alone = re.Pattern[str]
"""Of texts that are taken in alone."""


def of_rights(commands: Iterable[CommandSpec]) -> Alone:
    """Texts that are a command which may change who may talk."""
    names = "|".join(re.escape(one.name) for one in commands if one.rights)
    return re.compile(rf"/(?:{names})\b", re.IGNORECASE) if names else _NONE


class Lines:
    """Of chats and of people, in which updates stand one behind the other."""

    def __init__(self, alone: Alone = _NONE) -> None:
        self._alone = alone
        self._last: dict[str, asyncio.Event] = {}
        """Set once the last one in a line is through."""

    @asynccontextmanager
    async def turn(self, update: Update, *, ahead: bool = False) -> AsyncIterator[None]:
        """Stand in line from now on, and wait until those before are through. `ahead`: all that
        come after wait for it, as one line, though it does not wait for all that came before."""
        lines, through = lines_of(update), asyncio.Event()
        if ahead:
            lines.add(_ALL)
        if self._is_for_all(update):
            lines |= {_ALL, *self._last}
        before = {self._last[line] for line in (*lines, _ALL) if line in self._last}
        self._last |= dict.fromkeys(lines, through)
        try:
            for one in before:
                await one.wait()
            yield
        finally:
            through.set()
            for line in lines:
                if self._last.get(line) is through:  # one behind it may have left before
                    del self._last[line]

    def _is_for_all(self, update: Update) -> bool:
        match update:
            case Press():
                return True
            case Message(text=text):
                return self._alone.match(text) is not None
            case _:
                return False


class TakingIn:
    """Side by side, so many at once. Once one failed no other is begun: what comes after it would
    say that it was taken in."""

    def __init__(self, receive: Receive, alone: Alone = _NONE) -> None:
        self._receive = receive
        self._lines = Lines(alone)
        self._places = asyncio.Semaphore(AT_ONCE)
        self.failure: Exception | None = None
        """Of the first that failed."""

    async def take(self, update: Update, *, ahead: bool = False) -> None:
        """Returns once it is taken in. `ahead`: see Lines. Raises what kept it, or one that failed
        before, from it."""
        async with self._lines.turn(update, ahead=ahead), self._places:
            if self.failure is not None:
                raise self.failure
            try:
                await self._receive(update)
            except Exception as error:
                self.failure = self.failure or error
                raise


async def take_in(
    updates: Sequence[Update | None], receive: Receive, alone: Alone = _NONE
) -> tuple[int, Exception | None]:
    """How many from the first on are taken in, None being nothing to take in; and what kept the
    next one from it. The others come again, and twice is once."""
    taking = TakingIn(receive, alone)

    async def take(update: Update | None) -> bool:
        if update is None:
            return True
        try:
            await taking.take(update)
        except Exception:  # noqa: BLE001 - given to the caller
            return False
        return True

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(take(update)) for update in updates]
    taken = [task.result() for task in tasks]
    return (len(taken) if taking.failure is None else taken.index(False)), taking.failure


def lines_of(update: Update) -> set[str]:
    """Its chat, and who sent it."""
    conversation = update.conversation
    lines = {f"chat {conversation.platform}:{conversation.chat}"}
    return lines if isinstance(update, Unreadable) else lines | {f"person {update.user.identity}"}
