"""What models were used and what that cost, as people read it: /usage."""

from collections.abc import Iterator, Sequence

from agent.text.formats import DAY, dollars, midnight
from agent.text.markdown import escape
from storage.records.ledger import LedgerGroup, Spending
from storage.store import Transaction

DAYS = 30
"""How far back is shown, today included."""
MOST_LINES = 10
"""Of a group; the dearest."""
JUDGE = "judge"

Group = Sequence[tuple[str, Spending]]


SHORT_MODELS = 3
"""Models that the short form names."""


def short_usage(tx: Transaction, address: str, *, whole: bool) -> str:
    """Today and the last 30 days of a conversation, and what was dearest; `whole`: of all
    conversations, too. At most 12 lines."""
    today = midnight(tx.now)
    since = today - (DAYS - 1) * DAY
    ledger = tx.ledger
    lines = [
        f"**This conversation, today:** {_sum(ledger.total(since=today, address=address))}",
        f"**The last {DAYS} days:** {_sum(ledger.total(since=since, address=address))}",
        *_lines("By model", ledger.grouped("model", since=since, address=address), SHORT_MODELS),
    ]
    if whole:
        lines += [
            "",
            f"**All conversations, today:** {_sum(ledger.total(since=today))}",
            f"**The last {DAYS} days:** {_sum(ledger.total(since=since))}",
        ]
    return "\n".join(lines)


def conversation_usage(tx: Transaction, address: str) -> str:
    """Today and the last 30 days of a conversation, by tier, model and person."""
    today = midnight(tx.now)
    periods = [("today", today), (f"the last {DAYS} days", today - (DAYS - 1) * DAY)]
    return "\n\n".join(
        "\n".join(_conversation(tx, address, title, since)) for title, since in periods
    )


def _conversation(tx: Transaction, address: str, title: str, since: float) -> Iterator[str]:
    yield f"**This conversation, {title}:** {_sum(tx.ledger.total(since=since, address=address))}"
    by: tuple[LedgerGroup, ...] = ("tier", "model", "person")
    for group in by:
        yield from _lines(f"By {group}", tx.ledger.grouped(group, since=since, address=address))


def whole_usage(tx: Transaction) -> str:
    """All conversations: today, and the last 30 days by conversation and day."""
    today = midnight(tx.now)
    since = today - (DAYS - 1) * DAY
    days = sorted(tx.ledger.grouped("day", since=since), reverse=True)
    lines = [
        f"**All conversations, today:** {_sum(tx.ledger.total(since=today))}",
        f"**All conversations, the last {DAYS} days:** {_sum(tx.ledger.total(since=since))}",
        *_lines("By tier", tx.ledger.grouped("tier", since=since)),
        *_lines("By conversation", tx.ledger.grouped("address", since=since)),
        *_lines("By day, in UTC", days, most=DAYS),
    ]
    return "\n".join(lines)


def _lines(title: str, group: Group, most: int = MOST_LINES) -> Iterator[str]:
    """One line for each of a group, the judge after all others."""
    if not group:
        return
    yield f"_{escape(title)}_"
    named = sorted(group, key=lambda item: title == "By tier" and item[0] == JUDGE)
    for name, spent in named[:most]:
        yield f"• {escape(name) or 'nobody'}: {_sum(spent)}"
    if len(named) > most:
        yield f"… and {len(named) - most} more"


def _sum(spent: Spending) -> str:
    """Dollars, tokens, calls."""
    if not spent.calls:
        return "nothing"
    calls = "1 call" if spent.calls == 1 else f"{spent.calls:,} calls"
    cached = f" ({spent.cached:,} cached)" if spent.cached else ""
    tokens = f"{spent.input:,} tokens in{cached}, {spent.output:,} out"
    return escape(f"{_cost(spent)} · {tokens} · {calls}")


def _cost(spent: Spending) -> str:
    if not spent.unpriced:
        return dollars(spent.cost)
    return f"{dollars(spent.cost)} and calls of unknown cost" if spent.cost else "cost unknown"
