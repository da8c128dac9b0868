"""What it costs where a branch table does not go straight: one extension by the overseer, one "Try
again" of a person, a worker whose context overflows; and little tasks of a parent that has read
much. Models are simulated: benchmarks.simulation says how.

All but the last do the same task, a saved site whose export has moved to another page: straight,
the table has the condition for that; extended, the overseer adds it; again, the table asks a person
instead, who has it tried once more and then decides. Calls and tokens are those of everybody but
the parent. The bar is for the worker's bill as providers write it, with what is cached at a tenth:
what an overseer costs is its own.

An overflow comes where the worker's model takes less than the files that it reads.
"""

import json
from dataclasses import dataclass

from agent.models.base import Request
from storage.records.entries import Json, Usage
from storage.store import Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch
from tests.benchmarks.simulation import (
    CACHED_PRICE,
    PARENT_TOOL,
    PRICES,
    Call,
    Move,
    Scene,
    SimulatedModel,
    calls_made,
    offered,
    scene,
)
from tests.benchmarks.site_agents import EXTENSIONS, TABLE, SiteAgents, prose
from tests.benchmarks.sites import SETTINGS, Kind, Site, sites

BAR_EXTENSION = 1.3
STRAIGHT, EXTENDED, AGAIN, OVERFLOW = "straight", "one extension", "one Try again", "overflow"
NARROW = 3_000
"""Tokens that a worker's model takes where it overflows: not all that it reads."""
ASKS: Json = {"action": "escalate", "tier": "human", "prompt": "{observed_state}"}
LITTLE = ("What is 6 times 7?", "Write a haiku about autumn", "Translate: good morning")


@dataclass(frozen=True, slots=True)
class Trial:
    """What one way came to."""

    worker: Usage
    overseer: Usage
    result: Json

    @property
    def billed(self) -> float:
        """Cents of the worker, cached input at its own price."""
        discount = (1 - CACHED_PRICE) * self.worker.cached * PRICES["worker"][0] / 1e6
        return 100 * ((self.worker.cost or 0.0) - discount)

    @property
    def whole(self) -> Usage:
        return self.worker + self.overseer


async def run() -> list[Figure]:
    site = next(site for site in sites() if site.kind is Kind.MOVED)
    known = [*TABLE["conditions"], _condition()]
    asking = [_asking(condition) for condition in TABLE["conditions"]]
    trials = {
        STRAIGHT: await _table_task(site, TABLE | {"conditions": known}),
        EXTENDED: await _table_task(site, TABLE),
        AGAIN: await _table_task(site, {"conditions": asking, "default": ASKS}, tried_again=True),
        OVERFLOW: await _table_task(site, TABLE | {"conditions": known}, most=NARROW),
    }
    straight, extended = trials[STRAIGHT], trials[EXTENDED]
    figures = [figure for way, trial in trials.items() for figure in _figures(way, trial)]
    bar = BAR_EXTENSION * straight.billed
    figures.append(
        Figure(
            "worker's bill, one extension (simulated)",
            extended.billed,
            "¢",
            bar=bar,
            peer=straight.billed,
            peer_name=STRAIGHT,
        )
    )
    kept = len(trials[OVERFLOW].result["evidence"] or "")
    figures.append(Figure("evidence kept of an overflow (simulated)", kept, "characters"))
    return [*figures, await _little_tasks()]


def _figures(way: str, trial: Trial) -> list[Figure]:
    whole = trial.whole
    share = 100 * whole.cached / whole.input if whole.input else 0.0
    return [
        Figure(f"calls, {way} (simulated)", whole.calls, "calls"),
        Figure(f"input, {way} (simulated)", whole.input, "tokens"),
        Figure(f"cached share, {way} (simulated)", share, "%"),
    ]


def _condition() -> Json:
    report = {"action": "report", "format": "Answer: supported. {evidence}"}
    return {"description": EXTENSIONS[SETTINGS], "branches": {"ok": report, "missing": report}}


def _asking(condition: Json) -> Json:
    """The condition with a person for the overseer."""
    if "branches" not in condition:
        return condition
    actions = condition["branches"].items()
    branches = {name: ASKS if "tier" in action else action for name, action in actions}
    return condition | {"branches": branches}


async def _table_task(
    site: Site, table: Json, *, tried_again: bool = False, most: int | None = None
) -> Trial:
    agents = SiteAgents((site,), {"branch_table": table, "handoff": {}})
    model = SimulatedModel(agents.decide, most=most)
    with scratch() as folder:
        async with scene(folder, site.files, model) as played:
            await played.chat.say("Does this shop let people export their orders as CSV?")
            if tried_again:
                await _try_again(played)
            await played.shown(lambda shown: shown.text.startswith("Checked:"))
            return await played.app.store.read(_trial)


async def _try_again(played: Scene) -> None:
    """A person has it tried once more, and stops it where it comes to the same."""
    (first,) = await played.shown(lambda shown: bool(shown.buttons))
    await played.chat.press(first, "Try again")
    (second,) = await played.shown(lambda shown: bool(shown.buttons) and shown.id != first.id)
    await played.chat.press(second, "Stop")


def _trial(tx: Transaction) -> Trial:
    session = tx.directory.conversation("telegram:1")
    assert session is not None
    (row,) = tx.delegations.recent(session)
    spent = tx.ledger.by_tier(row.id)
    worker, overseer = (spent.get(tier, Usage()) for tier in ("worker", "overseer"))
    return Trial(worker, overseer, json.loads(row.result))


async def _little_tasks() -> Figure:
    """Input of three children, beside that of the same who are expressly handed nothing."""
    unasked, nothing = await _little({}), await _little({"handoff": {}})
    return Figure(
        "input, little tasks after much reading (simulated)",
        unasked,
        "tokens",
        bar=nothing,
        peer=nothing,
        peer_name="with nothing handed over",
    )


async def _little(common: Json) -> int:
    files = {f"ledger-{number}.txt": prose(20_000) for number in range(6)}
    reads = tuple(Call("read_file", {"path": path}) for path in files)
    tasks: Json = {"tasks": [{"goal": goal} for goal in LITTLE], **common}

    def decide(request: Request) -> Move:
        if PARENT_TOOL not in offered(request):
            return Move("42")
        made = [call.tool for call in calls_made(request)]
        if not made:
            return Move("I read.", reads)
        done = PARENT_TOOL in made
        return Move("Checked: all.") if done else Move("", (Call(PARENT_TOOL, tasks),))

    with scratch() as folder:
        async with scene(folder, files, SimulatedModel(decide)) as played:
            await played.chat.say("Read the ledgers, then have the little things done.")
            await played.shown(lambda shown: shown.text.startswith("Checked:"))
            total = await played.app.store.read(lambda tx: tx.ledger.grouped("tier", since=0))
            return dict(total)["worker"].input
