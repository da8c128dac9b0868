"""What a person may choose where a delegation asks one, and the outcome that a choice is."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

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
from agent.text.fencing import fence
from agent.text.templates import FIELDS, render
from storage.records.questions import WORDS, Choice

IN_WORDS = Choice(
    WORDS,
    "Answer in words",
    effect="the worker goes on with your instruction and reports again",
)
RETRY = Choice("retry", "Try again", effect="a new worker starts from the beginning")
STOP = Choice("stop", "Stop", "danger", effect="ends the task without a result")
OWN = (IN_WORDS, RETRY, STOP)
_TAKEN = (*(choice.label for choice in OWN), "Other outcomes…", "More outcomes…", "Back")
"""Labels that nobody else's choice may have."""
MOST_CHOICES = 24
"""As many buttons as every platform shows, and one for those that are shown on demand."""
LONGEST_LABEL = 1_000
"""Characters of a choice; of a longer one the middle is left out, which is said, unless another has
the same ends."""
_EFFECT_LIMIT = 300
_INSTRUCTED = "A person decides."


def choices(
    table: BranchTable | None, options: Sequence[str], reached: str = ""
) -> tuple[Choice, ...]:
    """Buttons, in order: the reports of the condition that was reached, the overseer's proposals,
    an answer in words, Try again, Stop. The table's other reports are shown on demand."""
    reports = report_branches(table) if table is not None else ()
    proposed = [
        Choice(
            f"option:{i}", _told_apart(text, "Proposal"), effect="ends the task with this answer"
        )
        for i, text in enumerate(options)
    ]
    room = MOST_CHOICES - len(proposed) - len(OWN)
    reported = list(_report_choices(reports))
    of_reached = (condition.description == reached for condition, _ in reports)
    first = [one for one, is_meant in zip(reported, of_reached, strict=True) if is_meant][:room]
    others = [replace(one, other=True) for one in reported if one not in first]
    return (*first, *proposed, *OWN, *others)


def instruction(name: str, words: str) -> str:
    """What a worker is told when a person answered in words."""
    told = (
        f"{_INSTRUCTED} What stands between the tags is the instruction of {name}, who may decide "
        "about your task, in their own words. Follow it with the tools you have, then call "
        "report_outcome again."
    )
    return f"{told}\n\n{fence('instruction', words, by=name)}"


def is_instruction(told: str) -> bool:
    """Of what a worker was sent back with."""
    return told.startswith(_INSTRUCTED)


def _told_apart(label: str, what: str) -> str:
    """A label that nobody takes for one of our own."""
    own = {skeleton(taken) for taken in _TAKEN}
    return f"{what}: {label}" if skeleton(label) in own else label


def _report_choices(reports: Sequence[tuple[Condition, Branch]]) -> Iterator[Choice]:
    texts = list(_labels(reports))
    ends = [skeleton("".join(_ends(text))) for text in texts]
    for (condition, branch), text, end in zip(reports, texts, ends, strict=True):
        label = _told_apart(text if ends.count(end) > 1 else _bounded(text), "Report")
        effect = _effect(condition, branch, label)
        yield Choice(f"report:{condition.number}:{branch.name}", label, "primary", effect)


def _labels(reports: Sequence[tuple[Condition, Branch]]) -> Iterator[str]:
    """In few words each; with more where those would be the same."""
    names = [_label(condition, branch) for condition, branch in reports]
    looks = [skeleton(name) for name in names]
    for name, look, (condition, branch) in zip(names, looks, reports, strict=True):
        more = branch.name if branch.label else condition.description
        is_clear = looks.count(look) == 1 or more in name
        yield name if is_clear else f"{name}: {more}"


def _label(condition: Condition, branch: Branch) -> str:
    """A report branch in few words: as the table labels it, else by its name."""
    if branch.label or branch.name == SINGLE_BRANCH:
        return branch.label or condition.description
    words = " ".join(branch.name.replace("_", " ").split()) or branch.name
    return words[:1].upper() + words[1:]


def _effect(condition: Condition, branch: Branch, label: str) -> str:
    """What choosing a report does, in plain words."""
    said = f" as “{_bounded(condition.description)}”"
    said = "" if condition.description in label else said
    form = render(branch.action.format, dict.fromkeys(FIELDS, "…")) if branch.action.format else ""
    reports = f", and reports “{form[:_EFFECT_LIMIT]}”" if form else ""
    return f"ends the task{said}{reports}"


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
    label, said = _label(condition, branch), condition.description
    chosen = f"{name} decided: {label if branch.label or said in label else f'{label} ({said})'}."
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
