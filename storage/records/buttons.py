"""Buttons on messages: what a press does, and who may press. One shape for all of them."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.records.entries import Json


@dataclass(frozen=True, slots=True)
class Decide:
    """Decide a question."""

    question: int
    choice: str
    """A key of one of its choices."""


@dataclass(frozen=True, slots=True)
class AnswerInWords:
    """Decide a question by the words that the press brings; without any, ask for them."""

    question: int


@dataclass(frozen=True, slots=True)
class ShowChoices:
    """Show other choices of a question, in the place of those that a copy shows."""

    question: int
    page: int
    """0: those that are shown at first."""


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a command as if the presser had typed it."""

    command: str
    """As a person would type it, without the slash: "goto #12"."""
    private: bool = False
    """Whether its conversation is."""
    within: int | None = None
    """The session that it is about: in another it does nothing. None: it works anywhere."""


@dataclass(frozen=True, slots=True)
class RunAction:
    """Run what nobody can type: the next page of this very list, back to that leaf."""

    name: str
    payload: Json
    private: bool = False
    within: int | None = None


@dataclass(frozen=True, slots=True)
class ActOnChild:
    """Stop, pause or resume a child that runs, as often as it is pressed."""

    what: Literal["stop", "pause", "resume"]
    delegation: int
    session: int
    """Whose delegations the message shows."""


OnQuestion: TypeAlias = Decide | AnswerInWords | ShowChoices
OnMenu: TypeAlias = RunCommand | RunAction
Action: TypeAlias = OnQuestion | OnMenu | ActOnChild


def from_subject(command: str, subject: Json) -> RunAction:
    """A button as versions until 2026-11 stored it: a command line, with what that knew besides.
    Whether it is an action now, or could be typed, the commands know."""
    payload = dict(subject)
    private, within = payload.pop("private", False), payload.pop("tree", None)
    return RunAction(command, payload, private, within)


@dataclass(frozen=True, slots=True)
class ButtonRow:
    token: str
    """Random, without a meaning of its own."""
    address: str
    """Where it was posted. A press from anywhere else is forged."""
    outbox: int
    """The outbox row whose message it hangs on."""
    label: str
    action: Action
    by: str = ""
    """Identity of who alone may press it, beside the owners; "" for all who may do what it does."""
    expires: float | None = None
    """Unix seconds; None: never."""
    used: str = ""
    """Why it does nothing any more: who pressed a button of its message, and what. "" while it is
    valid; a question's button is valid as long as its question is open."""
