"""What a branch table is, and the two ways it is written out: for machines and for a worker. Pure.

A table says what may come out of a task: conditions, each with checks and named branches, and what
to do on each branch. `agent.delegation.tables.parse` reads tables from outside.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.text.templates import FIELDS, render
from storage.records.entries import Json

SINGLE_BRANCH = "match"
"""The name of a condition's only branch where the table gives it none."""
DEFAULT = "default"
"""What a worker reports as condition or branch where none fits; no condition or branch has it."""
CHECKED_BRANCH = "ok"
"""The branch that claims that every check of its condition passed."""


class ActionKind(StrEnum):
    REPORT = "report"
    REPORT_WITH_EVIDENCE = "report_with_evidence"
    ESCALATE = "escalate"
    EXPAND = "expand"
    """The overseer writes sub-branches when the branch is reached."""


REPORTS = frozenset({ActionKind.REPORT, ActionKind.REPORT_WITH_EVIDENCE})


class EscalationTier(StrEnum):
    OVERSEER = "overseer"
    HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Action:
    kind: ActionKind
    tier: EscalationTier | None = None
    """Set where kind is ESCALATE, and only there."""
    prompt: str = ""
    """Template for who is escalated to; "" for none."""
    format: str = ""
    """Template of the report; "" for the evidence as it is."""


@dataclass(frozen=True, slots=True)
class Branch:
    name: str
    action: Action
    label: str = ""
    """What a person's button says who may choose it; "" where the table gives none."""


@dataclass(frozen=True, slots=True)
class Condition:
    number: int
    """Counts from 1 in the table's order; a condition keeps it when the table is extended."""
    description: str
    checks: tuple[str, ...]
    branches: tuple[Branch, ...]
    """At least one."""


@dataclass(frozen=True, slots=True)
class BranchTable:
    conditions: tuple[Condition, ...]
    """At least one."""
    default: Action
    escalation_model: str | None = None
    max_escalation_depth: int | None = None
    """Overseer cycles before a person is asked; None: as configured."""
    warnings: tuple[str, ...] = ()
    """What whoever wrote the table should know; no part of its normal form."""


def report_branches(table: BranchTable) -> tuple[tuple[Condition, Branch], ...]:
    """Branches that end in a report, in table order."""
    return tuple(
        (condition, branch)
        for condition in table.conditions
        for branch in condition.branches
        if branch.action.kind in REPORTS
    )


def to_json(table: BranchTable) -> Json:
    """The one normal form: what is stored and what models are shown. parse_table reads it back."""
    form: Json = {}
    if table.escalation_model is not None:
        form["escalation_model"] = table.escalation_model
    if table.max_escalation_depth is not None:
        form["max_escalation_depth"] = table.max_escalation_depth
    form["conditions"] = [_condition_to_json(condition) for condition in table.conditions]
    form["default"] = _action_to_json(table.default)
    return form


def _condition_to_json(condition: Condition) -> Json:
    form: Json = {"description": condition.description}
    if condition.checks:
        form["checks"] = list(condition.checks)
    form["branches"] = {branch.name: _branch_to_json(branch) for branch in condition.branches}
    return form


def _branch_to_json(branch: Branch) -> Json:
    label = {"label": branch.label} if branch.label else {}
    return _action_to_json(branch.action) | label


def _action_to_json(action: Action) -> Json:
    form: Json = {"action": action.kind.value}
    if action.tier is not None:
        form["tier"] = action.tier.value
    if action.prompt:
        form["prompt"] = action.prompt
    if action.format:
        form["format"] = action.format
    return form


def describe(table: BranchTable) -> str:
    """The table as a cheap model reads it, to stand in a prompt.

    Each text of the table is put on one line below the label it belongs to, so no text can pass
    for a further condition or close a fence in markup around the whole.
    """
    lines: list[str] = []
    for condition in table.conditions:
        lines.append(f"{condition.number}. {_line(condition.description)}")
        lines += [f"   check {i}: {_line(c)}" for i, c in enumerate(condition.checks, 1)]
        lines += [
            f"   branch {_line(branch.name)}{_meaning(condition, branch)}"
            for branch in condition.branches
        ]
    lines.append(f'Anything else, or not sure which: condition "{DEFAULT}", branch "{DEFAULT}"')
    return "\n".join(lines)


def _meaning(condition: Condition, branch: Branch) -> str:
    said = []
    if fold(branch.name) == CHECKED_BRANCH and condition.checks:
        said.append("every check passed")
    elif branch.name == SINGLE_BRANCH and len(condition.branches) == 1:
        said.append("the condition holds")
    text = _line(_unfilled(branch.action.prompt or branch.action.format))
    if text:
        said.append(text)
    if branch.action.kind is ActionKind.REPORT_WITH_EVIDENCE:
        said.append("(quote the raw evidence)")
    return ": " + "; ".join(said) if said else ""


def _unfilled(template: str) -> str:
    return render(template, dict.fromkeys(FIELDS, "…"))


def _line(text: str) -> str:
    return " ".join(text.split()).replace("</", "< /")


def fold(text: str) -> str:
    """Text as names are compared: without case, with single spaces."""
    return " ".join(text.split()).casefold()


_NUMBERED = re.compile(r"(?:condition|check)?\s*#?\(?([0-9]{1,4})\)?(?:[.:)\s]\s*(.*))?")


def position(name: str, texts: Sequence[str]) -> int | None:
    """Which of the texts is meant, from 0: by the text, the numbered text, or its number from 1."""
    folded = [fold(text) for text in texts]
    wanted = fold(name)
    if wanted in folded:
        return folded.index(wanted)
    numbered = _NUMBERED.fullmatch(wanted)
    if numbered is None:
        return None
    number, rest = int(numbered[1]) - 1, numbered[2]
    if rest:
        return folded.index(rest) if rest in folded else None
    return number if 0 <= number < len(texts) else None
