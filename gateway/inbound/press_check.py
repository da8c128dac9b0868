"""The check of every press: the button is there, here, for whoever presses, not used up."""

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from adapters.events import Press
from gateway.access.denials import NOT_YOURS
from gateway.access.roles import Access
from gateway.commands.registry import moves, refused
from gateway.outbound.buttons import same_place
from gateway.questions.deciders import UNDECIDED
from gateway.questions.outcome import outcome
from gateway.questions.service import Questions
from gateway.status.child_control import OVER
from gateway.turns.control import SessionControl
from storage.records.buttons import (
    ActOnChild,
    AnswerInWords,
    ButtonRow,
    Decide,
    OnMenu,
    OnQuestion,
    RunAction,
    RunCommand,
    ShowChoices,
)
from storage.records.questions import WORDS, QuestionState
from storage.store import Transaction

UNKNOWN = "This button is not valid any more."
DENIED = "This button is not yours to press."


class Why(Enum):
    FORGED = "there is no such button, or not there"
    DENIED = "it is not for whoever pressed"
    LATE = "it is used up, or cannot be used now"


@dataclass(frozen=True, slots=True)
class Refused:
    """A press that comes to nothing."""

    why: Why
    told: str
    """What the presser is told."""
    button: ButtonRow | None = None
    """None where it is forged."""


Checked = ButtonRow | Refused


@dataclass(frozen=True, slots=True)
class PressCheck:
    access: Access
    questions: Questions
    turns: SessionControl

    def look(self, tx: Transaction, press: Press) -> Checked:
        """The button, where what it does may be done now. Writes nothing."""
        button = tx.buttons.get(press.token)
        if button is None or not same_place(button.address, press):
            is_menu = button is not None and isinstance(button.action, OnMenu)
            text = UNKNOWN if is_menu else f"{UNKNOWN} /questions lists what is open."
            return Refused(Why.FORGED, text)
        match button.action:
            case Decide() | AnswerInWords() | ShowChoices() as action:
                return self._on_question(tx, button, action.question, press)
            case RunCommand() | RunAction() as run:
                return self._run(tx, button, run, press)
            case ActOnChild():
                if not self._may_use(button, press):
                    return Refused(Why.DENIED, UNDECIDED, button)
                expired = button.expires is not None and button.expires <= tx.now
                return Refused(Why.LATE, OVER, button) if button.used or expired else button
            case _:
                assert_never(button.action)

    def enter(self, tx: Transaction, press: Press) -> Checked:
        """The same in the transaction that acts on it: what is refused is put on record, and a
        message whose sending was not recorded (a crash kept it from that) is recorded now."""
        checked = self.look(tx, press)
        button = checked.button if isinstance(checked, Refused) else checked
        if button is not None:
            _adopt(tx, button, press)
        if isinstance(checked, Refused):
            self._note(tx, checked, press)
        return checked

    def _on_question(
        self, tx: Transaction, button: ButtonRow, number: int, press: Press
    ) -> Checked:
        question = tx.questions.get(number)
        if not self.access.may_decide(press.user.identity, question):
            told = self.questions.deciders.refusal(tx, question, press.user.identity)
            return Refused(Why.DENIED, told, button)
        if question.state is not QuestionState.OPEN:
            return Refused(Why.LATE, outcome(question), button)
        return button

    def _run(self, tx: Transaction, button: ButtonRow, run: OnMenu, press: Press) -> Checked:
        if not self._may_use(button, press):
            return Refused(Why.DENIED, DENIED, button)
        if why := refused(run, self.access, press.user.identity):
            return Refused(Why.DENIED, why, button)
        if button.used:
            return Refused(Why.LATE, f"Already done. {button.used}", button)
        if self._ends_a_turn(tx, button, run, press):
            return Refused(Why.LATE, NOT_YOURS, button)
        return button

    def _ends_a_turn(self, tx: Transaction, button: ButtonRow, run: OnMenu, press: Press) -> bool:
        """Whether what it does would end a turn that the presser may not end."""
        about = run.payload.get("session") if isinstance(run, RunAction) else None
        session = about or tx.directory.conversation(button.address)
        if session is None or not moves(run):
            return False
        return not self.turns.may_cut(tx, session, press.user.identity, private=run.private)

    def _may_use(self, button: ButtonRow, press: Press) -> bool:
        who = press.user.identity
        own = button.by in ("", who) or self.access.is_owner(who)
        return own and self.access.may_command(who)

    def _note(self, tx: Transaction, refused: Refused, press: Press) -> None:
        who, action = press.user.identity, refused.button.action if refused.button else None
        match refused.why, action:
            case Why.FORGED, _:
                tx.directory.audit("forged press", who, {"token": press.token[:80]})
            case Why.DENIED, (Decide() | AnswerInWords() | ShowChoices()) as asked:
                denied = {"question": asked.question, "choice": _choice(asked)}
                tx.directory.audit("denied press", who, denied)
            case Why.DENIED, ActOnChild() as act:
                tx.directory.audit("denied press", who, {"choice": choice_of(act)})
            case Why.LATE, (Decide() | AnswerInWords() | ShowChoices()) as asked:
                assert refused.button is not None
                question = tx.questions.get(asked.question)
                self.questions.close_stray(tx, question, refused.button, press)


def _adopt(tx: Transaction, button: ButtonRow, press: Press) -> None:
    if press.message_id and tx.outbox.get(button.outbox).message_id is None:
        tx.outbox.sent(button.outbox, press.message_id)


def _choice(action: OnQuestion) -> str:
    match action:
        case Decide(choice=choice):
            return choice
        case AnswerInWords():
            return WORDS
        case ShowChoices():
            return "other outcomes"


def choice_of(action: ActOnChild) -> str:
    """What the audit says that was chosen."""
    return f"{action.what}:{action.delegation}"
