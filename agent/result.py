"""The result of delegate_task, as the parent model reads it. Always JSON."""

import json
from typing import Any

from agent.delegation import State
from agent.delegation_events import Finish
from storage.entries import Json, Usage
from storage.questions import Question

SUMMARY_LIMIT = 8_000


def finished_result(state: State, finish: Finish, usage: Usage) -> Json:
    more: Json = {"envelope": finish.envelope} if finish.envelope is not None else {}
    return _result(
        state,
        status=finish.status,
        summary=_bounded(finish.summary),
        condition=finish.condition,
        branch=finish.branch,
        evidence=_bounded(finish.evidence) if finish.evidence else None,
        confidence=finish.confidence,
        resolved_by=finish.resolved_by,
        exit_reason=finish.exit_reason,
        usage={
            "input": usage.input,
            "output": usage.output,
            "calls": usage.calls,
            "cost": usage.cost,
        },
        warnings=[*state.task.warnings, *finish.warnings],
        **more,
    )


def waiting_result(state: State, question: Question) -> Json:
    return _result(
        state,
        status="waiting",
        summary="This is waiting for a decision by a person. The result arrives later by itself.",
        question=question.text,
        warnings=list(state.task.warnings),
    )


def to_text(*results: Json) -> str:
    return json.dumps({"results": list(results)}, ensure_ascii=False)


def _result(state: State, **known: Any) -> Json:
    blank: Json = {
        "task": state.task.goal,
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
        "warnings": [],
    }
    return blank | known


def _bounded(text: str) -> str:
    if len(text) <= SUMMARY_LIMIT:
        return text
    return f"{text[:SUMMARY_LIMIT]}… [cut, {len(text)} characters in all]"
