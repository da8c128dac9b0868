"""The crash suite: python -m tests.crash.rounds --rounds 100 --seed 1 --database both."""

import argparse
import asyncio
import logging
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.crash.rounds.counting import ZERO, Tally
from tests.crash.rounds.databases import PostgresLane
from tests.crash.rounds.fleet import ALL
from tests.crash.rounds.outside import Outside, outside
from tests.crash.rounds.plan import FAULTS
from tests.crash.rounds.playing import Order, play
from tests.support.postgres import MISSING, programs

DATABASES = ("sqlite", "postgres")
ROLES = (ALL, "ingress", "worker", "delivery")
SPLIT = ("ingress", "worker", "worker", "delivery")


@dataclass(frozen=True, slots=True)
class Job:
    database: str
    order: Order

    @property
    def name(self) -> str:
        return f"{self.database}-{self.order.seed}"

    @property
    def command(self) -> str:
        """What plays it again."""
        given = f"make crash ROUNDS=1 SEED={self.order.seed} DATABASE={self.database}"
        given += f" PROCESSES={','.join(self.order.roles)} COUNT={self.order.count}"
        chosen = self.order.faults
        return given if chosen is None else f"{given} FAULTS={','.join(chosen)}"


def main() -> int:
    given = _arguments()
    # What is started is ended, however this ends.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A client that was killed in the middle of an answer is what this is about.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="bough-rounds-"))
    folder.chmod(0o755)
    total, failed = asyncio.run(_play_all(list(_jobs(given)), given.lanes, folder))
    _print_total(total, given.rounds, failed)
    if not failed and not total.tracebacks:
        shutil.rmtree(folder)
        return 0
    if not failed:
        print(f"The folders of rounds with tracebacks are in {folder}.")
        return 0
    print(f"{len(failed)} rounds failed; their folders are in {folder}. To play them again:")
    for job in failed:
        print(f"  {job.command}")
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.crash.rounds", description="Rounds in which everything goes wrong."
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument(
        "--seed", type=int, default=1, help="of the first round; the next has one more"
    )
    parser.add_argument("--database", choices=(*DATABASES, "both"), default="both")
    parser.add_argument(
        "--faults", default="", help=f"of {', '.join(FAULTS)}; without, all but the long ones"
    )
    parser.add_argument("--count", type=int, default=3, help="faults in a round")
    parser.add_argument(
        "--processes",
        default="1",
        help=f"a number, or roles: ingress,worker,worker; split for {','.join(SPLIT)}",
    )
    parser.add_argument("--lanes", type=int, default=2, help="rounds at the same time")
    given = parser.parse_args()
    given.faults = tuple(filter(None, given.faults.split(","))) or None
    if unknown := set(given.faults or ()) - {*FAULTS, "none"}:
        parser.error(f"there is no fault {sorted(unknown)[0]}: {', '.join(FAULTS)}, or none")
    given.roles = _roles(parser, given.processes)
    if len(given.roles) > 1 and given.database != "postgres":
        parser.error("several processes need --database postgres")
    if given.database != "sqlite" and programs() is None:
        parser.error(MISSING)
    return given


def _roles(parser: argparse.ArgumentParser, processes: str) -> tuple[str, ...]:
    if processes.isdecimal():
        return (ALL,) * max(1, int(processes))
    roles = SPLIT if processes == "split" else tuple(processes.split(","))
    if unknown := set(roles) - set(ROLES):
        parser.error(f"there is no role {sorted(unknown)[0]}: {', '.join(ROLES)}")
    return roles


def _jobs(given: argparse.Namespace) -> Iterator[Job]:
    """With both databases they take turns."""
    chosen = DATABASES if given.database == "both" else (given.database,)
    for number in range(given.rounds):
        order = Order(given.seed + number, given.roles, given.faults, given.count)
        yield Job(chosen[number % len(chosen)], order)


async def _play_all(jobs: list[Job], lanes: int, folder: Path) -> tuple[Tally, list[Job]]:
    total, failed = Tally(), list[Job]()
    async with outside(folder) as tools, asyncio.TaskGroup() as group:
        for _ in range(min(lanes, len(jobs))):
            group.create_task(_lane(jobs, tools, folder, total, failed))
    return total, failed


async def _lane(
    jobs: list[Job], tools: Outside, folder: Path, total: Tally, failed: list[Job]
) -> None:
    """Rounds one after the other, until there are none left."""
    async with AsyncExitStack() as stack:
        server: PostgresLane | None = None
        while jobs:
            job = jobs.pop(0)
            if job.database == "postgres" and server is None:
                server = await stack.enter_async_context(PostgresLane())
            own = folder / job.name
            own.mkdir()
            tally = await play(
                job.order, own, tools, server if job.database == "postgres" else None
            )
            total += tally
            _print_round(job, tally)
            if tally.problems:
                failed.append(job)
            elif not tally.tracebacks:
                shutil.rmtree(own)


def _print_round(job: Job, tally: Tally) -> None:
    what = "ok    " if not tally.problems else "FAILED"
    print(
        f"{what} {job.database:8} seed {job.order.seed:<6} {tally.seconds:5.1f} s  "
        f"{tally.kills} kills, {tally.faults} faults, {tally.said} in, {tally.answered} answered, "
        f"{tally.in_flight} in flight, {tally.calls_again} of {tally.calls} calls again, "
        f"{tally.tracebacks} tracebacks",
        flush=True,
    )
    for problem in tally.problems:
        print(f"       {problem}")
    if tally.problems or tally.tracebacks:
        print(f"       {job.command}", flush=True)


def _print_total(total: Tally, rounds: int, failed: list[Job]) -> None:
    print(f"\n{rounds} rounds, {len(failed)} failed")
    for name, number in total.numbers().items():
        sign = " (must be 0)" if name in ZERO else ""
        print(f"  {name.replace('_', ' '):14} {number:>8.10g}{sign}")


if __name__ == "__main__":
    sys.exit(main())
