"""What a parent is told of a delegation costs as many tokens as it says something."""

import json
from collections.abc import Mapping
from typing import Any

from agent.delegation.core.events import Finish, Task
from agent.delegation.core.machine import begin
from agent.delegation.core.report import EVIDENCE_LIMIT
from agent.delegation.core.state import State
from agent.delegation.result import SUMMARY_LIMIT, finished_result, to_text
from agent.text.templates import VALUE_LIMIT
from storage.records.entries import Json, Usage

SPENT = {"worker": Usage(2_345, 67, 3, 0.0001234567)}
LONG = "".join(f"line {number:04} of what was seen\n" for number in range(250))[:7_000]


def state(goal: str = "What is 6 times 7?", **more: Any) -> State:
    return begin(Task(goal, "", "worker", "overseer", 50, 2, **more))


def told(
    finish: Finish, spent: Mapping[str, Usage] = SPENT, files: Mapping[str, str] | None = None
) -> Json:
    (result,) = json.loads(text_of(finish, spent, files or {}))["results"]
    return dict(result)


def text_of(finish: Finish, spent: Mapping[str, Usage], files: Mapping[str, str]) -> str:
    return to_text(finished_result(state(), finish, spent, files))


def test_a_short_answer_costs_little() -> None:
    text = text_of(Finish("completed", "42", "answered", resolved_by="worker"), SPENT, {})
    assert len(text) <= 160
    (result,) = json.loads(text)["results"]
    assert result["summary"] == "42"
    assert (result["status"], result["resolved_by"]) == ("completed", "worker")


def test_what_is_empty_is_left_out() -> None:
    result = told(Finish("failed", "Stopped.", "max_iterations"))
    assert result.keys() == {"task", "status", "summary", "usage", "exit_reason"}
    assert result["usage"] == {"cost": 0.000123}


def report(summary: str, evidence: str, **more: Any) -> Finish:
    return Finish(
        "completed",
        summary,
        "reported",
        resolved_by="worker",
        condition="It loads",
        branch="ok",
        evidence=evidence,
        **more,
    )


def test_long_evidence_arrives_once() -> None:
    envelope = {
        "condition": "It loads",
        "branch": "ok",
        "evidence": LONG,
        "confidence": 0.9,
        "checks": {"It works": True},
        "raw_tail": LONG[-4_000:],
    }
    verdict = {"verdict": "PASS", "reasoning": "It is there.", "output": f"Branch: ok\n{LONG}"}
    whole = report(LONG, LONG, confidence=0.9, envelope=envelope, verdict=verdict)
    text = json.dumps(told(whole))
    assert text.count("line 0100 ") == 1
    assert len(text) < len(json.dumps(LONG)) + 400
    result = json.loads(text)
    assert result["summary"] == LONG
    assert result["verdict"] == {"verdict": "PASS", "reasoning": "It is there."}
    assert result["envelope"] == {"checks": {"It works": True}}
    assert (result["branch"], result["confidence"]) == ("ok", 0.9)


def test_a_summary_that_quotes_the_evidence_says_it() -> None:
    short = told(report("Found: the toggle", "the toggle"))
    assert short["summary"] == "Found: the toggle"
    assert "evidence" not in short
    assert told(report("It is broken", "ok"))["evidence"] == "ok"
    cut = told(report(f"Found: {LONG[:VALUE_LIMIT]}… [cut, 7000 characters in all]", LONG))
    assert cut["evidence"] == LONG
    assert cut["summary"] == "Found: [the evidence]… [cut, 7000 characters in all]"


def test_a_summary_that_is_a_part_of_the_evidence_is_not_told_twice() -> None:
    assert "summary" not in told(report(LONG[500:3_000], LONG))
    """A short one says which part it is."""
    assert told(report("42", "6 times 7 is 42"))["summary"] == "42"


def test_raw_output_is_told_where_it_shows_more() -> None:
    envelope = {"evidence": "seen", "raw_tail": "first\nseen\nlast", "checks": {}}
    assert told(report("ok", "seen", envelope=envelope))["envelope"] == {
        "raw_tail": "first\nseen\nlast"
    }
    quoted = LONG[:600]
    envelope = {"evidence": quoted, "raw_tail": f"before {quoted} after", "checks": {}}
    assert told(report("ok", quoted, envelope=envelope))["envelope"] == {
        "raw_tail": "before [as quoted] after"
    }


def test_a_judges_cost_stands_apart_and_only_written_files_are_named() -> None:
    spent = SPENT | {"judge": Usage(100, 5, 1, 0.00001)}
    files = {"read.txt": "read", "new.txt": "wrote"}
    result = told(Finish("completed", "done", "answered", resolved_by="worker"), spent, files)
    assert result["usage"] == {"cost": 0.000123, "judge": 1e-05}
    assert result["files"] == {"new.txt": "wrote"}


def test_what_is_kept_for_people_is_whole() -> None:
    kept = finished_result(state(), report("x", "x"), SPENT, {"read.txt": "read"})
    assert kept["usage"]["tiers"]["worker"]["calls"] == 3
    assert kept["files"] == {"read.txt": "read"}
    assert kept["evidence"] == "x"


def test_a_long_goal_is_known_again_by_its_ends() -> None:
    goal = "Look into " + "x" * 5_000 + " of shop 7"
    finish = Finish("completed", "42", "answered", resolved_by="worker")
    (result,) = json.loads(to_text(finished_result(state(goal), finish, SPENT, {})))["results"]
    assert result["task"].startswith("Look into x")
    assert result["task"].endswith(" of shop 7")
    assert len(result["task"]) < 110


def test_results_of_an_older_version_arrive_lean_too() -> None:
    stored = finished_result(state(), report(LONG, LONG), SPENT, {})
    stored |= {"verdict": {"verdict": "FAIL", "reasoning": "No.", "output": LONG}, "question": None}
    assert to_text(stored).count("line 0100 ") == 1


def test_bounds_hold_for_people_and_parents() -> None:
    endless = "x" * 50_000
    result = told(report(endless, endless))
    assert len(result["summary"]) < SUMMARY_LIMIT + 100
    assert "evidence" not in result
    assert EVIDENCE_LIMIT >= SUMMARY_LIMIT
