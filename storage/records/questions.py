"""A question to a person: one shape for everything that waits for somebody's decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from storage.records.entries import Json


class QuestionState(StrEnum):
    OPEN = "open"
    DECIDED = "decided"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


WORDS = "words"
"""The key of the choice to answer in words: a question that has it takes them."""

BEGUN = "begun"
"""The key of a subject that says that what was asked for has begun, and is not to begin again."""


@dataclass(frozen=True, slots=True)
class Choice:
    key: str
    """Unique within its question; what the asker gets back."""
    label: str
    style: str = "plain"
    """"plain", "primary" or "danger"."""
    effect: str = ""
    """What comes of it, in full and in plain words; "" where the label says it."""
    other: bool = False
    """Shown only to who asks for the other choices."""


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    kind: str
    """What asks: "escalation", "clarify"."""
    text: str
    """Markdown."""
    choices: tuple[Choice, ...]
    session: int
    """The session whose turn goes on with the answer."""
    address: str
    """The conversation that asked, and that gets the answer."""
    subject: Json
    """What is needed to go on: "delegation", where one waits for this or has a child that does;
    else the call that asked, as "call_entry" and "call_id", and for whom, as "person"."""
    expires: float | None = None
    """Unix seconds; None: never."""
    details: str = ""
    """Markdown: what explains the question. It stands below the choices."""


@dataclass(frozen=True, slots=True)
class Question:
    id: int
    kind: str
    text: str
    choices: tuple[Choice, ...]
    session: int
    address: str
    subject: Json
    expires: float | None
    created: float
    state: QuestionState
    level: int
    """How many levels of the escalation policy it has been posted to."""
    choice: str | None
    """The key of the choice, once decided."""
    decided_by: str
    """Identity of who decided ("telegram:1001"), or "" when nobody did."""
    decided_name: str
    decided_at: float | None
    details: str = ""
    words: str = ""
    """What was answered, where the choice is WORDS."""

    @property
    def takes_words(self) -> bool:
        return any(choice.key == WORDS for choice in self.choices)


@dataclass(frozen=True, slots=True)
class QuestionPost:
    """One copy of a question in one conversation."""

    id: int
    question: int
    address: str
    outbox: int
    """The outbox row that carries it."""
    prompt: bool = False
    """A reply to it answers, and that is all: question and buttons stand elsewhere."""


class Questions(Protocol):
    def create(self, draft: QuestionDraft) -> Question: ...

    def get(self, question: int) -> Question: ...

    def open(self, session: int | None = None) -> list[Question]:
        """Open questions, oldest first: of one session, or all."""
        ...

    def timed(self, now: float, begun: Sequence[float]) -> list[Question]:
        """Those of them that expire by `now`, and those that stand at a level for which there is a
        time in `begun` and were created by then. Unix seconds."""
        ...

    def next_timed(self, now: float, delays: Sequence[float]) -> float | None:
        """The first time after `now` at which one expires, or has stood at the level of that number
        for as long as `delays` says, in seconds, since it was created. Unix seconds."""
        ...

    def close(
        self,
        question: int,
        state: QuestionState,
        *,
        choice: str | None = None,
        by: str = "",
        name: str = "",
        words: str = "",
    ) -> bool:
        """Compare-and-set from open: False where it was not open any more, and nothing changes."""
        ...

    def begin(self, question: int) -> bool:
        """Note that what it was asked for begins; False where it was noted before."""
        ...

    def reach_level(self, question: int, level: int) -> bool:
        """Compare-and-set from level-1 to `level`; False where it was not there."""
        ...

    def add_post(
        self, question: int, address: str, outbox: int, *, prompt: bool = False
    ) -> QuestionPost: ...

    def posted(self, addresses: Sequence[str], message_id: str) -> int | None:
        """The question that a message at one of these addresses is a copy of, or a prompt for."""
        ...

    def posts(self, question: int) -> list[QuestionPost]: ...
