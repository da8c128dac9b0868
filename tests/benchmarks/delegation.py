"""What delegation costs: the same twenty tasks open-ended on the parent's model, open-ended on the
cheap one, and along a branch table. Models are simulated: benchmarks.simulation says how, and
benchmarks.site_agents what they decide and what that assumes.

The parent hands all tasks over in one call, and reads all results. Along the branch table it also
writes the table, once for all of them, and is told of each decision of a person in a turn of its
own. What is compared, with a bar of a tenth, is the cost of what was delegated: children, overseers
and judges; and the whole bill, with the parent's own calls, as providers write it: what they have
cached costs a tenth. By list prices it is a little more than a tenth.

Most of the difference is the price of the model, as the cheap one without a table shows. What the
table and who stands behind it add is that the outcomes are right. The judge's bar is for tasks
that are open-ended on the parent's model; for tasks of a table its share is shown.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from adapters.recording import Shown
from storage.records.entries import Json, Usage
from storage.records.ledger import Spending
from storage.store import Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch
from tests.benchmarks.simulation import Scene, SimulatedModel, assumptions, scene
from tests.benchmarks.site_agents import CRITERIA, TABLE, SiteAgents
from tests.benchmarks.sites import Kind, Site, sites

BAR_SHARE = 0.10
BAR_JUDGE = 3.0
PARENTS = "open-ended, parent's model"
CHEAP = "open-ended, cheap model"
TABLED = "branch table"
WAYS: Mapping[str, Json] = {
    PARENTS: {"model": "parent"},
    CHEAP: {},
    TABLED: {"branch_table": TABLE},
}
JUDGED: Json = {"acceptance_criteria": CRITERIA}
TIERS = {
    "worker": "worker at once",
    "extended": "worker, table extended",
    "overseer": "overseer",
    "human": "human",
}


@dataclass(frozen=True, slots=True)
class Bill:
    """What one way came to."""

    whole: Spending
    billed: float
    """Dollars of the whole, with the discount for what is cached."""
    delegated: Usage
    judge: Usage
    """A part of what was delegated."""
    right: int
    tiers: Counter[str]
    """Who came to the outcome, by the keys of TIERS."""
    seconds: float
    """Simulated, of what was delegated."""


async def run() -> list[Figure]:
    tasks = sites()
    bills = {way: await _measure(tasks, common) for way, common in WAYS.items()}
    judged = {way: await _measure(tasks, WAYS[way] | JUDGED) for way in (PARENTS, TABLED)}
    print(_report(bills, len(tasks)))
    figures = [
        *_figures(bills, len(tasks)),
        Figure(f"judge's share, {PARENTS}", _judge_share(judged[PARENTS]), "%", bar=BAR_JUDGE),
        Figure(f"judge's share, {TABLED}", _judge_share(judged[TABLED]), "%"),
    ]
    return [replace(figure, name=f"{figure.name} (simulated)") for figure in figures]


async def _measure(tasks: tuple[Site, ...], common: Json) -> Bill:
    model = SimulatedModel(SiteAgents(tasks, common).decide)
    files = {path: text for site in tasks for path, text in site.files.items()}
    asked = [site for site in tasks if "branch_table" in common and site.kind is Kind.ELSEWHERE]
    with scratch() as folder:
        async with scene(folder, files, model) as played:
            await played.chat.say("Which of these shops let people export their orders as CSV?")
            await played.shown(_is_answer)
            await _decide(played, len(asked))
            store = played.app.store
            return await store.read(lambda tx: _bill(tx, tasks, model))


async def _decide(played: Scene, questions: int) -> None:
    """A person looks at each question, presses that the site is gone, and reads what comes of it
    before the next."""
    if not questions:
        return
    shown = await played.shown(lambda shown: bool(shown.buttons), count=questions)
    for number, question in enumerate(shown, start=1):
        await played.chat.press(question, _gone(question))
        await played.shown(_is_answer, count=1 + number)


def _gone(question: Shown) -> str:
    return next(b.label for b in question.buttons if "gone" in b.label.casefold())


def _is_answer(shown: Shown) -> bool:
    return shown.text.startswith("Checked:")


def _bill(tx: Transaction, tasks: tuple[Site, ...], model: SimulatedModel) -> Bill:
    session = tx.directory.conversation("telegram:1")
    assert session is not None
    expected = {site.name: site.answer for site in tasks}
    spent, judge, tiers, right = Usage(), Usage(), Counter[str](), 0
    for row in tx.delegations.recent(session, limit=len(tasks)):
        by_tier = tx.ledger.by_tier(row.id)
        spent = sum(by_tier.values(), spent)
        judge += by_tier.get("judge", Usage())
        result = json.loads(row.result)
        climbed = "overseer" in by_tier and result["resolved_by"] == "worker"
        tiers["extended" if climbed else result["resolved_by"]] += 1
        right += expected[_found(r"site-\d\d", row.goal)] == _found(
            r"(?<=Answer: )\w+", result["summary"]
        )
    whole, seconds = tx.ledger.total(since=0), model.child_seconds
    return Bill(whole, whole.cost - model.saved, spent, judge, right, tiers, seconds)


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found is not None else ""


def _figures(bills: Mapping[str, Bill], count: int) -> list[Figure]:
    first, cheap, table = bills[PARENTS], bills[CHEAP], bills[TABLED]
    cents, right = _cents(first.delegated), 100 * first.right / count

    def beside(name: str, value: float, unit: str, peer: float, bar: float | None = None) -> Figure:
        return Figure(name, value, unit, bar=bar, peer=peer, peer_name=PARENTS)

    return [
        beside(f"cost, {TABLED}", _cents(table.delegated), "¢", cents, BAR_SHARE * cents),
        beside(f"whole bill, {TABLED}", 100 * table.whole.cost, "¢", 100 * first.whole.cost),
        beside(
            f"whole bill as billed, {TABLED}",
            100 * table.billed,
            "¢",
            100 * first.billed,
            BAR_SHARE * 100 * first.billed,
        ),
        Figure(f"cached share of the input, {TABLED}", _cached_share(table.delegated), "%"),
        beside(f"cost, {CHEAP}", _cents(cheap.delegated), "¢", cents),
        beside(f"tokens, {TABLED}", _tokens(table.delegated), "tokens", _tokens(first.delegated)),
        beside(f"time of a task, {TABLED}", table.seconds / count, "s", first.seconds / count),
        Figure(f"right, {PARENTS}", right, "%"),
        Figure(f"right, {TABLED}", 100 * table.right / count, "%", "at least", right),
        Figure(f"right, {CHEAP}", 100 * cheap.right / count, "%"),
        *(
            Figure(f"resolved by {name}", 100 * table.tiers[tier] / count, "%")
            for tier, name in TIERS.items()
        ),
    ]


def _cents(usage: Usage) -> float:
    assert usage.cost is not None
    return 100 * usage.cost


def _tokens(usage: Usage) -> int:
    return usage.input + usage.output


def _cached_share(usage: Usage) -> float:
    return 100 * usage.cached / usage.input


def _judge_share(bill: Bill) -> float:
    return 100 * _cents(bill.judge) / _cents(bill.delegated)


def _report(bills: Mapping[str, Bill], count: int) -> str:
    """All ways side by side, for people."""
    head = (
        f"{'':27} {'cost':>9} {'whole bill':>11} {'tokens in':>9} {'out':>7} {'a task':>7}  right"
    )
    lines = [
        f"{way:27} {_cents(bill.delegated):7.2f} ¢ {100 * bill.whole.cost:9.2f} ¢ "
        f"{bill.delegated.input:9,} {bill.delegated.output:7,} {bill.seconds / count:5.1f} s"
        f"  {bill.right}/{count}"
        for way, bill in bills.items()
    ]
    return "\n".join([f"delegation: {count} tasks, three ways", assumptions(), head, *lines, ""])
