"""Delegations as people read them: /agents."""

import json
from collections.abc import Mapping, Sequence

from agent.activity import Activity
from agent.markup import bounded, escape
from storage.delegations import Delegation
from storage.entries import Entry, Kind, Usage
from storage.store import Transaction

NOTHING_DELEGATED = "No delegation in this conversation yet."
TURN_LIMIT = 600
"""Characters of one thing said in a transcript."""

MARKS = {
    "running": "▶",
    "waiting": "⏸",
    "completed": "✅",
    "failed": "❌",
    "interrupted": "⏹",
    "timeout": "⌛",
    "rejected": "🚫",
}


Family = Sequence[tuple[Delegation, int]]
"""Delegations, each before its own children, with how deep it stands."""


def family(tx: Transaction, session: int) -> list[tuple[Delegation, int]]:
    """A session's delegations, newest first, each followed by what it delegated in turn."""
    found: list[tuple[Delegation, int]] = []
    for row in tx.delegations.recent(session):
        found.append((row, 0))
        for run in tx.tree.children(row.journal):
            found += [(child, depth + 1) for child, depth in family(tx, run.id)]
    return found


def agents_text(rows: Family, active: Mapping[int, Activity], now: float) -> str:
    """Task, state, tier, model, tokens, cost, files, current tool, age."""
    if not rows:
        return NOTHING_DELEGATED
    return "\n\n".join(_lines(row, depth, active.get(row.id), now) for row, depth in rows)


def _lines(row: Delegation, depth: int, activity: Activity | None, now: float) -> str:
    facts = [
        row.state if activity is None or not activity.paused else "paused",
        row.tier,
        escape(row.model),
        f"{row.usage.input + row.usage.output:,} tokens",
        money(row.usage),
    ]
    if activity is not None and activity.tool:
        facts.append(f"now: {escape(activity.tool)}")
    if files := _files(row, activity):
        facts.append(f"files: {escape(bounded(', '.join(files), 120))}")
    facts.append(f"{age(now - row.created)} ago")
    mark = "└ " * min(depth, 4) + MARKS.get(row.state, "·")
    return f"{mark} #{row.id} {escape(bounded(row.goal, 80))}\n" + " · ".join(facts)


def progress_text(rows: Sequence[Delegation], active: Mapping[int, Activity], now: float) -> str:
    """A line for each child that runs; "" where none does."""
    running = [(row, active[row.id]) for row in rows if row.id in active]
    return "\n".join(
        f"⏳ #{row.id} {escape(bounded(row.goal, 60))} · {row.tier} · "
        f"{escape(activity.tool or 'starting')} · {age(now - row.created)}"
        for row, activity in running
    )


def _files(row: Delegation, activity: Activity | None) -> list[str]:
    if activity is not None:
        return sorted(activity.files)
    return sorted(json.loads(row.result).get("files", {})) if row.result else []


def transcript(tx: Transaction, session: int, number: str) -> str:
    """What the children of one delegation said, turn by turn."""
    rows = {row.id: row for row, _ in family(tx, session)}
    digits = number.removeprefix("#")
    row = rows.get(int(digits)) if digits.isdecimal() else None
    if row is None:
        return f"There is no delegation {escape(number)} in this conversation."
    parts = [f"**#{row.id}** {escape(bounded(row.goal, 200))}"]
    for run in tx.tree.children(row.journal):
        parts.append(f"**{escape(run.title)}**")
        parts += [_turn(entry) for entry in tx.tree.path(run.leaf) if entry.kind is Kind.MESSAGE]
    return "\n\n".join(parts)


def _turn(entry: Entry) -> str:
    body = entry.body
    said = [escape(bounded(str(body["content"]), TURN_LIMIT))] if body["content"] else []
    for call in body.get("tool_calls") or ():
        function = call["function"]
        arguments = escape(bounded(function["arguments"], TURN_LIMIT))
        said.append(f"→ {escape(function['name'])} {arguments}")
    who = f"{body['role']} {body['name']}" if body["role"] == "tool" else body["role"]
    return f"_{escape(who)}_: " + "\n".join(said)


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
