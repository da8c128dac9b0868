"""What carrying a delegation on comes to, for whoever delegated."""

from dataclasses import dataclass

from agent.delegation.result import waiting_result
from storage.records.delegations import Delegation
from storage.records.entries import Json
from storage.records.questions import Question


@dataclass(frozen=True, slots=True)
class Finished:
    result: Json


@dataclass(frozen=True, slots=True)
class Held:
    """A person must decide."""

    question: int
    result: Json
    """What the parent is told until then."""


@dataclass(frozen=True, slots=True)
class Launched:
    """It runs in the background."""

    result: Json


Performed = Finished | Held | Launched


def held(delegation: Delegation, question: Question) -> Held:
    return Held(question.id, waiting_result(delegation.goal, question))
