"""A worker's report, read leniently, and matched strictly against its branch table. Pure.

Cheap models get types wrong often and meanings seldom, so parse_report takes what can be
understood. What cannot be matched comes out with a reason that the worker can be corrected with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
)

from agent.delegation.core.arguments import Fault, Prose, read_arguments
from agent.delegation.tables.model import (
    CHECKED_BRANCH,
    DEFAULT,
    SINGLE_BRANCH,
    Branch,
    BranchTable,
    Condition,
    fold,
    position,
)
from agent.text.templates import cut, cut_head
from agent.text.untrusted import as_text, kind_of, quote, unquoted
from storage.records.entries import Json

EVIDENCE_LIMIT = 8_000
RAW_TAIL_LIMIT = 4_000
"""Characters of evidence and of raw output in an envelope."""
_NAME_LIMIT = 500
_CHECKS_LIMIT = 50
_LISTING_LIMIT = 2_000

_PASSED = frozenset({"true", "passed", "pass", "yes", "y", "ok", "1"})
_FAILED = frozenset({"false", "failed", "fail", "no", "n", "0"})


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker said, before it is held against its table. Texts are untrusted."""

    condition: str
    """Description, number, "default", or "" where it gave none."""
    branch: str
    evidence: str
    confidence: float | None
    """From 0 to 1; None where none, or none that can be understood, was given."""
    checks: Mapping[str, bool]
    """By text or number."""
    observed_state: str
    warnings: tuple[str, ...] = ()
    passed_only: bool = False
    """`checks` was a list of what passed, so a check that is not in it did not pass."""


@dataclass(frozen=True, slots=True)
class Matched:
    condition: Condition
    branch: Branch
    report: Report
    warnings: tuple[str, ...] = ()
    """Of matching; the report has its own."""


@dataclass(frozen=True, slots=True)
class Unmatched:
    reason: str
    """What is wrong and what could be reported instead, for the worker."""
    deliberate: bool = False
    """The worker chose the default: there is nothing to correct."""


def _word(value: object, info: ValidationInfo) -> str:
    if isinstance(value, dict | list):
        raise ValueError(f"{info.field_name} must be text, not {kind_of(value)}")
    return as_text(value)


_CHECKS: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "check": {"type": "string", "description": "Its text or number."},
            "passed": {"type": "boolean"},
        },
        "required": ["check", "passed"],
    },
}
"""A list: Gemini takes no object of free keys, though one from check to boolean is read too."""

Word = Annotated[str, BeforeValidator(_word, json_schema_input_type=str)]


class ReportArguments(BaseModel):
    model_config = ConfigDict(json_schema_extra={"required": ["condition", "branch", "evidence"]})

    condition: Word = Field(
        description='The condition that holds: its text or number; "default" if none does.'
    )
    branch: Word = Field(
        description='The name of the branch that came out; "default" if none fits.'
    )
    evidence: Prose = Field(
        description="What you saw that shows it, quoted as it was. Never empty."
    )
    confidence: Annotated[Any, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})] = (
        Field(description="How sure you are, from 0 to 1.")
    )
    checks: Annotated[Any, WithJsonSchema(_CHECKS)] = Field(
        description="Each check of the condition: did it pass?"
    )
    observed_state: Prose = Field(
        description="The state you found, above all where no branch fits."
    )


REPORT_NAME = "report_outcome"
REPORT_TOOL = ReportArguments.model_json_schema()
"""JSON schema of report_outcome's arguments."""


def parse_report(arguments: Mapping[str, Any]) -> Report | Fault:
    """The report in a call's arguments; what cannot be understood is left out with a warning."""
    given = read_arguments(ReportArguments, arguments)
    if isinstance(given, Fault):
        return given
    warnings: list[str] = []
    checks, passed_only = _checks(given.checks, warnings)
    return Report(
        condition=given.condition,
        branch=given.branch,
        evidence=given.evidence,
        confidence=_confidence(given.confidence, warnings),
        checks=checks,
        observed_state=given.observed_state,
        warnings=tuple(warnings),
        passed_only=passed_only,
    )


def _confidence(value: object, warnings: list[str]) -> float | None:
    if value is None or value == "":
        return None
    number = _number(value)
    if number is not None and 0 <= number <= 1:
        return number
    warnings.append(f"confidence {quote(value)} is not a number from 0 to 1; it is left out")
    return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return None
    return number / 100 if text.endswith("%") else number


def _checks(value: object, warnings: list[str]) -> tuple[dict[str, bool], bool]:
    """Checks by text or number, and whether only what passed was listed."""
    match unquoted(value):
        case dict(said):
            return _read(_pairs(said), warnings), False
        case list(listed) if any(isinstance(each, dict) for each in listed):
            return _read([pair for each in listed for pair in _pairs(each)], warnings), False
        case list(listed):
            return {as_text(check): True for check in listed}, True
        case None | "":
            return {}, False
        case _:
            warnings.append(f"checks {quote(value)} are neither an object nor a list; left out")
            return {}, False


def _pairs(each: Any) -> list[tuple[str, Any]]:
    """What one of a list says: `{check, passed}`, `{text: passed}`, or the text of one that did."""
    match each:
        case {"check": check, "passed": passed}:
            return [(as_text(check), passed)]
        case dict(said):
            return list(said.items())
        case _:
            return [(as_text(each), True)]


def _read(said: Sequence[tuple[str, Any]], warnings: list[str]) -> dict[str, bool]:
    """Checks by text or number; "failed" outweighs."""
    known: dict[str, bool] = {}
    unclear: list[str] = []
    for check, word in said:
        passed = _passed(word)
        if passed is None:
            unclear.append(quote(check))
        else:
            known[check] = known.get(check, True) and passed
    if unclear:
        warnings.append(f"neither passed nor failed: {', '.join(unclear[:8])}")
    return known


def _passed(said: object) -> bool | None:
    word = fold(as_text(said))
    return True if word in _PASSED else False if word in _FAILED else None


def match_report(table: BranchTable, report: Report) -> Matched | Unmatched:
    """The branch that a report means, if it means one of this table and says what was seen.

    Checks bind the branch `ok` only: one that did not pass leaves the report unmatched, one that
    nobody mentioned is a warning.
    """
    if DEFAULT in (fold(report.condition), fold(report.branch)):
        return Unmatched("the worker chose the default", deliberate=True)
    wrong = [] if report.evidence.strip() else ["no evidence: say what you saw, as you saw it."]
    routed = _route(table, report)
    if isinstance(routed, str):
        return Unmatched(" ".join([routed, *wrong]))
    condition, branch = routed
    failed, warnings = _held_checks(condition, branch, report)
    if failed:
        wrong.insert(0, _contradiction(condition, branch, failed))
    if wrong:
        return Unmatched(" ".join(wrong))
    return Matched(condition, branch, report, warnings)


def _route(table: BranchTable, report: Report) -> tuple[Condition, Branch] | str:
    """The reported condition and branch, or what is wrong with them."""
    wanted = fold(report.branch)
    if not report.condition.strip():
        return _route_by_branch(table, report.branch)
    index = position(report.condition, [c.description for c in table.conditions])
    if index is None:
        return f"{quote(report.condition)} is not a condition; {_listing(table)}"
    condition = table.conditions[index]
    if not wanted and [b.name for b in condition.branches] == [SINGLE_BRANCH]:
        return condition, condition.branches[0]
    for branch in condition.branches:
        if fold(branch.name) == wanted:
            return condition, branch
    what = f"{quote(report.branch)} is not a branch" if wanted else "no branch was given"
    return f"{what}; {_branches(condition)}"


def _route_by_branch(table: BranchTable, name: str) -> tuple[Condition, Branch] | str:
    found = [(c, b) for c in table.conditions for b in c.branches if fold(b.name) == fold(name)]
    if len(found) == 1:
        return found[0]
    if not name.strip():
        return f"neither condition nor branch was given; {_listing(table)}"
    if not found:
        return f"{quote(name)} is not a branch; {_listing(table)}"
    numbers = ", ".join(str(condition.number) for condition, _ in found)
    return f"{quote(name)} is a branch of conditions {numbers}: say which; {_listing(table)}"


def _listing(table: BranchTable) -> str:
    listed = "; ".join(
        f"{c.number}. {quote(c.description, 200)} ({_names(c)})" for c in table.conditions
    )
    shown = cut(listed, _LISTING_LIMIT)
    return f'the conditions and their branches are: {shown}; or "{DEFAULT}" where none fits.'


def _branches(condition: Condition) -> str:
    name = f"condition {condition.number} ({quote(condition.description, 200)})"
    return f'{name} has the branches {_names(condition)}; or report "{DEFAULT}".'


def _names(condition: Condition) -> str:
    return cut(", ".join(branch.name for branch in condition.branches), _LISTING_LIMIT)


def _held_checks(
    condition: Condition, branch: Branch, report: Report
) -> tuple[list[str], tuple[str, ...]]:
    """The checks that speak against the branch, and warnings about those nobody mentioned."""
    if fold(branch.name) != CHECKED_BRANCH or not condition.checks:
        return [], ()
    said = _said(condition, report)
    unsaid = [check for check in condition.checks if check not in said]
    failed = [check for check, passed in said.items() if not passed]
    if report.passed_only:
        return failed + unsaid, ()
    if len(unsaid) == len(condition.checks):
        return failed, ("no checks were reported",)
    return failed, tuple(f"the check {quote(check)} was not reported" for check in unsaid)


def _said(condition: Condition, report: Report) -> dict[str, bool]:
    """What the report says about the condition's checks, by their text; "failed" outweighs."""
    said: dict[str, bool] = {}
    for key, passed in report.checks.items():
        index = position(key, condition.checks)
        if index is not None:
            check = condition.checks[index]
            said[check] = said.get(check, True) and passed
    return said


def _contradiction(condition: Condition, branch: Branch, failed: list[str]) -> str:
    checks = cut(", ".join(quote(check, 200) for check in failed), _LISTING_LIMIT)
    which = f"the check {checks}" if len(failed) == 1 else f"the checks {checks}"
    return f"{branch.name} was reported but {which} failed; {_branches(condition)}"


def envelope(outcome: Matched | Report, raw_tail: str) -> Json:
    """What an overseer or a parent gets as evidence, bounded; what is cut is said."""
    match outcome:
        case Matched(condition, branch, report):
            condition_text, branch_text = condition.description, branch.name
            checks = _said(condition, report)
        case Report() as report:
            condition_text, branch_text = report.condition, report.branch
            checks = dict(list(report.checks.items())[:_CHECKS_LIMIT])
    return {
        "condition": cut(condition_text, _NAME_LIMIT),
        "branch": cut(branch_text, _NAME_LIMIT),
        "evidence": cut(report.evidence, EVIDENCE_LIMIT),
        "confidence": report.confidence,
        "checks": {cut(check, _NAME_LIMIT): passed for check, passed in checks.items()},
        "raw_tail": cut_head(raw_tail, RAW_TAIL_LIMIT),
    }
