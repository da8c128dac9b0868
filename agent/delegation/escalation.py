"""A delegation's question to a person: asked in its journal, and what became of it."""

from typing import assert_never

from agent.delegation.core.events import (
    Answered,
    Asked,
    AskHuman,
    Event,
    Expired,
    Interrupted,
    event_draft,
)
from agent.delegation.core.state import State
from agent.delegation.question_text import question_details, question_text
from agent.delegation.settlement import spent_by_tier
from agent.runtime.journal import Journal
from agent.runtime.people import People
from storage.records.delegations import Delegation
from storage.records.entries import Draft
from storage.records.questions import Question, QuestionDraft, QuestionState
from storage.store import Transaction


async def ask_person(
    journal: Journal, people: People, delegation: Delegation, state: State, step: AskHuman
) -> Asked:
    """Store the question and the event that says so, in one transaction."""
    asked: list[Asked] = []

    def work(tx: Transaction) -> Draft:
        draft = QuestionDraft(
            kind="escalation",
            text=question_text(state, step.text),
            choices=step.choices,
            session=delegation.root,
            address=delegation.address,
            subject={"delegation": delegation.top or delegation.id},
            details=question_details(state, spent_by_tier(tx, delegation)),
        )
        tx.delegations.update(delegation.id, state="waiting", tier="human")
        asked[:] = [Asked(people.ask(tx, draft).id)]
        return event_draft(asked[0])

    await journal.append(work)
    return asked[0]


def decision(asked: Question) -> Event | None:
    """What became of a question; None while it is open."""
    match asked.state:
        case QuestionState.OPEN:
            return None
        case QuestionState.DECIDED:
            assert asked.choice is not None
            return Answered(asked.choice, asked.decided_name or asked.decided_by, asked.words)
        case QuestionState.EXPIRED:
            return Expired("failed" if asked.choice == "failed" else "rejected")
        case QuestionState.WITHDRAWN:
            return Interrupted()
        case _:
            assert_never(asked.state)
