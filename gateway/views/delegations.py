"""Delegations as people read them: /agents."""

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile

from agent.delegation.children.presence import Doing
from agent.delegation.settlement import FINAL
from agent.text.formats import age
from agent.text.markdown import bounded, escape
from gateway.views.entries import preview
from storage.records.delegations import Delegation
from storage.records.entries import Json, Usage
from storage.store import Transaction

NOTHING_DELEGATED = "No delegation in this conversation yet."
PROGRESS_LINES = 5
"""Of children that run, and of those that have ended."""
PANEL_LIMIT = 1_500
"""Characters. Discord takes 2,000 a message, and counts some as two."""

MARKS = {
    "running": "▶",
    "queued": "⏳",
    "paused": "⏸",
    "waiting": "⏸",
    "completed": "✅",
    "partial": "◐",
    "failed": "❌",
    "interrupted": "⏹",
    "timeout": "⌛",
    "rejected": "🚫",
}
JUDGED = {"PASS": "✅", "FAIL": "❌"}
"""What a judge found of what was completed; it could not tell, else."""
NOT_TOLD = "⚠️"


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


def agents_text(rows: Family, active: Mapping[int, Doing], now: float) -> str:
    """Task, state, tier, model, tokens, cost, files, current tool, age; where it delegated in turn,
    what that comes to with its children."""
    if not rows:
        return NOTHING_DELEGATED
    return "\n\n".join(_blocks(rows, active, now))


def panel_text(rows: Family, active: Mapping[int, Doing], now: float) -> str:
    """The same within one message of any platform: those that run first of all, then those that
    wait for a place, then the newest. How many are left out is said."""
    blocks = _blocks(rows, active, now)
    room, kept = PANEL_LIMIT, set[int]()
    for index in sorted(range(len(rows)), key=lambda index: rank(rows[index][0], active)):
        room -= len(blocks[index])
        if room < 0:
            break
        kept.add(index)
    shown = [blocks[index] for index in sorted(kept)]
    left = len(blocks) - len(kept)
    return "\n\n".join([*shown, f"… and {left} more"] if left else shown)


def rank(row: Delegation, active: Mapping[int, Doing]) -> int:
    """0 for one that runs, then what waits for a place, then the rest."""
    activity = active.get(row.id)
    return 2 if activity is None else int(activity.queued)


def _blocks(rows: Family, active: Mapping[int, Doing], now: float) -> list[str]:
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


def _sum(branch: Sequence[Delegation], active: Mapping[int, Doing]) -> str:
    """A delegation and all that was delegated below it."""
    usage = sum((row.usage for row in branch), Usage())
    files = {file for row in branch for file in _files(row, active.get(row.id))}
    touched = [f"{len(files)} files"] if files else []
    tokens = f"{usage.input + usage.output:,} tokens"
    return f"with {len(branch) - 1} below: " + " · ".join([tokens, money(usage), *touched])


def _lines(row: Delegation, depth: int, activity: Doing | None, now: float) -> str:
    state = _state(row, activity)
    facts = [
        *_outcome(row, state),
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
    mark = "└ " * min(depth, 4) + _mark(row, state)
    return f"{mark} #{row.id} {escape(preview(row.goal, 80))}\n" + " · ".join(facts)


def _state(row: Delegation, activity: Doing | None) -> str:
    if row.state != "running":
        return row.state
    if activity is None or activity.queued:
        return "queued"  # until another of the same agent ends
    return "paused" if activity.paused else "running"


def _mark(row: Delegation, state: str) -> str:
    found = _verdict(row)
    if state != "completed" or not found:
        return MARKS.get(state, "·")
    return JUDGED.get(found, NOT_TOLD)


def _outcome(row: Delegation, state: str) -> list[str]:
    """How it stands, what a judge found, how often a worker was sent back."""
    found, sent_back = _verdict(row), _result(row).get("sent_back", 0)
    facts = ["ended" if (state, found) == ("completed", "FAIL") else state]
    if found:
        facts.append(f"judge: {escape(found)}")
    if sent_back:
        facts.append("sent back once" if sent_back == 1 else f"sent back {sent_back} times")
    return facts


def _verdict(row: Delegation) -> str:
    """PASS, FAIL or INCONCLUSIVE; "" where no judge looked."""
    verdict = _result(row).get("verdict")
    return str(verdict["verdict"]) if verdict else ""


def _result(row: Delegation) -> Json:
    result: Json = json.loads(row.result) if row.result else {}
    return result


def progress_text(rows: Sequence[Delegation], active: Mapping[int, Doing], now: float) -> str:
    """A line for each of the newest that have ended, then for the first children that run; "" where
    there is none."""
    ended = [_ended(row) for row in rows if row.state in FINAL]
    running = [
        f"⏳ #{row.id} {escape(preview(row.goal, 60))} · {row.tier} · "
        f"{_doing(active[row.id])} · {age(now - row.created)}"
        for row in sorted(rows, key=lambda row: rank(row, active))
        if row.id in active and row.state not in FINAL
    ]
    lines = [*ended[-PROGRESS_LINES:], *running[:PROGRESS_LINES]]
    left = len(ended) + len(running) - len(lines)
    return "\n".join([*lines, f"… and {left} more"] if left else lines)


def _doing(activity: Doing) -> str:
    return "queued" if activity.queued else escape(activity.tool or "starting")


def _ended(row: Delegation) -> str:
    """A task that has ended, on one line: its result and what it cost."""
    line = f"{_mark(row, row.state)} #{row.id} {escape(preview(row.goal, 60))}"
    if summary := preview(str(_result(row).get("summary") or ""), 100):
        line += f" — {escape(summary)}"
    found = [] if row.state == "completed" else [row.state]
    if (verdict := _verdict(row)) not in ("", "PASS"):
        found.append(f"judge: {escape(verdict)}")
    return " · ".join([line, *found, money(row.usage)])


def _files(row: Delegation, activity: Doing | None) -> list[str]:
    return sorted(activity.files if activity is not None else _result(row).get("files") or ())


def money(usage: Usage) -> str:
    """Dollars, as far as prices are known."""
    if usage.cost is None:
        return "cost unknown"
    return f"${usage.cost:.2f}" if usage.cost >= 1 else f"${usage.cost:.6f}"
