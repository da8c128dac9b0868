"""Stopping and pausing children by button: a question whose buttons act at once.

It is asked by /agents of whoever asked and holds for an hour. A press decides nothing: the buttons
act as often as they are pressed.
"""

from collections.abc import Mapping, Sequence

from agent.delegation.supervision import Activity
from storage.records.delegations import Delegation
from storage.records.questions import Choice, QuestionDraft

KIND = "control"
VALID_FOR = 3600.0
"""Seconds."""
MOST = 12
"""Children with buttons, two each. Discord takes 25 buttons a message."""
OVER = "These buttons do nothing any more: /agents shows what runs now."


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
    choices = controls(rows, active)
    if not choices:
        return None
    return QuestionDraft(
        kind=KIND,
        text=text,
        choices=choices,
        session=session,
        address=address,
        subject={"by": by},
        expires=now + VALID_FOR,
    )


def controls(rows: Sequence[Delegation], active: Mapping[int, Activity]) -> tuple[Choice, ...]:
    """What can be done to the first children that run, in this order."""
    choices: list[Choice] = []
    running = [(row, active.get(row.id)) for row in rows]
    for row, activity in [(row, one) for row, one in running if one is not None][:MOST]:
        pause = "resume" if activity.paused else "pause"
        choices.append(Choice(f"{pause}:{row.id}", f"{pause.capitalize()} #{row.id}"))
        choices.append(Choice(f"stop:{row.id}", f"Stop #{row.id}", "danger"))
    return tuple(choices)


def act(choice: str, active: Mapping[int, Activity]) -> None:
    """Do what a button says. A child that is gone needs nothing."""
    what, _, number = choice.partition(":")
    activity = active.get(int(number))
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
            raise ValueError(f"{choice!r} is nothing that can be done to a child")
