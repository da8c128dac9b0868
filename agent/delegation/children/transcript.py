"""What the workers of a delegation did, read from their sessions."""

from agent.delegation.core.report import REPORT_NAME
from agent.runtime.tool_calls import (
    CHANGED,
    HOWS,
    TOUCHES,
    Path,
    file_touched,
    files_changed,
    finished_calls,
)
from agent.text.templates import cut, cut_head
from agent.tools.think import ThinkTool
from storage.records.entries import Kind, RunRole
from storage.store import Transaction

FINDINGS_LIMIT = 4_000
"""Characters."""
SILENT = frozenset({ThinkTool.name, REPORT_NAME})
"""Tools whose calls show nothing of what there is."""
WORKERS = (RunRole.WORKER, RunRole.WORKER_AS_TEXT)


def worker_paths(tx: Transaction, journal: int, before: int | None = None) -> list[Path]:
    """The transcripts of a delegation's workers, oldest first; of the attempts before this one,
    where a number is given."""
    runs = [(session.run, session.leaf) for session in tx.tree.children(journal)]
    return [
        tx.tree.path(leaf)
        for run, leaf in runs
        if run is not None and run.role in WORKERS
        if before is None or run.number < before
    ]


def tool_calls_text(path: Path) -> str:
    """What a worker's tools were called with and gave back."""
    return "\n\n".join(
        f"{name}({arguments})\n{result}" for name, arguments, result in finished_calls(path)
    )


def findings(path: Path) -> str:
    """What the session of a worker shows that it found, where it did not say so itself: its last
    words and its last results, bounded; "" where there is neither."""
    said = [
        str(entry.body["content"])
        for entry in path
        if entry.kind is Kind.MESSAGE and entry.body["role"] == "assistant"
        if not entry.body.get("handed") and str(entry.body["content"] or "").strip()
    ]
    results = [
        result
        for name, _, result in finished_calls(path)
        if name not in SILENT and not result.startswith("Error: ")
    ]
    found = [cut(text, FINDINGS_LIMIT // 2) for text in said[-1:]]
    if results:
        last = cut_head("\n".join(results), FINDINGS_LIMIT // 2)
        found.append(f"Its last results:\n{last}")
    return "\n\n".join(found)


def shown_to(path: Path) -> str:
    """What an agent was told and what its tools gave back."""
    heard = [e.body for e in path if e.kind is Kind.MESSAGE and e.body["role"] != "assistant"]
    return "\n".join(str(body["content"]) for body in heard)


def files_touched(tx: Transaction, journal: int) -> dict[str, str]:
    """Path → "read", "changed" (by a command) or "wrote", of all that workers did successfully."""
    touched: dict[str, str] = {}
    for path in worker_paths(tx, journal):
        for call in finished_calls(path):
            if file := file_touched(*call):
                touched[file] = more_of(touched.get(file), TOUCHES[call[0]])
        for file in files_changed(path):
            touched[file] = more_of(touched.get(file), CHANGED)
    return touched


def more_of(known: str | None, how: str) -> str:
    """Of two things that were done to a file, the one that says more."""
    return how if known is None else max(known, how, key=HOWS.index)
