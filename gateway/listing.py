"""Delegations as people read them: /agents."""

from collections.abc import Sequence

from agent.markup import bounded, escape
from storage.delegations import Delegation
from storage.entries import Usage

MARKS = {
    "running": "▶",
    "waiting": "⏸",
    "completed": "✅",
    "failed": "❌",
    "interrupted": "⏹",
    "timeout": "⌛",
    "rejected": "🚫",
}


def agents_text(delegations: Sequence[Delegation], now: float) -> str:
    """Newest first: task, state, tier, model, tokens, cost, age."""
    if not delegations:
        return "No delegation in this conversation yet."
    return "\n\n".join(_line(delegation, now) for delegation in delegations)


def _line(row: Delegation, now: float) -> str:
    tokens = f"{row.usage.input + row.usage.output:,} tokens"
    facts = (
        row.state,
        row.tier,
        escape(row.model),
        tokens,
        money(row.usage),
        f"{age(now - row.created)} ago",
    )
    mark = MARKS.get(row.state, "·")
    return f"{mark} #{row.id} {escape(bounded(row.goal, 80))}\n" + " · ".join(facts)


def money(usage: Usage) -> str:
    """Dollars, as far as prices are known."""
    if usage.cost is None:
        return "cost unknown"
    return f"${usage.cost:.2f}" if usage.cost >= 1 else f"${usage.cost:.6f}"


def age(seconds: float) -> str:
    """A rough span of time: "40 s", "5 min", "3 h", "2 d"."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
