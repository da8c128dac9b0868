"""What a commit tells whoever watches the store, in this process and in others."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from storage.jobs import TakenJob
from storage.records.chats.chat_settings import ChatChoiceChange
from storage.records.chats.people import Right
from storage.records.entries import Json
from storage.records.figures.happened import Happened
from storage.records.ledger import LedgerLine


@dataclass(frozen=True, slots=True)
class Signal:
    """What one process says to the others."""

    topic: str
    message: Json


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit left for others to do."""

    sessions: frozenset[int]
    """Their inbox got rows, or what a turn there had read is not true any more."""
    outbox: bool
    """The outbox got rows."""
    schedules: bool = False
    """Something may be due at another time than before."""
    questions: bool = False
    """The same of a question."""
    rights: Mapping[str, Right | None] = field(default_factory=dict)
    """By identity, what somebody may do from now on; None: nothing."""
    choices: tuple[ChatChoiceChange, ...] = ()
    """What was chosen for conversations, in order."""
    happened: tuple[Happened, ...] = ()
    """What else is counted, in order."""
    billed: tuple[LedgerLine, ...] = ()
    """What the ledger got."""
    forgetting: bool = False
    """Somebody is to be forgotten from now on."""
    settings: bool = False
    """Rights, choices or threads may have changed, besides those that are named here."""
    signals: tuple[Signal, ...] = ()
    queued: frozenset[int] = field(default=frozenset(), compare=False)
    """Of the sessions, those that somebody looks at: a job of theirs came with the commit."""
    taken: tuple[TakenJob, ...] = field(default=(), compare=False)
    """Those of this process itself."""
    entries: bool = field(default=False, compare=False)
    """Sessions got entries. Nobody is told of that alone."""
    elsewhere: bool = False
    """It was another process's."""

    @property
    def concerns_others(self) -> bool:
        """Whether other processes are to hear of it."""
        grew = bool(self.sessions or self.rights or self.choices or self.signals)
        due = self.schedules or self.questions
        return grew or due or self.outbox or self.settings or self.forgetting

    def __bool__(self) -> bool:
        return self.concerns_others or bool(self.happened or self.billed)
