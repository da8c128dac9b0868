"""What a person may choose where a delegation asks one, and the outcome that a choice is."""

from collections.abc import Iterator, Sequence

from agent.delegation.core.events import Delta, Finish
from agent.delegation.core.report import Report, envelope
from agent.delegation.tables.model import (
    SINGLE_BRANCH,
    ActionKind,
    Branch,
    BranchTable,
    Condition,
    report_branches,
)
from agent.text.alike import skeleton
from agent.text.templates import render
from storage.records.questions import Choice

RETRY = Choice("retry", "Try again")
STOP = Choice("stop", "Stop", "danger")
MOST_CHOICES = 25
"""As many buttons as every platform shows."""
LONGEST_LABEL = 1_000
"""Characters of a choice; of a longer one the middle is left out, which is said, unless another has
the same ends."""


def choices(table: BranchTable | None, options: Sequence[str]) -> tuple[Choice, ...]:
    """Buttons, in order: the table's reports, the overseer's proposals, Try again, Stop. Of a table
    with very many reports, the first."""
    reports = report_branches(table) if table is not None else ()
    proposed = tuple(
        Choice(f"option:{i}", _told_apart(text, "Proposal")) for i, text in enumerate(options)
    )
    reported = _report_choices(reports[: _room(options)])
    return (*reported, *proposed, RETRY, STOP)


def without_button(table: BranchTable | None, options: Sequence[str]) -> int:
    """How many of the table's reports have no button."""
    reports = report_branches(table) if table is not None else ()
    return max(0, len(reports) - _room(options))


def _room(options: Sequence[str]) -> int:
    """For the table's reports."""
    return MOST_CHOICES - len(options) - len((RETRY, STOP))


def _told_apart(label: str, what: str) -> str:
    """A label that nobody takes for one of our own."""
    own = {skeleton(choice.label) for choice in (RETRY, STOP)}
    return f"{what}: {label}" if skeleton(label) in own else label


def _report_text(condition: Condition, branch: Branch) -> str:
    named = "" if branch.name == SINGLE_BRANCH else f"{branch.name}: "
    return f"{named}{condition.description}"


def _report_choices(reports: Sequence[tuple[Condition, Branch]]) -> Iterator[Choice]:
    texts = [_report_text(condition, branch) for condition, branch in reports]
    seen = [skeleton("".join(_ends(text))) for text in texts]
    for (condition, branch), text, ends in zip(reports, texts, seen, strict=True):
        label = _told_apart(text if seen.count(ends) > 1 else _bounded(text), "Report")
        yield Choice(f"report:{condition.number}:{branch.name}", label, "primary")


def _bounded(label: str) -> str:
    left_out = len(label) - LONGEST_LABEL
    if left_out <= 0:
        return label
    begin, end = _ends(label)
    return f"{begin} … [{left_out} characters left out] … {end}"


def _ends(label: str) -> tuple[str, str]:
    """What is shown of a long label; of a short one, all."""
    half = LONGEST_LABEL // 2
    return (label, "") if len(label) <= LONGEST_LABEL else (label[:half], label[-half:])


def chosen_report(
    table: BranchTable, goal: str, delta: Delta | None, choice: str, name: str
) -> Finish:
    """The outcome where `name` chose a report; `choice` is "NUMBER:BRANCH"."""
    number, _, branch_name = choice.partition(":")
    condition, branch = next(
        (c, b)
        for c, b in report_branches(table)
        if c.number == int(number) and b.name == branch_name
    )
    delta = delta or Delta("", "", "")
    fields = {
        "observed_state": delta.observed,
        "evidence": delta.evidence,
        "goal": goal,
        "branch": branch.name,
        "condition": condition.description,
    }
    seen = Report(condition.description, branch.name, delta.evidence, None, {}, delta.observed)
    whole = branch.action.kind is ActionKind.REPORT_WITH_EVIDENCE
    chosen = f"{name} decided: {branch.name} ({condition.description})."
    report = render(branch.action.format, fields) if branch.action.format else delta.observed
    return Finish(
        "completed",
        f"{chosen} {report}".strip(),
        "decided",
        resolved_by="human",
        condition=condition.description,
        branch=branch.name,
        evidence=delta.evidence or None,
        envelope=envelope(seen, delta.raw_tail) if whole else None,
    )
