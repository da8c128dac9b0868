"""An interrupt reaches everybody below, whatever they are doing."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import psutil
import pytest

from storage.records.delegations import Delegation
from storage.store import Store, Transaction
from tests.flow.conftest import PATIENCE, Gateway, gateway
from tests.flow.delegating import (
    ANSWER,
    CountingModel,
    Rule,
    calls,
    delegates,
    results_in,
    says,
    tool_results,
)

FOR_EVER = r"(a|a)+\Z.b"
"""A pattern that no line of a's is done with."""


def orchestrators(*goals: str) -> dict[str, object]:
    return {"tasks": [{"goal": goal, "role": "orchestrator"} for goal in goals]}


RULES: list[Rule] = [
    delegates(orchestrators("top 1", "top 2", "top 3")),
    delegates(
        orchestrators("mid {1}.1", "mid {1}.2", "mid {1}.3"),
        tier="worker",
        last=r"Task: top (\d)",
    ),
    delegates({"goal": "low {1}"}, tier="worker", last=r"Task: mid (\d\.\d)"),
    says("never", last=r"Task: low \d\.[12]", delay=60),
    calls("search_files", {"pattern": FOR_EVER}, last=r"Task: low \d\.3"),
    ANSWER,
]


def all_delegations(tx: Transaction, session: int) -> list[Delegation]:
    found: list[Delegation] = []
    for row in tx.delegations.recent(session):
        found.append(row)
        for run in tx.tree.children(row.journal):
            found += all_delegations(tx, run.id)
    return found


async def at_work(g: Gateway) -> None:
    """Returns once everybody does what they do until they are interrupted."""
    expected = Counter({"delegate_task": 3 + 9, "model": 6, "search_files": 3})
    async with asyncio.timeout(PATIENCE):
        while Counter(one.tool for one in g.app.router.context.active.values()) != expected:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("said", ["/stop", "never mind"])
async def test_an_interrupt_reaches_all_who_run_three_levels_down(
    store: Store, tmp_path: Path, said: str
) -> None:
    (tmp_path / "a.txt").write_text("a" * 1_000)
    config = {
        "delegation": {"max_spawn_depth": 3},
        "tools": {"toolsets": ["file"], "workspace": str(tmp_path)},
    }
    model = CountingModel(RULES)
    before = set(psutil.Process().children())
    async with gateway(store=store, config=config, model=model) as g:
        await g.chat.say("go")
        await at_work(g)
        await g.chat.say(said)
        await g.hears("Stopped." if said == "/stop" else "never mind")
        assert g.app.router.context.active == {}
        assert model.running["worker"] == 0
        assert set(psutil.Process().children()) == before
        rows = await store.read(lambda tx: all_delegations(tx, 1))
        assert Counter(row.state for row in rows) == {"interrupted": 3 + 9 + 9}
        assert {json.loads(row.result)["status"] for row in rows} == {"interrupted"}
        if said == "/stop":
            await g.chat.say("hello")
            await g.hears("result: hello")
        (told,) = tool_results(model.of("parent")[-1])
        results = results_in(told)
        assert [result["status"] for result in results] == ["interrupted"] * 3
