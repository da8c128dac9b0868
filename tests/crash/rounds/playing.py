"""One round: a fresh gateway, people, faults, and what came of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.rounds import counting
from tests.crash.rounds.counting import Tally
from tests.crash.rounds.databases import (
    PASSWORD,
    Database,
    Postgres,
    PostgresLane,
    Sqlite,
    idle,
    postponed,
)
from tests.crash.rounds.faults import Faults, possible
from tests.crash.rounds.fleet import Fleet, made
from tests.crash.rounds.outside import Outside
from tests.crash.rounds.people import Person
from tests.crash.rounds.places import DiscordPlace, Place, TelegramPlace
from tests.crash.rounds.plan import SPOTS, Plan, Spot, plan
from tests.crash.rounds.script import LEDGER, rules
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.model import ModelServer
from tests.stand_ins.telegram import TelegramServer
from tests.support.forked_process import finished
from tests.support.gateway_process import GatewayFailed

ANN, BEN, GROUP = 1001, 1002, -100
TELEGRAM_TOKEN = "1000:hidden-token-of-telegram"
DISCORD_TOKEN = "hidden-token-of-discord"
MODEL_KEY = "hidden-key-of-the-model"
SECRETS = (
    TELEGRAM_TOKEN.partition(":")[2],
    DISCORD_TOKEN,
    MODEL_KEY,
    PASSWORD,
)
LONGEST, LONGEST_OF_ALL = 90.0, 900.0
"""Seconds without an answer or a model call, and in all, until what is not answered is lost: more
than what failed waits for its next try."""
_LATER = 0.2
"""Seconds in which something too much may still come."""
_CALM = 0.1
_LOOK_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Order:
    """What kind of round is wanted."""

    seed: int
    roles: tuple[str, ...]
    faults: tuple[str, ...] | None
    """Kinds to choose from; None for all that the database can have."""
    count: int


@dataclass(frozen=True, slots=True)
class Scene:
    """What runs in a round."""

    database: Database
    fleet: Fleet
    people: Mapping[Spot, Person]
    telegram: TelegramServer
    discord: DiscordServer
    model: ModelServer

    @property
    def come_to(self) -> tuple[int, int]:
        """What grows as it goes on."""
        answers = sum(len(one.place.shown()) for one in self.people.values())
        return answers, len(self.model.requests)

    async def over(self) -> bool:
        """Whether everything is answered, and there is nothing left to do."""
        later = {text.replace("Water", "due") for text in await postponed(self.database)}
        for one in self.people.values():
            one.excused |= later
        if self.telegram.world.pending or any(one.missing() for one in self.people.values()):
            return False
        return await idle(self.database)


async def play(order: Order, folder: Path, outside: Outside, lane: PostgresLane | None) -> Tally:
    """`lane`: where it is to be PostgreSQL. What fails stands in the tally."""
    began = time.monotonic()
    tally = Tally()
    database = Sqlite(folder) if lane is None else Postgres(lane, len(order.roles))
    async with database.open():
        kinds = possible(database, order.faults)
        made_plan = plan(order.seed, kinds, order.count)
        async with _scene(folder, order, database, outside) as scene:
            try:
                await _run(scene, made_plan, tally)
                await _check(scene, folder, tally)
            except* GatewayFailed as failed:
                tally.surprises += 1
                tally.problems.append(f"it does not start: {failed.exceptions[0]}"[:2000])
            finally:
                await scene.fleet.kill()
                _keep_log(folder, scene)
            tally.faults = len(made_plan.faults)
            _count(scene, folder, outside, tally)
    tally.seconds = time.monotonic() - began
    return tally


@asynccontextmanager
async def _scene(
    folder: Path, order: Order, database: Database, outside: Outside
) -> AsyncIterator[Scene]:
    owner = outside.owner(folder.name)
    model = ModelServer(rules(owner), api_key=MODEL_KEY)
    async with (
        TelegramServer(TELEGRAM_TOKEN) as telegram,
        DiscordServer(DISCORD_TOKEN) as discord,
        model,
    ):
        for user, name in ((ANN, "Ann"), (BEN, "Ben")):
            telegram.person(user, name)
        telegram.group(GROUP, "Friends")
        urls = [database.url(number) for number in range(len(order.roles))]
        sections = _sections(folder, telegram, discord, model, outside)
        fleet = made(folder, order.roles, urls, **sections)
        people = {spot: Person(_place(spot, telegram, discord)) for spot in SPOTS}
        try:
            yield Scene(database, fleet, people, telegram, discord, model)
        finally:
            await fleet.kill()


def _place(spot: Spot, telegram: TelegramServer, discord: DiscordServer) -> Place:
    match spot.name:
        case "telegram:ann":
            return TelegramPlace(telegram, ANN, ANN)
        case "telegram:ben":
            return TelegramPlace(telegram, BEN, BEN)
        case "telegram:group":
            return TelegramPlace(telegram, GROUP, ANN, "@bough_bot ")
        case "discord:ann":
            return DiscordPlace(discord, discord.dm_of("ann"), "ann")
        case _:
            return DiscordPlace(discord, discord.general, "bob", f"{discord.mention} ")


def _sections(
    folder: Path,
    telegram: TelegramServer,
    discord: DiscordServer,
    model: ModelServer,
    outside: Outside,
) -> dict[str, Mapping[str, Any]]:
    asked = {"api_base": model.url, "api_key": MODEL_KEY, "timeout": 3, "stall_seconds": 3}
    allowed = [
        {
            "tool": "run_command",
            "match": r"echo run-\d+ \| tee -a ledger\.txt",
            "decision": "allow",
        },
        {"tool": "outside__*", "decision": "allow"},
    ]
    return {
        "telegram": {
            "token": telegram.token,
            "base_url": telegram.base_url,
            "base_file_url": telegram.base_file_url,
            "paced": False,
        },
        "discord": {"token": DISCORD_TOKEN, **discord.urls, "paced": False},
        "models": {
            "parent": {"model": "openai/parent", **asked},
            "worker": {"model": "openai/worker", **asked},
        },
        "access": {"owners": ["telegram:*", "discord:*"]},
        "session": {"busy": "queue"},
        "tools": {
            "toolsets": ["terminal", "schedule", "mcp:outside"],
            "workspace": str(folder / "work" / "{session}"),
            "rules": allowed,
        },
        "mcp": {"outside": {"url": outside.url}},
    }


async def _run(scene: Scene, made_plan: Plan, tally: Tally) -> None:
    """People talk, things go wrong, and then there is time to answer."""
    await scene.fleet.start()
    people = scene.people.values()
    await _while_it_goes_on(scene, *(one.meet(n) for n, one in enumerate(people, start=1)))
    faults = Faults(scene.fleet, scene.database, scene.telegram, scene.discord, scene.model)
    talk = [
        asyncio.create_task(person.play(made_plan.talk[spot]), name=spot.name)
        for spot, person in scene.people.items()
    ]
    try:
        await faults.play(made_plan.faults)
        await _while_it_goes_on(scene, _to_the_end(scene, talk))
        await asyncio.sleep(_LATER)
        await scene.fleet.revive()
    finally:
        for task in talk:
            task.cancel()
        await asyncio.wait(talk)
    tally.kills = faults.kills
    counting.count_talk(tally, scene.people.values(), faults.in_flight)
    if not await idle(scene.database):
        tally.lost += 1
        tally.problems.append("there is unfinished work in the database")


async def _to_the_end(scene: Scene, talk: Iterable[asyncio.Task[None]]) -> None:
    await asyncio.gather(*talk)
    while not await scene.over():
        await asyncio.sleep(_CALM)


async def _while_it_goes_on(scene: Scene, *works: Coroutine[None, None, None]) -> None:
    """Until all is done, or nothing has happened for long."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        seen, until = scene.come_to, time.monotonic() + LONGEST
        end = time.monotonic() + LONGEST_OF_ALL
        while time.monotonic() < min(until, end):
            done, left = await asyncio.wait(tasks, timeout=_LOOK_EVERY)
            for task in done:
                task.result()
            if not left:
                return
            if (come_to := scene.come_to) != seen:
                seen, until = come_to, time.monotonic() + LONGEST
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _check(scene: Scene, folder: Path, tally: Tally) -> None:
    """What stands in the database, once nobody writes to it."""
    await counting.count_decisions(tally, scene.database)
    await scene.fleet.kill()
    config = scene.fleet.members[0].process.config
    status, said = await finished(("db", "check", "--config", str(config)), folder, {})
    if status != 0:
        tally.torn += 1
        tally.problems.append(f"bough db check: {said}")


def _count(scene: Scene, folder: Path, outside: Outside, tally: Tally) -> None:
    counting.count_calls(tally, scene.model.requests)
    ledgers = folder.glob(f"work/*/**/{LEDGER}")
    lines = [line for ledger in ledgers for line in ledger.read_text().split()]
    counting.count_tools(tally, [*lines, *outside.posted(folder.name)])
    told = [*scene.fleet.log, *(str(one.messages) for one in scene.model.requests)]
    told += [shown.text for one in scene.people.values() for _, shown in one.shown()]
    counting.count_secrets(tally, SECRETS, told)
    tally.surprises += len(scene.fleet.surprises)
    tally.problems += scene.fleet.surprises
    tally.tracebacks += sum("Traceback" in line for line in scene.fleet.log)


def _keep_log(folder: Path, scene: Scene) -> None:
    """For who looks why a round failed."""
    talk = [
        f"{spot.name}: {shown.text[:200]!r} {list(shown.labels)}"
        for spot, person in scene.people.items()
        for shown in person.place.shown()
    ]
    asked = [f"{one.model}: {one.messages[-1]}"[:1000] for one in scene.model.requests]
    text = "\n".join([*scene.fleet.log, "", *talk, "", *asked])
    (folder / "log").write_text(text, encoding="utf-8")
