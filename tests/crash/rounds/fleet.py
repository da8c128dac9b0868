"""The processes of a round: each with a role, a configuration, a way to the database and a clock of
its own."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.forked_process import CLOCK
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.moved_clock import make

ALL = "all"


@dataclass(frozen=True, slots=True)
class Member:
    role: str
    process: GatewayProcess
    clock: Path

    @property
    def sends(self) -> bool:
        return self.role in (ALL, "delivery")


@dataclass
class Fleet:
    members: tuple[Member, ...]
    surprises: list[str] = field(default_factory=list)
    """Processes that ended though nobody ended them."""

    def member(self, number: int) -> tuple[int, Member]:
        """Counted round and round."""
        place = number % len(self.members)
        return place, self.members[place]

    async def start(self) -> None:
        """All at once; ready. GatewayFailed where one does not get so far."""
        async with asyncio.TaskGroup() as group:
            for member in self.members:
                group.create_task(member.process.start())

    async def kill(self) -> None:
        """All that run."""
        for member in self.members:
            if member.process.running:
                member.process.thaw()
                await member.process.kill()

    async def revive(self) -> None:
        """Start again what ended by itself, which no process may."""
        for number, member in enumerate(self.members):
            if not member.process.running:
                status = await member.process.wait()
                last = member.process.log[-1:]
                self.surprises.append(f"process {number} ended with {status}: {last}")
                await member.process.start()

    @property
    def log(self) -> list[str]:
        return [
            f"{number} {line}"
            for number, member in enumerate(self.members)
            for line in member.process.log
        ]


def made(
    folder: Path, roles: Sequence[str], urls: Sequence[str], **sections: Mapping[str, Any]
) -> Fleet:
    members = []
    for number, (role, url) in enumerate(zip(roles, urls, strict=True)):
        own = folder / f"process{number}"
        own.mkdir()
        config = write_config(own, storage={"url": url}, **sections)
        clock = own / "clock"
        make(clock)
        arguments = () if role == ALL else ("--role", role)
        process = GatewayProcess(config, *arguments, forked=True, environment={CLOCK: str(clock)})
        members.append(Member(role, process, clock))
    return Fleet(tuple(members))
