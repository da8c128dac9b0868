"""Questions to people: posted with buttons, decided by the first press that may, then closed.

A button carries a random token that means nothing outside this store. Nothing is ever decided by
silence, by a restart, or by another question's button.
"""

import logging
from dataclasses import asdict, dataclass, replace

from adapters.events import Press
from agent.text.markdown import escape
from gateway.access.roles import Access
from gateway.config import EscalationConfig
from gateway.outbound.buttons import new_button, put_buttons
from gateway.outbound.choices import Offer, chosen, told
from gateway.outbound.composer import Composer
from gateway.questions.kinds import kind_of
from storage.records.buttons import ButtonRow, Decide
from storage.records.inbox_outbox import Arrival, OutboxState, Resume
from storage.records.questions import Question, QuestionDraft, QuestionState
from storage.store import Transaction

log = logging.getLogger(__name__)

MARKS = {
    QuestionState.DECIDED: "✅",
    QuestionState.EXPIRED: "⌛",
    QuestionState.WITHDRAWN: "🚫",
}


@dataclass(frozen=True, slots=True)
class Questions:
    composer: Composer
    access: Access
    policy: EscalationConfig

    def ask(self, tx: Transaction, draft: QuestionDraft) -> Question:
        """Store a question and post it: where it was asked, and where the policy's levels say."""
        if draft.expires is None:
            draft = replace(draft, expires=tx.now + self.policy.timeout)
        question = tx.questions.create(draft)
        self.post(tx, question, question.address)
        if kind_of(question).climbs:
            self._reach_levels(tx, question)
        return question

    def post(self, tx: Transaction, question: Question, address: str) -> None:
        """One more copy of an open question, with buttons of its own."""
        offer = self._offer(address, question)
        buttons = [
            new_button(label, choice.style)
            for label, choice in zip(offer.labels, question.choices, strict=True)
        ]
        before, text = self._told(address, question, offer)
        parcels = self.composer.post(address, before) if before else []
        parcels += self.composer.post(address, text, buttons=buttons)
        rows = [tx.outbox.enqueue(parcel) for parcel in parcels]
        tx.questions.add_post(question.id, address, rows[-1].id)
        decisions = [Decide(question.id, choice.key) for choice in question.choices]
        put_buttons(tx, rows[-1], zip(buttons, decisions, strict=True))

    def decide(self, tx: Transaction, button: ButtonRow, action: Decide, press: Press) -> str:
        """Decide by a press that was checked; what the presser, and only the presser, is told: ""
        where it was this press that decided."""
        question = tx.questions.get(action.question)
        if question.expires is not None and question.expires <= tx.now:
            self._expire(tx, question)
        closed = tx.questions.close(
            question.id,
            QuestionState.DECIDED,
            choice=action.choice,
            by=press.user.identity,
            name=press.user.name,
        )
        if closed:
            tx.directory.audit("decision", press.user.identity, asdict(action))
            self._after(tx, question.id)
        decided = tx.questions.get(question.id)
        self.edit_stray(tx, decided, button, press)
        return "" if closed else outcome(decided)

    def withdraw(self, tx: Transaction, question: int) -> None:
        """Close a question undecided, where it is open. Nothing resumes."""
        if tx.questions.close(question, QuestionState.WITHDRAWN):
            self._edit_copies(tx, tx.questions.get(question))

    def withdraw_all(self, tx: Transaction, session: int) -> None:
        """Withdraw what a session's delegations ask."""
        for question in tx.questions.open(session):
            if kind_of(question).withdrawn:
                self.withdraw(tx, question.id)

    def due(self, tx: Transaction, now: float) -> list[int]:
        """The open questions that expire or climb a level by `now` (Unix seconds)."""
        return [
            question.id
            for question in tx.questions.open()
            if any(time <= now for time in self._times(question))
        ]

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
            or (private and self.access.may_decide(identity, question))
        ]

    def repost(self, tx: Transaction, platform: str) -> int:
        """Fresh copies, on a platform whose old buttons may be dead; how many. None where a copy
        is still to be sent."""
        count = 0
        for question in tx.questions.open():
            if not kind_of(question).listed:
                continue
            posts = [
                p for p in tx.questions.posts(question.id) if p.address.startswith(f"{platform}:")
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
        choice = self.policy.on_timeout
        if tx.questions.close(question.id, QuestionState.EXPIRED, choice=choice):
            tx.directory.audit("expired", "", {"question": question.id, "outcome": choice})
            self._after(tx, question.id)

    def _after(self, tx: Transaction, question: int) -> None:
        """A question was closed: let its turn go on, and show it on every copy."""
        closed = tx.questions.get(question)
        if (resumes := kind_of(closed).resumes) is not None:
            key, payload = f"{resumes}:{question}", asdict(Resume(question))
            tx.inbox.receive(Arrival(key, resumes, closed.address, payload, closed.session))
        self._edit_copies(tx, closed)

    def _edit_copies(self, tx: Transaction, question: Question) -> None:
        end = _end(question)
        for post in tx.questions.posts(question.id):
            _, text = self._told(post.address, question)
            parcels = self.composer.amend(post.address, text, end, row=post.outbox)
            for parcel in parcels:
                tx.outbox.enqueue(parcel)

    def edit_stray(
        self, tx: Transaction, question: Question, button: ButtonRow, press: Press
    ) -> None:
        """A copy that was sent twice (a crash before its sending was recorded) has a message that
        only the press names."""
        if press.message_id not in ("", tx.outbox.get(button.outbox).message_id):
            here, (_, text) = press.message_id, self._told(button.address, question)
            edit, *_ = self.composer.amend(button.address, text, _end(question), message_id=here)
            tx.outbox.enqueue(edit)

    def _told(
        self, address: str, question: Question, offer: Offer | None = None
    ) -> tuple[str, str]:
        """What a copy of a question says before it, where its choices in full take messages of
        their own, and what it says itself; Markdown."""
        listing = (offer or self._offer(address, question)).listing
        text = told(question.text, listing)
        if listing and not self.composer.fits(address, text):
            return listing, question.text
        return "", text

    def _offer(self, address: str, question: Question) -> Offer:
        return self.composer.offer(address, [choice.label for choice in question.choices])


def _end(question: Question) -> str:
    return f"{MARKS[question.state]} {outcome(question)}"


def _chosen(question: Question) -> str:
    keys = [choice.key for choice in question.choices]
    if question.choice not in keys:
        return ""
    return chosen([choice.label for choice in question.choices], keys.index(question.choice))


def outcome(question: Question) -> str:
    """What became of a question, for people; Markdown."""
    match question.state:
        case QuestionState.DECIDED:
            who = escape(question.decided_name or question.decided_by)
            return f"{who} decided: {_chosen(question)}"
        case QuestionState.EXPIRED:
            return f"Nobody decided in time: {question.choice}."
        case QuestionState.WITHDRAWN:
            return "Withdrawn."
        case QuestionState.OPEN:
            return "Still open."
