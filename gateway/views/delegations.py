"""Delegations as people read them: /agents."""

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile

from agent.delegation.supervision import Activity
from agent.text.formats import age
from agent.text.markdown import bounded, escape
from gateway.outbound.buttons import MenuItem
from storage.records.buttons import RunCommand
from storage.records.delegations import Delegation
from storage.records.entries import Entry, Kind, Usage
from storage.store import Transaction

NOTHING_DELEGATED = "No delegation in this conversation yet."
TURN_LIMIT = 600
"""Characters of one thing said in a transcript."""
PROGRESS_LINES = 10
PAGE = 1_800
"""Characters of a transcript in one message, about."""
PANEL_LIMIT = 1_500
"""Characters. Discord takes 2,000 a message, and counts some as two."""

MARKS = {
    "running": "▶",
    "queued": "⏳",
    "paused": "⏸",
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
    """A session's recent and unfinished delegations, newest first, each followed by what it
    delegated in turn."""
    rows = {row.id: row for row in tx.delegations.recent(session)}
    rows |= {row.id: row for row in tx.delegations.unfinished(session)}
    found: list[tuple[Delegation, int]] = []
    for row in sorted(rows.values(), key=lambda row: row.id, reverse=True):
        found.append((row, 0))
        for run in tx.tree.children(row.journal):
            found += [(child, depth + 1) for child, depth in family(tx, run.id)]
    return found


def agents_text(rows: Family, active: Mapping[int, Activity], now: float) -> str:
    """Task, state, tier, model, tokens, cost, files, current tool, age; where it delegated in turn,
    what that comes to with its children."""
    if not rows:
        return NOTHING_DELEGATED
    return "\n\n".join(_blocks(rows, active, now))


def panel_text(rows: Family, active: Mapping[int, Activity], now: float) -> str:
    """The same within one message of any platform: those that run first of all, then the newest.
    How many are left out is said."""
    blocks = _blocks(rows, active, now)
    room, kept = PANEL_LIMIT, set[int]()
    for index in sorted(range(len(rows)), key=lambda index: rows[index][0].id not in active):
        room -= len(blocks[index])
        if room < 0:
            break
        kept.add(index)
    shown = [blocks[index] for index in sorted(kept)]
    left = len(blocks) - len(kept)
    return "\n\n".join([*shown, f"… and {left} more"] if left else shown)


def _blocks(rows: Family, active: Mapping[int, Activity], now: float) -> list[str]:
    blocks = []
    for index, (row, depth) in enumerate(rows):
        lines = [_lines(row, depth, active.get(row.id), now)]
        if below := _below(rows, index):
            lines.append(_sum([row, *below], active))
        blocks.append("\n".join(lines))
    return blocks


def _below(rows: Family, index: int) -> list[Delegation]:
    """What the delegation at this place delegated in turn, at any depth."""
    top = rows[index][1]
    return [row for row, _ in takewhile(lambda one: one[1] > top, rows[index + 1 :])]


def _sum(branch: Sequence[Delegation], active: Mapping[int, Activity]) -> str:
    """A delegation and all that was delegated below it."""
    usage = sum((row.usage for row in branch), Usage())
    files = {file for row in branch for file in _files(row, active.get(row.id))}
    touched = [f"{len(files)} files"] if files else []
    tokens = f"{usage.input + usage.output:,} tokens"
    return f"with {len(branch) - 1} below: " + " · ".join([tokens, money(usage), *touched])


def _lines(row: Delegation, depth: int, activity: Activity | None, now: float) -> str:
    state = _state(row, activity)
    facts = [
        state,
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
    mark = "└ " * min(depth, 4) + MARKS.get(state, "·")
    return f"{mark} #{row.id} {escape(bounded(row.goal, 80))}\n" + " · ".join(facts)


def _state(row: Delegation, activity: Activity | None) -> str:
    if row.state != "running":
        return row.state
    if activity is None:
        return "queued"  # until another of the same agent ends
    return "paused" if activity.paused else "running"


def progress_text(rows: Sequence[Delegation], active: Mapping[int, Activity], now: float) -> str:
    """A line for each of the first children that run; "" where none does."""
    running = [(row, active[row.id]) for row in rows if row.id in active]
    lines = [
        f"⏳ #{row.id} {escape(bounded(row.goal, 60))} · {row.tier} · "
        f"{escape(activity.tool or 'starting')} · {age(now - row.created)}"
        for row, activity in running[:PROGRESS_LINES]
    ]
    left = len(running) - len(lines)
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def _files(row: Delegation, activity: Activity | None) -> list[str]:
    if activity is not None:
        return sorted(activity.files)
    return sorted(json.loads(row.result).get("files", {})) if row.result else []


def transcript(tx: Transaction, session: int, argument: str) -> tuple[str, list[MenuItem]]:
    """What the children of one delegation said, turn by turn; with a second number, from that page
    on. With the ways to the pages beside it."""
    number, _, asked = argument.partition(" ")
    rows = {row.id: row for row, _ in family(tx, session)}
    digits = number.removeprefix("#")
    row = rows.get(int(digits)) if digits.isdecimal() else None
    if row is None:
        return f"There is no delegation {escape(bounded(number, 40))} in this conversation.", []
    pages = _pages(_said(tx, row))
    page = min(max(int(asked), 1), len(pages)) if asked.isdecimal() else 1
    text = pages[page - 1]
    if len(pages) > 1:
        text += f"\n\n_Page {page} of {len(pages)}_"
    items = []
    if page > 1:
        items.append(MenuItem("◀ Back", RunCommand(f"agents {row.id} {page - 1}")))
    if page < len(pages):
        items.append(MenuItem("Next ▶", RunCommand(f"agents {row.id} {page + 1}"), beside=True))
    return text, items


def _said(tx: Transaction, row: Delegation) -> list[str]:
    parts = [f"**#{row.id}** {escape(bounded(row.goal, 200))}"]
    for run in tx.tree.children(row.journal):
        parts.append(f"**{escape(run.title)}**")
        parts += [_turn(entry) for entry in tx.tree.path(run.leaf) if entry.kind is Kind.MESSAGE]
    return parts


def _pages(parts: Sequence[str]) -> list[str]:
    pages: list[str] = []
    for part in parts:
        if pages and len(pages[-1]) + len(part) < PAGE:
            pages[-1] += f"\n\n{part}"
        else:
            pages.append(part)
    return pages


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
