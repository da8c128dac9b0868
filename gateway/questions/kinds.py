"""What there is to know of each kind of question, as data: nothing else tells kinds apart."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.tools.approval.answer import KIND as APPROVAL
from agent.tools.clarify import KIND as CLARIFY
from storage.records.inbox_outbox import InboxKind
from storage.records.questions import Question


@dataclass(frozen=True, slots=True)
class QuestionKind:
    climbs: bool = False
    """It is posted to the levels of the escalation policy, one after the other."""
    listed: bool = False
    """/questions shows it, and it is posted afresh where its buttons may be dead."""
    withdrawn: bool = False
    """/stop withdraws it, in the session that waits for it."""
    talk_answers: bool = False
    """What the person who is asked writes in its conversation answers it, where it is the only
    one."""
    lapses: str = ""
    """What it comes to when its time is over; "" for what the escalation policy says."""
    resumes: InboxKind | None = None
    """The kind of the inbox row with which its session goes on, once it is decided or its time is
    over; None for none."""


KINDS: Mapping[str, QuestionKind] = {
    "escalation": QuestionKind(climbs=True, listed=True, withdrawn=True, resumes=InboxKind.RESUME),
    APPROVAL: QuestionKind(climbs=True, listed=True, withdrawn=True, resumes=InboxKind.RESUME),
    CLARIFY: QuestionKind(
        listed=True,
        withdrawn=True,
        talk_answers=True,
        lapses="no answer",
        resumes=InboxKind.RESUME,
    ),
}
"""By the `kind` of a question."""
OTHER = QuestionKind()
"""What another version of this program asked: it can be decided and expires, and no more."""


def kind_of(question: Question) -> QuestionKind:
    return KINDS.get(question.kind, OTHER)
