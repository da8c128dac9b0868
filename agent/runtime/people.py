"""How a call asks people: those who decide, and what a question is asked for."""

from dataclasses import dataclass, field
from typing import Protocol

from agent.runtime.journal import Journal
from agent.tools.base import Ask
from storage.records.entries import Draft, Json
from storage.records.questions import Question, QuestionDraft
from storage.records.record_entries import ResumedCall, record_draft
from storage.store import Transaction


class People(Protocol):
    """Those who decide, within a transaction."""

    def ask(self, tx: Transaction, draft: QuestionDraft) -> Question:
        """Store a question and post it where the policy says."""
        ...

    def withdraw(self, tx: Transaction, question: int) -> None:
        """Close it undecided, where it is open, and say so on its copies."""
        ...


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks for the calls of one agent."""

    people: People
    session: int
    """The session whose turn goes on with the answer."""
    address: str
    """The conversation that asked, and that gets the answer."""
    subject: Json = field(default_factory=dict)
    """What else is needed to go on; see Question."""

    def ask(self, tx: Transaction, asked: Ask, entry: int, call: str) -> Question:
        draft = QuestionDraft(
            kind=asked.kind,
            text=asked.text,
            choices=asked.choices,
            session=self.session,
            address=self.address,
            subject={**asked.subject, **self.subject, "call_entry": entry, "call_id": call},
            details=asked.details,
        )
        return self.people.ask(tx, draft)


def asked_by(question: Question, entry: int, call: str) -> bool:
    """Whether a call asked this itself, and not something that it waits for."""
    subject = question.subject
    return subject.get("call_entry") == entry and subject.get("call_id") == call


class _BegunBefore(Exception):
    """On another branch or in a fork, which have the call on their paths too."""


async def begin(journal: Journal, begins: ResumedCall, author: str) -> bool:
    """Append that a call begins that was decided about; False where it began before, anywhere."""

    def draft(tx: Transaction) -> Draft:
        if not tx.questions.begin(begins.question):
            raise _BegunBefore
        return record_draft(begins, author)

    try:
        await journal.append(draft)
    except _BegunBefore:
        return False
    return True
