"""Questions to people: posted with buttons, decided by the first who may, by a press or in words,
then closed.

A button carries a random token that means nothing outside this store. Nothing is ever decided by
silence, by a restart, or by another question's button.
"""

import logging
from dataclasses import asdict, dataclass, replace

from adapters.events import Message, Press, User
from agent.text.untrusted import visible
from agent.tools.approval.answer import KIND as APPROVAL
from agent.tools.approval.answer import granted
from gateway.access.roles import Access
from gateway.configuration.config import EscalationConfig
from gateway.outbound.composer import Composer
from gateway.questions.copies import Copies
from gateway.questions.deciders import Deciders
from gateway.questions.kinds import kind_of
from gateway.questions.outcome import outcome
from storage.records.buttons import AnswerInWords, ButtonRow, Decide, OnQuestion, ShowChoices
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival, OutboxState, Resume
from storage.records.questions import WORDS, Question, QuestionDraft, QuestionState
from storage.store import Transaction
from storage.traces import KEY as TRACE
from storage.traces import current_trace

log = logging.getLogger(__name__)

MOST_WORDS = 4_000
"""Characters of an answer in words."""
TOO_LONG = (
    "Your answer has {length} characters, and at most {most} are taken. Nothing was answered, the "
    "question is still open: answer again, shorter."
)
NOTHING_SAID = "There were no words in your answer. The question is still open."
ASKED_BEFORE = "Reply to the message that asks you for your answer, or to the question itself."
NO_WORDS = "This question takes no answer in words: press one of its buttons."


@dataclass(frozen=True, slots=True)
class Questions:
    composer: Composer
    access: Access

    @property
    def policy(self) -> EscalationConfig:
        return self.access.escalation

    @property
    def deciders(self) -> Deciders:
        return Deciders(self.access, self.composer)

    @property
    def _copies(self) -> Copies:
        return Copies(self.composer)

    def ask(self, tx: Transaction, draft: QuestionDraft) -> Question:
        """Store a question and post it: where it was asked, and where the policy's levels say;
        without levels, to those who may decide, where whoever asked may not."""
        if draft.expires is None:
            draft = replace(draft, expires=tx.now + self.policy.timeout)
        if trace := current_trace():
            draft = replace(draft, subject={**draft.subject, TRACE: trace})
        question = tx.questions.create(draft)
        for address in self.deciders.chats(tx, question):
            self.post(tx, question, address)
        self.post(tx, question, question.address)
        if kind_of(question).climbs:
            self._reach_levels(tx, question)
        return question

    def post(self, tx: Transaction, question: Question, address: str) -> None:
        """One more copy of an open question, with buttons of its own."""
        note = self.deciders.note(tx, question, address)
        self._copies.post(tx, question, address, note=note)

    def press(self, tx: Transaction, button: ButtonRow, action: OnQuestion, press: Press) -> str:
        """Do what a press does that was checked; what the presser, and only the presser, is told:
        "" where it did it."""
        question, by = tx.questions.get(action.question), press.user
        match action:
            case ShowChoices(page=page):
                self._copies.turn(tx, question, button, press, page)
                return ""
            case AnswerInWords() if not press.words:
                return "" if self._copies.prompt(tx, question, button, press) else ASKED_BEFORE
            case AnswerInWords():
                told = self.answer(tx, question, press.words, by)
            case Decide(choice=choice):
                told = self._decide(tx, question, choice, by)
        self.close_stray(tx, tx.questions.get(question.id), button, press)
        return told

    def answer(self, tx: Transaction, question: Question, words: str, by: User) -> str:
        """Decide by the words of somebody who may; what they are told: "" where that decided."""
        words = visible(words).strip()
        if not question.takes_words:
            return NO_WORDS
        if not words:
            return NOTHING_SAID
        if len(words) > MOST_WORDS:
            return TOO_LONG.format(length=len(words), most=MOST_WORDS)
        return self._decide(tx, question, WORDS, by, words)

    def is_answer(self, question: Question, message: Message) -> bool:
        """Whether it is the message that decided, told of again: not all that platforms call an
        edit changes words."""
        decided = (question.choice, question.decided_by, question.words)
        said = (WORDS, message.user.identity, visible(message.text).strip())
        return message.kind == "edit" and decided == said

    def _decide(
        self, tx: Transaction, question: Question, choice: str, by: User, words: str = ""
    ) -> str:
        if question.expires is not None and question.expires <= tx.now:
            self._expire(tx, question)
        if not tx.questions.close(
            question.id,
            QuestionState.DECIDED,
            choice=choice,
            by=by.identity,
            name=by.name,
            words=words,
        ):
            return outcome(tx.questions.get(question.id))
        said = {"words": words} if words else {}
        details = {"question": question.id, "choice": choice, **said, **_about(question)}
        tx.directory.audit("decision", by.identity, details)
        self._grant(tx, question.id)
        self._after(tx, question.id)
        return ""

    def _grant(self, tx: Transaction, question: int) -> None:
        """What a decision allows from now on begins with it, whatever becomes of the call."""
        draft = granted(tx.questions.get(question))
        if draft is not None:
            grant = tx.grants.add(draft)
            details = {"grant": grant.id, "question": question, "tool": draft.tool}
            tx.directory.audit("grant", draft.granted_by, details | {"shown": draft.shown})

    def close_stray(
        self, tx: Transaction, question: Question, button: ButtonRow, press: Press
    ) -> None:
        """Close a copy that only the press names, where the question is closed."""
        if question.state is not QuestionState.OPEN:
            self._copies.close_stray(tx, question, button, press)

    def withdraw(self, tx: Transaction, question: int) -> None:
        """Close a question undecided, where it is open. Nothing resumes."""
        if tx.questions.close(question, QuestionState.WITHDRAWN):
            self._copies.close(tx, tx.questions.get(question))

    def withdraw_all(self, tx: Transaction, session: int) -> None:
        """Withdraw what a session's delegations ask."""
        for question in tx.questions.open(session):
            if kind_of(question).withdrawn:
                self.withdraw(tx, question.id)

    def due(self, tx: Transaction, now: float) -> list[int]:
        """The open questions that expire or climb a level by `now` (Unix seconds)."""
        begun = [now - level.after for level in self.policy.levels]
        return [
            question.id
            for question in tx.questions.timed(now, begun)
            if any(time <= now for time in self._times(question))
        ]

    def next_due(self, tx: Transaction, now: float) -> float | None:
        """The first time after `now` at which one may be due (Unix seconds)."""
        return tx.questions.next_timed(now, [level.after for level in self.policy.levels])

    def tick(self, tx: Transaction, question: int) -> int | None:
        """Close a question that expired, or post it where it climbs; the session that goes on
        because of it."""
        asked = tx.questions.get(question)
        if asked.state is not QuestionState.OPEN:
            return None
        if asked.expires is not None and asked.expires <= tx.now:
            self._expire(tx, asked)
            return asked.session
        if kind_of(asked).climbs:
            self._reach_levels(tx, asked)
        return None

    def _times(self, question: Question) -> list[float]:
        times = [question.expires] if question.expires is not None else []
        if kind_of(question).climbs and question.level < len(self.policy.levels):
            times.append(question.created + self.policy.levels[question.level].after)
        return times

    def visible(
        self, tx: Transaction, identity: str, address: str, private: bool
    ) -> list[Question]:
        """Open questions to show here: this conversation's, and to who may decide, theirs."""
        return [
            question
            for question in tx.questions.open()
            if kind_of(question).listed
            if question.address == address
            or any(post.address == address for post in tx.questions.posts(question.id))
            or (private and self.access.concerns(identity, question))
        ]

    def repost(self, tx: Transaction, platform: str) -> int:
        """Fresh copies, on a platform whose old buttons may be dead; how many. None where a copy
        is still to be sent."""
        count = 0
        for question in tx.questions.open():
            if not kind_of(question).listed:
                continue
            posts = [
                p
                for p in tx.questions.posts(question.id)
                if p.address.startswith(f"{platform}:") and not p.prompt
            ]
            rows = {post.address: tx.outbox.get(post.outbox) for post in posts}
            for address, newest in rows.items():
                if newest.state is not OutboxState.PENDING:
                    self.post(tx, question, address)
                    count += 1
        return count

    def _reach_levels(self, tx: Transaction, question: Question) -> None:
        """Post to each level whose delay is over and that was not reached yet."""
        while question.level < len(self.policy.levels):
            level = self.policy.levels[question.level]
            if question.created + level.after > tx.now:
                break
            if not tx.questions.reach_level(question.id, question.level + 1):
                break
            posted = {post.address for post in tx.questions.posts(question.id)}
            for address in level.to:
                if address in posted:
                    continue
                if self.composer.serves(address):
                    self.post(tx, question, address)
                else:
                    log.error("question %s: no platform for %s", question.id, address)
            question = tx.questions.get(question.id)

    def _expire(self, tx: Transaction, question: Question) -> None:
        choice = kind_of(question).lapses or self.policy.on_timeout
        if tx.questions.close(question.id, QuestionState.EXPIRED, choice=choice):
            tx.directory.audit("expired", "", {"question": question.id, "outcome": choice})
            self._after(tx, question.id)

    def _after(self, tx: Transaction, question: int) -> None:
        """A question was closed: let its turn go on, and show it on every copy."""
        closed = tx.questions.get(question)
        if (resumes := kind_of(closed).resumes) is not None:
            key = f"{resumes}:{question}"
            payload = asdict(Resume(question, str(closed.subject.get(TRACE) or "")))
            tx.inbox.receive(Arrival(key, resumes, closed.address, payload, closed.session))
        self._copies.close(tx, closed)


def _about(question: Question) -> Json:
    """Of an approval, the call: the question itself may be forgotten one day."""
    if question.kind != APPROVAL:
        return {}
    return {key: question.subject.get(key, "") for key in ("tool", "hash", "shown")}
