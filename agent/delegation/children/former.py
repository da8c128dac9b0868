"""What a new worker is told of those before it: what they read, ran and found, and why it begins
anew. Pure.

All of it is data, fenced and bounded: of their calls the newest are kept, whole where they fit.
"""

from collections.abc import Iterator, Sequence

from agent.delegation.children.transcript import SILENT
from agent.delegation.core.state import State
from agent.delegation.handoff.prune import budget
from agent.models.base import ModelSpec
from agent.runtime.tool_calls import Path, finished_calls
from agent.text.fencing import UNTRUSTED, fence
from agent.text.sizing import BYTES_PER_TOKEN, size
from agent.text.templates import cut
from storage.records.entries import Kind

MOST_TOKENS = 8_000
"""Of all that is told; at most the share of the window that a handoff may take."""
_PARTS = 4
"""One call gets at most this part of the room, each thing that was said this part of that."""
_SAID_LIMIT = 2_000
"""Characters of what a worker said, of the last report, and of what was tried."""

_INTRODUCTION = f"""\
A worker before you did part of this task. Go on from what it found; do not read or run again what \
stands here, unless it may have changed. {UNTRUSTED}"""


def former_work(paths: Sequence[Path], state: State, spec: ModelSpec) -> str:
    """A block for the first message of a new worker on `spec`; `paths` are the workers' before it,
    oldest first. "" where there were none."""
    if not paths:
        return ""
    room = min(budget(spec.context_window), MOST_TOKENS) * BYTES_PER_TOKEN
    most = min(_SAID_LIMIT, room // _PARTS**2)
    known = [_INTRODUCTION, *_why(state, most), *_said(paths, most)]
    room -= sum(map(size, known))
    return "\n\n".join([*known, *_calls(paths, max(room, 0))])


def _why(state: State, most: int) -> Iterator[str]:
    if state.tried:
        yield fence("tried", cut("\n".join(state.tried), most))
    if state.delta is None:
        return
    found = dict.fromkeys([state.delta.reason, state.delta.observed, state.delta.evidence])
    yield fence("last_report", cut("\n".join(filter(None, found)), most))


def _said(paths: Sequence[Path], most: int) -> Iterator[str]:
    texts = [
        str(entry.body["content"])
        for path in paths
        for entry in path
        if entry.kind is Kind.MESSAGE and entry.body["role"] == "assistant"
        if not entry.body.get("handed") and str(entry.body["content"] or "").strip()
    ]
    if texts:
        yield fence("said", cut(texts[-1], most))


def _calls(paths: Sequence[Path], room: int) -> list[str]:
    """The newest calls that there is room for, in the order in which they were made; of the same
    call the newest."""
    made: dict[tuple[str, str], str] = {}
    for path in paths:
        for name, arguments, result in finished_calls(path):
            if name not in SILENT:
                made.pop((name, arguments), None)
                made[name, arguments] = result
    most, kept = room // _PARTS, list[str]()
    for (name, arguments), result in reversed(made.items()):
        shown = fence("call", f"{cut(arguments, most)}\n{cut(result, most)}", tool=name)
        room -= size(shown)
        if room < 0:
            kept.append(f"[{len(made) - len(kept)} calls before these are left out]")
            break
        kept.append(shown)
    return kept[::-1]
