"""The result of delegate_task: whole, as it is kept for people, and lean, as the parent model reads
it. Always JSON."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.delegation.core.events import Finish
from agent.delegation.core.state import State
from agent.text.templates import VALUE_LIMIT, cut
from storage.records.delegations import Delegation
from storage.records.entries import Json, Usage
from storage.records.questions import Question

SUMMARY_LIMIT = 8_000
WRITTEN = ("wrote", "changed")
"""What `files` says of a file that is another than before."""
FILES_NAMED = 10
"""In a warning."""
TASK_LIMIT = 100
"""Characters of a goal, its ends, by which the model that wrote it knows it again."""
QUESTION_LIMIT = 300
"""Characters of a question that a person is asked: they see it whole themselves."""
_SHORT = 200
"""Characters of a text that says something by where it stands, whatever else holds it too."""


def finished_result(
    state: State, finish: Finish, spent: Mapping[str, Usage], files: Mapping[str, str]
) -> Json:
    """`spent` is by tier; the judge's part is shown apart."""
    more: Json = {"envelope": finish.envelope} if finish.envelope is not None else {}
    if state.instructions:
        said = [{"name": answer.name, "words": answer.words} for answer in state.instructions]
        more["instructions"] = said
    if sent_back := state.corrected + state.retries:
        more["sent_back"] = sent_back
    return _result(
        state.task.goal,
        status=finish.status,
        summary=_bounded(finish.summary),
        condition=finish.condition,
        branch=finish.branch,
        evidence=_bounded(finish.evidence) if finish.evidence else None,
        confidence=finish.confidence,
        resolved_by=finish.resolved_by,
        verdict=finish.verdict,
        exit_reason=finish.exit_reason,
        usage=_usage(spent),
        files=dict(files),
        warnings=_warnings(state, finish),
        **more,
    )


def _warnings(state: State, finish: Finish) -> list[str]:
    """Those of how the task was given, of what was added to its table, and of the report."""
    table = state.table.warnings if state.table is not None else ()
    return list(dict.fromkeys([*state.task.warnings, *table, *finish.warnings]))


def waiting_result(goal: str, question: Question) -> Json:
    return _result(
        goal,
        status="waiting",
        summary="This is waiting for a decision by a person. The result arrives later by itself.",
        question=question.text,
    )


def launched_result(delegation: Delegation) -> Json:
    return _result(
        delegation.goal,
        status="running",
        summary="This runs in the background. The result arrives later by itself.",
    )


def with_shared_files(results: Sequence[Json]) -> list[Json]:
    """The results of a call's tasks, in their order: where several wrote the same file, each is
    told which others did."""
    writers: dict[str, dict[int, str]] = {}
    for at, result in enumerate(results):
        for path, how in (result.get("files") or {}).items():
            if how in WRITTEN:
                writers.setdefault(path, {})[at] = how
    return [_warned(result, at, writers) for at, result in enumerate(results)]


def _warned(result: Json, at: int, writers: Mapping[str, Mapping[int, str]]) -> Json:
    shared: dict[str, list[str]] = {}
    for path, who in writers.items():
        if at in who and len(who) > 1:
            others = ", ".join(f"task {other + 1}" for other in who if other != at)
            sure = all(how == "wrote" for how in who.values())
            did = "wrote" if sure else "wrote, or ran a command that may have changed,"
            shared.setdefault(f"{others} of this call {did}", []).append(path)
    warnings = [
        f"{others} the same: {_named(paths)}; only what was written last is kept"
        for others, paths in shared.items()
    ]
    return result | {"warnings": [*(result.get("warnings") or ()), *warnings]} if shared else result


def _named(paths: Sequence[str]) -> str:
    left = len(paths) - FILES_NAMED
    return ", ".join(paths[:FILES_NAMED]) + (f" and {left} more" if left > 0 else "")


def to_text(*results: Json) -> str:
    """What the parent is told: nothing twice, and nothing that only people need. They have it in
    /agents and /usage."""
    return json.dumps({"results": [_lean(result) for result in results]}, ensure_ascii=False)


def _lean(result: Json) -> Json:
    summary, evidence = _once(result.get("summary") or "", result.get("evidence") or "")
    lean = result | {
        "task": _ends(result.get("task", "")),
        "summary": summary,
        "evidence": evidence,
        "question": cut(result.get("question") or "", QUESTION_LIMIT),
        "verdict": _only(result.get("verdict"), "verdict", "reasoning"),
        "usage": _dollars(result.get("usage") or {}),
        "sent_back": None,
        "files": {path: did for path, did in result.get("files", {}).items() if did in WRITTEN},
        "envelope": _proof(result.get("envelope") or {}, summary, evidence),
    }
    if result.get("status") == "completed":  # who resolved it, and by which branch, says the same
        lean["exit_reason"] = None
    return {key: value for key, value in lean.items() if value not in (None, "", [], {})}


def _once(summary: str, evidence: str) -> tuple[str, str]:
    """Neither holds the other, but for a short summary. One that quotes as much of long evidence
    as a table's `format` takes names it."""
    if re.search(rf"(?<!\w){re.escape(evidence)}(?!\w)", summary):
        return summary, ""
    if len(summary) > _SHORT and summary in evidence:
        return "", evidence
    if len(evidence) > VALUE_LIMIT:
        summary = summary.replace(evidence[:VALUE_LIMIT], "[the evidence]", 1)
    return summary, evidence


def _ends(goal: str) -> str:
    if len(goal) <= TASK_LIMIT:
        return goal
    half = TASK_LIMIT // 2
    return f"{goal[:half]}…{goal[-half:]}"


def _dollars(usage: Json) -> Json:
    """The judge's apart."""
    found = {"cost": usage.get("cost"), "judge": (usage.get("judge") or {}).get("cost")}
    return {name: float(f"{cost:.3g}") for name, cost in found.items() if cost}


def _proof(envelope: Json, *said: str) -> Json:
    """What an envelope has beyond the result around it: the checks, and raw output that is not
    quoted there."""
    tail = str(envelope.get("raw_tail") or "")
    for text in filter(None, said):
        if tail.strip() in text:
            tail = ""
        elif len(text) > _SHORT:
            tail = tail.replace(text, "[as quoted]")
    found = {"checks": envelope.get("checks"), "raw_tail": tail}
    return {key: value for key, value in found.items() if value}


def _only(given: Json | None, *keys: str) -> Json:
    return {key: given[key] for key in keys if given.get(key)} if given else {}


def _result(goal: str, **known: Any) -> Json:
    blank: Json = {
        "task": goal,
        "status": "",
        "summary": "",
        "condition": None,
        "branch": None,
        "evidence": None,
        "confidence": None,
        "resolved_by": None,
        "verdict": None,
        "question": None,
        "usage": None,
        "exit_reason": None,
        "files": {},
        "warnings": [],
    }
    return blank | known


def _usage(spent: Mapping[str, Usage]) -> Json:
    work = sum((u for tier, u in spent.items() if tier != "judge"), Usage())
    judge = {"judge": _numbers(spent["judge"])} if "judge" in spent else {}
    return _numbers(work) | {"tiers": {t: _numbers(u) for t, u in spent.items()}} | judge


def _numbers(usage: Usage) -> Json:
    return {
        "input": usage.input,
        "output": usage.output,
        "calls": usage.calls,
        "cost": usage.cost,
    }


def _bounded(text: str) -> str:
    if len(text) <= SUMMARY_LIMIT:
        return text
    return f"{text[:SUMMARY_LIMIT]}… [cut, {len(text)} characters in all]"
