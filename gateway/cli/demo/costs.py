"""What a tour cost, by tier."""

import asyncio
from collections import defaultdict

from gateway.cli.demo.chat_process import title
from gateway.views.delegations import money
from storage.records.entries import Kind, Usage
from storage.sql.store import SqlStore
from storage.store import Transaction

CHAT = "terminal:local"
MOST = 100
"""Sessions of the chat that are looked at."""


def show_costs(database: str) -> None:
    """Print the tiers with their calls, tokens and dollars."""
    usage = asyncio.run(usage_by_tier(database))
    title("Costs by tier (invented prices)")
    for tier in ("parent", "overseer", "worker"):
        spent = usage.get(tier, Usage())
        print(
            f"       {tier:9} {spent.calls:3} calls {spent.input:7,} tokens in "
            f"{spent.output:6,} out  {money(spent)}"
        )


async def usage_by_tier(database: str) -> dict[str, Usage]:
    store = await SqlStore.open(database)
    try:
        return await store.read(_usage_by_tier)
    finally:
        await store.close()


def _usage_by_tier(tx: Transaction) -> dict[str, Usage]:
    """What each tier used, from every reply in the trees of the chat and below them."""
    found: dict[str, Usage] = defaultdict(Usage)
    sessions = [tx.tree.session(one) for one in tx.directory.recent([CHAT], limit=MOST)]
    while sessions:
        session = sessions.pop()
        sessions += tx.tree.children(session.id)
        for entry in tx.tree.path(session.leaf):
            if entry.kind is Kind.MESSAGE and entry.body["role"] == "assistant":
                spent = entry.body["usage"]
                found[entry.author] += Usage(spent["input"], spent["output"], 1, spent["cost"])
    return dict(found)
