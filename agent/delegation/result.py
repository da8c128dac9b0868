"""The result of delegate_task, as the parent model reads it. Always JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent.delegation.core.events import Finish
from agent.delegation.core.state import State
from storage.records.delegations import Delegation
from storage.records.entries import Json, Usage
from storage.records.questions import Question

SUMMARY_LIMIT = 8_000
FILES_NAMED = 10
"""In a warning."""


def finished_result(
    state: State, finish: Finish, spent: Mapping[str, Usage], files: Mapping[str, str]
) -> Json:
    """`spent` is by tier; the judge's part is shown apart."""
    more: Json = {"envelope": finish.envelope} if finish.envelope is not None else {}
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
        verdict=_verdict(finish.verdict),
        exit_reason=finish.exit_reason,
        usage=_usage(spent),
        files=dict(files),
        warnings=[*state.task.warnings, *finish.warnings],
        **more,
    )


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
    writers: dict[str, list[int]] = {}
    for at, result in enumerate(results):
        for path, how in (result.get("files") or {}).items():
            if how == "wrote":
                writers.setdefault(path, []).append(at)
    return [_warned(result, at, writers) for at, result in enumerate(results)]


def _warned(result: Json, at: int, writers: Mapping[str, Sequence[int]]) -> Json:
    shared: dict[str, list[str]] = {}
    for path, who in writers.items():
        if at in who and len(who) > 1:
            others = ", ".join(f"task {other + 1}" for other in who if other != at)
            shared.setdefault(others, []).append(path)
    warnings = [
        f"{others} of this call wrote the same: {_named(paths)}; only what was written last is kept"
        for others, paths in shared.items()
    ]
    return result | {"warnings": [*(result.get("warnings") or ()), *warnings]} if shared else result


def _named(paths: Sequence[str]) -> str:
    left = len(paths) - FILES_NAMED
    return ", ".join(paths[:FILES_NAMED]) + (f" and {left} more" if left > 0 else "")


def to_text(*results: Json) -> str:
    return json.dumps({"results": list(results)}, ensure_ascii=False)


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


def _verdict(said: Json | None) -> Json | None:
    """The judge saw all of the output; the parent gets as much of it as of the summary."""
    return said and said | {"output": _bounded(said["output"])}


def _bounded(text: str) -> str:
    if len(text) <= SUMMARY_LIMIT:
        return text
    return f"{text[:SUMMARY_LIMIT]}… [cut, {len(text)} characters in all]"
