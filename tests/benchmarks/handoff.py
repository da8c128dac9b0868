"""What a child spends to find out again what its parent knew: a failing import in a tree of files
that neither has seen before, handed to a worker with nothing, with a text, and with a handoff.

Models are simulated: benchmarks.simulation says how. The parent's moves are the same each time: it
lists the tree, reads the file that fails and the one it imports from, searches for the name, reads
what it found, and delegates. The child decides by what really stands in its request:

- it looks for the places to change only where they were not told or found by a search; to get
  there it lists the tree, reads the failing file and the one that this imports from, and searches;
- it reads a file that it must change, or whose function it calls, only where the file's whole text
  is not in its context;
- what does not depend on each other it does in one round, which is kind to a child with nothing;
- then it writes the files whole, as write_file wants them, checks its work with a search, and ends.
  That search is no exploration and not counted as one, but costs tokens in all cases.

The text tells all that the handoff does, but for the contents of the files. The parent's bill is
shown too: a handoff is dear where the parent has to write much of it, for a child that is cheap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.delegation.children.transcript import worker_paths
from agent.models.base import Request
from agent.runtime.next_step import calls_of
from storage.records.entries import Entry, Json, Usage
from storage.store import Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.import_tree import (
    CALLERS,
    DISCOUNTS,
    FAILING,
    NAME,
    OLD_IMPORT,
    RULES,
    TRACEBACK,
    mended,
    tree,
)
from tests.benchmarks.processes import scratch
from tests.benchmarks.simulation import (
    PARENT_TOOL,
    Call,
    Move,
    SimulatedModel,
    assumptions,
    calls_made,
    offered,
    scene,
    shown_text,
)

BAR_CALLS = 0.50
BAR_TOKENS = 0.60
"""Of what a child without a handoff needs."""
GOAL = f"Fix the failing import of {NAME} in {FAILING}, and wherever else it fails."
TOLD = (
    f"The tests fail with an ImportError: {NAME} cannot be imported from shop.pricing.rules. It "
    f"was moved to {DISCOUNTS} and is not exported from the old place any more; its signature is "
    f"still (rows, customer). The old import stands in {', '.join(CALLERS)}; the tests do not "
    "import it themselves. Importing it again in rules.py does not work: discounts imports rules, "
    "so that would be a circle. Change the three imports and nothing else."
)
SEARCH: Json = {"pattern": NAME, "path": "src"}
CHECK: Json = {"pattern": OLD_IMPORT.replace(".", r"\."), "path": "src"}
LISTING: Json = {"path": ".", "depth": 4}
EXPLORING = frozenset({"list_files", "read_file", "search_files"})

NOTHING, TEXT, HANDED, AUTOMATIC = "no handoff", "free text", "handoff", "automatic handoff"


@dataclass(frozen=True, slots=True)
class Trial:
    """What one way of handing over came to."""

    calls: int
    """Of the child, to explore."""
    child: Usage
    seconds: float
    """Simulated, of the child."""
    parent: int
    """Tokens that the parent wrote."""
    whole: float
    """Dollars, with the parent's calls."""
    is_mended: bool
    """The tree is as it should be."""


async def run() -> list[Figure]:
    trials = {way: await _measure(way) for way in (NOTHING, TEXT, HANDED, AUTOMATIC)}
    print(_report(trials))
    return [replace(figure, name=f"{figure.name} (simulated)") for figure in _figures(trials)]


class HandoffAgents:
    """Decides for the parent, which hands over in one way, and for its child."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._files = tree()

    def decide(self, request: Request) -> Move:
        return self._parent(request) if PARENT_TOOL in offered(request) else self._child(request)

    def _parent(self, request: Request) -> Move:
        """Explores, delegates, answers."""
        made = calls_made(request)
        for step in (*_way_in(), _reads(DISCOUNTS, *CALLERS[1:])):
            if not all(call in made for call in step):
                return Move("I look into it.", step)
        if made[-1].tool != PARENT_TOOL:
            arguments = {"goal": GOAL, **self._handed(request)}
            return Move("", (Call(PARENT_TOOL, arguments),))
        return Move("Mended: the three imports name the new place.")

    def _handed(self, request: Request) -> Json:
        if self._way == HANDED:
            return {"handoff": _handoff(_results(request, "search_files"))}
        if self._way == AUTOMATIC:
            return {}
        return {"handoff": {}} | ({"context": TOLD} if self._way == TEXT else {})

    def _child(self, request: Request) -> Move:
        made = calls_made(request)
        if Call("search_files", CHECK) in made:
            return Move(f"{NAME} is imported from its new place in {', '.join(CALLERS)}.")
        if any(call.tool == "write_file" for call in made):
            return Move("I check that no old import is left.", (Call("search_files", CHECK),))
        if looks := self._looks(request):
            return Move("I need to see this.", looks)
        writes = ({"path": path, "content": mended(self._files[path])} for path in CALLERS)
        return Move("I change the imports.", tuple(Call("write_file", w) for w in writes))

    def _looks(self, request: Request) -> tuple[Call, ...]:
        """What a child must still see before it can write; by what its request holds."""
        shown = shown_text(request)
        told = str(request.messages[1]["content"]) + _results(request, "search_files")
        if not all(path in told for path in (*CALLERS, DISCOUNTS)):
            made = calls_made(request)
            return next(step for step in _way_in() if step[0] not in made)
        return _reads(*(p for p in (*CALLERS, DISCOUNTS) if self._files[p] not in shown))


def _way_in() -> tuple[tuple[Call, ...], ...]:
    """From nothing to the places where the name stands."""
    return (
        (Call("list_files", LISTING),),
        _reads(FAILING),
        _reads(RULES),
        (Call("search_files", SEARCH),),
    )


def _reads(*paths: str) -> tuple[Call, ...]:
    return tuple(Call("read_file", {"path": path}) for path in paths)


def _results(request: Request, tool: str) -> str:
    """What a tool gave back so far."""
    return "\n".join(str(m["content"]) for m in request.messages if m.get("name") == tool)


def _handoff(hits: str) -> Json:
    return {
        "read_files": [*CALLERS, DISCOUNTS],
        "ran_commands": [{"cmd": "pytest -q tests/checkout", "rc": 1, "tail": TRACEBACK}],
        "probe_results": {f"search_files {NAME}": hits},
        "dead_ends": [f"importing {NAME} in rules.py: discounts imports rules, a circle"],
    }


async def _measure(way: str) -> Trial:
    files = tree()
    model = SimulatedModel(HandoffAgents(way).decide)
    with scratch() as folder:
        async with scene(folder, files, model) as played:
            await played.chat.say(f"pytest fails, please mend it:\n\n{TRACEBACK}")
            await played.shown(lambda shown: shown.text.startswith("Mended"))
            store = played.app.store
            trial = await store.read(lambda tx: _trial(tx, model.child_seconds))
        now = {path: (folder / "workspace" / path).read_text(encoding="utf-8") for path in files}
    return replace(trial, is_mended=now == {path: mended(text) for path, text in files.items()})


def _trial(tx: Transaction, seconds: float) -> Trial:
    session = tx.directory.conversation("telegram:1")
    assert session is not None
    (row,) = tx.delegations.recent(session)
    (transcript,) = worker_paths(tx, row.journal)
    spent = dict(tx.ledger.grouped("tier", since=0))
    return Trial(
        calls=_exploration(transcript),
        child=tx.ledger.by_tier(row.id)["worker"],
        seconds=seconds,
        parent=spent["parent"].output,
        whole=tx.ledger.total(since=0).cost,
        is_mended=False,
    )


def _exploration(transcript: Sequence[Entry]) -> int:
    """Calls that only look, before the first that writes."""
    names = [
        call.name
        for entry in transcript
        if entry.body.get("role") == "assistant" and not entry.body.get("handed")
        for call in calls_of(entry)
    ]
    before = names[: names.index("write_file")]
    return sum(name in EXPLORING for name in before)


def _figures(trials: Mapping[str, Trial]) -> list[Figure]:
    none = trials[NOTHING]
    figures = []
    for way in (HANDED, AUTOMATIC, TEXT):
        trial = trials[way]
        bars = (BAR_CALLS * none.calls, BAR_TOKENS * none.child.input) if way == HANDED else None
        for what, value, peer, unit, bar in (
            ("exploring", trial.calls, none.calls, "calls", bars and bars[0]),
            ("child's input", trial.child.input, none.child.input, "tokens", bars and bars[1]),
            ("child's time", trial.seconds, none.seconds, "s", None),
        ):
            name = f"{what}, {way}"
            figures.append(Figure(name, value, unit, bar=bar, peer=peer, peer_name=NOTHING))
    return figures


def _report(trials: Mapping[str, Trial]) -> str:
    """All ways side by side, for people."""
    head = (
        f"{'':18} {'exploring':>10} {'tokens in':>9} {'out':>7} {'time':>7} {'child':>8} "
        f"{'parent wrote':>13} {'whole bill':>11}  mended"
    )
    lines = [
        f"{way:18} {trial.calls:4} calls {trial.child.input:9,} {trial.child.output:7,} "
        f"{trial.seconds:5.1f} s {100 * (trial.child.cost or 0):6.2f} ¢ {trial.parent:13,} "
        f"{100 * trial.whole:9.2f} ¢  {'yes' if trial.is_mended else 'NO'}"
        for way, trial in trials.items()
    ]
    return "\n".join(["handoff: a failing import, four ways", assumptions(), head, *lines, ""])
