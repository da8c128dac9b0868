"""What goes wrong in a round. Each fault is over when its function returns."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tests.crash.rounds.databases import Database, Postgres, Sqlite, unsent
from tests.crash.rounds.fleet import Fleet, Member
from tests.crash.rounds.plan import (
    EVERYWHERE,
    LONG,
    LONG_ON_POSTGRES,
    ON_POSTGRES,
    ON_SQLITE,
    Fault,
)
from tests.crash.rounds.script import mark_of
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_rest import Cut as DiscordCut
from tests.stand_ins.discord_rest import Fail, Throttle
from tests.stand_ins.model import Cut, Hang, ModelServer, Slow, Status
from tests.stand_ins.telegram import TelegramServer
from tests.support.moved_clock import set_ahead

_FARTHEST = 7200.0
"""Seconds that a clock is set forward or back, at most."""
_LONG = 30.0
"""Seconds that what is long takes, at least; it is up to twice that."""


def possible(database: Database, wanted: Sequence[str] | None) -> list[str]:
    """The kinds that can be done to it, each as often as it is to be chosen: of those that are
    wanted, or all that do not take long."""
    match database:
        case Sqlite():
            kinds, long = [*EVERYWHERE, *(ON_SQLITE if database.small else ())], [*LONG]
        case _:
            kinds, long = [*EVERYWHERE, *ON_POSTGRES], [*LONG, *LONG_ON_POSTGRES]
    return kinds if wanted is None else [kind for kind in (*kinds, *long) if kind in wanted]


@dataclass
class Faults:
    fleet: Fleet
    database: Database
    telegram: TelegramServer
    discord: DiscordServer
    model: ModelServer
    kills: int = 0
    """Processes that ended in the middle of their work."""
    breaks: int = 0
    """Times when a process could not reach its database, or was not there to."""
    model_faults: int = 0
    clocks: int = 0
    not_on_record: Counter[str] = field(default_factory=Counter)
    """The marks of messages that were next, or under way, when who sends them was ended, stood
    still or lost its database."""

    @property
    def in_flight(self) -> Counter[str]:
        """The marks of messages of which the bot could not know whether they had arrived."""
        sent = (call for call in self.telegram.calls("sendMessage") if call.untold)
        untold = Counter(mark_of(str(call.params.get("text", ""))) for call in sent)
        return self.not_on_record + untold

    async def play(self, faults: Sequence[Fault]) -> None:
        """One after the other."""
        for fault in faults:
            await asyncio.sleep(fault.after)
            await self._kinds[fault.kind](fault, random.Random(fault.seed))
            await self.fleet.revive()

    @property
    def _kinds(self) -> dict[str, Callable[[Fault, random.Random], Awaitable[None]]]:
        return {
            "kill": self._kill,
            "freeze": self._freeze,
            "restart": self._restart,
            "clock": self._clock,
            "model": self._model,
            "outage": self._outage,
            "throttle": self._throttle,
            "disk": self._disk,
            "fast": self._shut_down,
            "immediate": self._shut_down,
            "cut": self._cut,
            "reset": self._reset,
            "partition": self._partition,
            "stall": self._stall,
            "stall_server": self._stall_server,
            "isolate": self._isolate,
        }

    async def _kill(self, fault: Fault, chance: random.Random) -> None:
        """SIGKILL; now and then once more while it starts."""
        _, member = self.fleet.member(fault.target)
        await member.process.kill()
        await self._note(member, kills=1)
        await asyncio.sleep(fault.lasts)
        if chance.random() < 0.25:
            await member.process.launch()
            await asyncio.sleep(chance.uniform(0.0, 0.8))
            await member.process.kill()
            await self._note(member, kills=1)
        await member.process.start()

    async def _freeze(self, fault: Fault, chance: random.Random) -> None:
        _, member = self.fleet.member(fault.target)
        member.process.freeze()
        await self._note(member)
        await asyncio.sleep(fault.lasts * (1 if len(self.fleet.members) == 1 else 12))
        member.process.thaw()

    async def _stall(self, fault: Fault, chance: random.Random) -> None:
        """So long that all it had is others', where there are others."""
        _, member = self.fleet.member(fault.target)
        member.process.freeze()
        await self._note(member)
        await asyncio.sleep(_long(fault))
        member.process.thaw()

    async def _restart(self, fault: Fault, chance: random.Random) -> None:
        _, member = self.fleet.member(fault.target)
        member.process.terminate()
        status = await member.process.wait()
        if status != 0:
            self.fleet.surprises.append(f"a stopped process ended with {status}")
        await self._note(member)
        await asyncio.sleep(fault.lasts)
        await member.process.start()

    async def _clock(self, fault: Fault, chance: random.Random) -> None:
        """Forward or back, and right again."""
        _, member = self.fleet.member(fault.target)
        self.clocks += 1
        set_ahead(member.clock, chance.choice((-1, 1)) * chance.uniform(1.0, _FARTHEST))
        await asyncio.sleep(fault.lasts)
        set_ahead(member.clock, 0.0)

    async def _model(self, fault: Fault, chance: random.Random) -> None:
        """So few of them that who tries again comes through."""
        kinds = (Status(503), Status(429, {"Retry-After": "1"}), Cut(), Hang(), Slow(1.0))
        some = [chance.choice(kinds) for _ in range(2)]
        self.model_faults += len(some)
        self.model.faults.extend(some)
        await asyncio.sleep(fault.lasts)

    async def _outage(self, fault: Fault, chance: random.Random) -> None:
        """Both platforms at once. What was cut after it was done may be done again on Telegram."""
        for method in ("sendMessage", "editMessageText", "getUpdates"):
            kind = chance.choice(("500", "502", "cut_before", "cut_after"))
            self.telegram.fail_next(method, chance.randint(1, 2), kind)  # type: ignore[arg-type]
        broken = (Fail(502, page=True), DiscordCut(True), Fail(500))
        for _ in range(2):
            self.discord.inject("POST", "/messages$", chance.choice(broken))
        await self.discord.gateway.drop(resumable=chance.random() < 0.5)
        await asyncio.sleep(max(fault.lasts, 0.3))

    async def _throttle(self, fault: Fault, chance: random.Random) -> None:
        self.telegram.fail_next("sendMessage", chance.randint(1, 3), "429", seconds=1)
        self.discord.inject("POST", "/messages$", Throttle(0.3), chance.randint(1, 3))
        await asyncio.sleep(fault.lasts)

    async def _disk(self, fault: Fault, chance: random.Random) -> None:
        assert isinstance(self.database, Sqlite)
        self.database.fill()
        await asyncio.sleep(fault.lasts)
        self.database.free()
        await self._note(breaks=1)

    async def _shut_down(self, fault: Fault, chance: random.Random) -> None:
        """The server: sessions are ended first, or it is as if it were killed."""
        assert isinstance(self.database, Postgres)
        fast = fault.kind == "fast"
        await self.database.shut_down(signal.SIGINT if fast else signal.SIGQUIT)
        await asyncio.sleep(fault.lasts)
        await self.database.start()
        await self._note(breaks=1)

    async def _cut(self, fault: Fault, chance: random.Random) -> None:
        assert isinstance(self.database, Postgres)
        await self.database.cut()
        await self._note(breaks=1)

    async def _reset(self, fault: Fault, chance: random.Random) -> None:
        assert isinstance(self.database, Postgres)
        place, member = self.fleet.member(fault.target)
        self.database.proxies[place].reset()
        await self._note(member, breaks=1)

    async def _partition(self, fault: Fault, chance: random.Random) -> None:
        """One process does not reach the database, and is not told."""
        await self._part(fault, fault.lasts * (3 if len(self.fleet.members) == 1 else 12))

    async def _isolate(self, fault: Fault, chance: random.Random) -> None:
        """The same, for longer than leases last."""
        await self._part(fault, _long(fault))

    async def _part(self, fault: Fault, seconds: float) -> None:
        assert isinstance(self.database, Postgres)
        place, member = self.fleet.member(fault.target)
        self.database.proxies[place].part()
        # Others may have sent it again, and have that on record, by the time it is over.
        await self._note(member)
        await asyncio.sleep(seconds)
        self.database.proxies[place].join()
        await self._note(member, breaks=1)

    async def _stall_server(self, fault: Fault, chance: random.Random) -> None:
        """The server stands still, with all its sessions."""
        assert isinstance(self.database, Postgres)
        await self.database.freeze()
        await asyncio.sleep(_long(fault))
        await self.database.thaw()
        await self._note(breaks=1)

    async def _note(self, member: Member | None = None, *, kills: int = 0, breaks: int = 0) -> None:
        """Count it, and what may have arrived and is not on record, where it befell who sends:
        one process, or all."""
        self.kills += kills
        self.breaks += breaks
        if member is None or member.sends:
            self.not_on_record += Counter(map(mark_of, await unsent(self.database)))


def _long(fault: Fault) -> float:
    """Seconds."""
    return _LONG * (1.0 + fault.lasts)
