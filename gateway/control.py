"""Stopping and pausing children by button: a question whose answer acts at once.

It is asked by /agents of whoever asked, holds for an hour, and resumes nothing.
"""

from collections.abc import Mapping, Sequence

from agent.activity import Activity
from storage.delegations import Delegation
from storage.questions import Choice, Question, QuestionDraft

KIND = "control"
VALID_FOR = 3600.0
"""Seconds."""


def control_question(
    text: str,
    rows: Sequence[Delegation],
    active: Mapping[int, Activity],
    *,
    by: str,
    session: int,
    address: str,
    now: float,
) -> QuestionDraft | None:
    """Buttons for the children that run; None where none does."""
    choices: list[Choice] = []
    for row in rows:
        activity = active.get(row.id)
        if activity is not None:
            pause = "resume" if activity.paused else "pause"
            choices.append(Choice(f"{pause}:{row.id}", f"{pause.capitalize()} #{row.id}"))
            choices.append(Choice(f"stop:{row.id}", f"Stop #{row.id}", "danger"))
    if not choices:
        return None
    return QuestionDraft(
        kind=KIND,
        text=text,
        choices=tuple(choices),
        session=session,
        address=address,
        subject={"by": by},
        expires=now + VALID_FOR,
    )


def act(question: Question, active: Mapping[int, Activity]) -> None:
    """Do what a decided control question says. A child that is gone needs nothing."""
    what, _, number = (question.choice or "").partition(":")
    activity = active.get(int(number)) if number else None
    if activity is None:
        return
    match what:
        case "stop":
            activity.stop()
        case "pause":
            activity.pause()
        case "resume":
            activity.resume()
        case _:
            raise ValueError(f"{question.choice!r} is nothing that can be done to a child")
