"""What the workers of a delegation did, read from their sessions."""

from agent.runtime.tool_calls import TOUCHES, Path, file_touched, finished_calls
from storage.records.entries import RunRole
from storage.store import Transaction

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


def files_touched(tx: Transaction, journal: int) -> dict[str, str]:
    """Path → "read" or "wrote", of everything that workers read or wrote successfully."""
    touched: dict[str, str] = {}
    for path in worker_paths(tx, journal):
        for call in finished_calls(path):
            file = file_touched(*call)
            if file and touched.get(file) != "wrote":
                touched[file] = TOUCHES[call[0]]
    return touched
