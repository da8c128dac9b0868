"""Commands that another process of the gateway runs: what is seen of them, having them end, and
those whose process is gone. Each has a row that holds while its process lives, beside the one that
stays."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial

from agent.concurrency import within
from agent.tools.terminal.commands import Going, Seen
from agent.tools.terminal.sandbox.output import readable
from agent.tools.terminal.telling import TOLD
from storage.ephemeral import EphemeralRow
from storage.errors import StoreUnavailable
from storage.records.entries import Json
from storage.records.tools.commands import Command, CommandState
from storage.store import Store, Transaction

KIND = "command"
"""Of the rows."""
TOPIC = "commands"
"""Under which processes tell each other to end commands."""
EVERY = 2.0
"""Seconds between two changes of a row."""
PATIENCE = 3.0
"""Seconds to wait for another process to take notice."""
LONGEST_END = 15.0
"""Seconds to wait for the end of one command; it is killed well before."""
_LOOK_AGAIN = 1.0
_LOOK_EVERY = 0.1
_SAY_EVERY = 10
"""Looks."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What others see of a command."""

    line: str
    started: float
    background: bool
    last_line: str
    """For people: without secrets."""
    tail: str = ""
    """The end of its output, for its agent."""
    ending: str = ""
    """Why it is to end, where somebody said so."""

    @classmethod
    def of(cls, going: Going, command: Command, redact: Callable[[str], str]) -> "Shown":
        tail = (
            readable(going.output.since(max(going.output.total - TOLD, 0)))
            if going.wanted.background
            else ""
        )
        last = redact(going.output.last_line())
        return cls(command.line, command.started, command.background, last, tail, going.why)


@dataclass(frozen=True, slots=True)
class OtherCommands:
    """As the commands of this process are seen by others, so it sees theirs. With one process
    there are none, and nothing is written."""

    store: Store
    redact: Callable[[str], str]

    def begin(self, tx: Transaction, command: Command) -> None:
        """In the transaction that puts a command on record."""
        if self.store.jobs is not None:
            shown = Shown(command.line, command.started, command.background, "")
            self._put(tx, command, shown)

    def end(self, tx: Transaction, command: Command) -> None:
        """In the transaction that puts its end on record."""
        if self.store.jobs is not None:
            tx.ephemeral.drop(KIND, [str(command.id)], self.store.process)

    @asynccontextmanager
    async def following(self, going: Going) -> AsyncIterator[None]:
        """Let others see what a command says while the body runs it."""
        if self.store.jobs is None or (command := going.command) is None:
            yield
            return
        task = asyncio.create_task(self._follow(going, command), name=f"show {command.id}")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _follow(self, going: Going, command: Command) -> None:
        written: Shown | None = None
        while True:
            shown = Shown.of(going, command, self.redact)
            if shown != written:
                with suppress(StoreUnavailable):
                    await self.store.run(partial(self._put, command=command, shown=shown))
                    written = shown
            if written is not None and written.ending:
                return
            await within(going.ending, EVERY)

    def _put(self, tx: Transaction, command: Command, shown: Shown) -> None:
        body = asdict(shown)
        tx.ephemeral.put(KIND, str(command.id), self.store.process, body, str(command.home))

    async def seen(self, home: int) -> list[Seen]:
        """What other processes run for a chat's session, oldest first."""
        rows = await self._of(home)
        shown = sorted((Shown(**row.body) for row in rows), key=lambda one: one.started)
        return [Seen(one.line, one.started, one.background, one.last_line) for one in shown]

    async def until_over(self, command: int, seconds: float) -> Shown | None:
        """Wait for the end of a command of another process, but not longer; what is known of it
        then, None where it has ended or its process is gone."""
        if self.store.jobs is None:
            return None
        end = asyncio.get_running_loop().time() + seconds
        while True:
            rows = await self.store.read(lambda tx: tx.ephemeral.of(KIND, keys=[str(command)]))
            left = end - asyncio.get_running_loop().time()
            if not rows or left <= 0:
                return Shown(**rows[0].body) if rows else None
            await asyncio.sleep(min(_LOOK_AGAIN, left))

    async def end_one(self, command: Command, why: str) -> None:
        """End a command of another process, and wait until it has, but not for ever."""
        await self.stop(command.home, why, command.id)
        await self.until_over(command.id, LONGEST_END)

    async def stop(self, home: int, why: str, command: int | None = None) -> int:
        """Have what other processes run for a chat's session end, or one command of it; how many
        there were. Waits until they have taken notice, but not long."""
        said = {"home": home, "why": why, "command": command}
        count: int | None = None
        for look in range(round(PATIENCE / _LOOK_EVERY)):
            rows = [r for r in await self._of(home) if command is None or r.key == str(command)]
            count = len(rows) if count is None else count
            if all(row.body["ending"] for row in rows):
                break
            if look % _SAY_EVERY == 0:
                await self.store.run(lambda tx: tx.signal(TOPIC, said))
            await asyncio.sleep(_LOOK_EVERY)
        return count or 0

    async def _of(self, home: int) -> Sequence[EphemeralRow]:
        if self.store.jobs is None:
            return ()
        rows = await self.store.read(lambda tx: tx.ephemeral.of(KIND, str(home)))
        return [row for row in rows if row.owner != self.store.process]

    def lost(self, tx: Transaction, ours: Collection[int]) -> list[Command]:
        """Commands on record as running whose process is gone; `ours` are those that this one
        runs."""
        running = [command for command in tx.commands.running() if command.id not in ours]
        if self.store.jobs is None or not running:
            return running
        keys = [str(command.id) for command in running]
        known = {row.key for row in tx.ephemeral.of(KIND, keys=keys)}
        return [command for command in running if str(command.id) not in known]


def ended_without_us(tx: Transaction, commands: Collection[int]) -> list[int]:
    """Of these, those that are not on record as running: this process stood still for so long that
    another has told of their end."""
    found = {one: tx.commands.get(one) for one in commands}
    return [
        one for one, row in found.items() if row is None or row.state is not CommandState.RUNNING
    ]


def heard(going: Sequence[Going], message: Json) -> Sequence[tuple[Going, str]]:
    """What another process wants to have ended, and why."""
    wanted, why = message["command"], str(message["why"])
    return [
        (one, why)
        for one in going
        if one.wanted.setting.home == message["home"]
        and (wanted is None or (one.command is not None and one.command.id == wanted))
    ]
