"""Answers in words, of those who may decide: replies to questions, and what somebody just writes
where the agent asks them one thing."""

from dataclasses import dataclass

from adapters.events import Message
from agent.text.markdown import escape
from agent.text.untrusted import visible
from gateway.access.roles import Access
from gateway.commands.tree.siblings import is_on_path
from gateway.outbound.composer import Composer
from gateway.questions.kinds import kind_of
from gateway.questions.outcome import outcome
from gateway.questions.service import MOST_WORDS, Questions
from storage.records.buttons import AnswerInWords, Decide, ShowChoices
from storage.records.inbox_outbox import Arrival
from storage.records.questions import Question, QuestionState
from storage.store import Store, Transaction

CLOSED = (
    "{outcome} Your reply changes nothing any more. To talk to the bot, write without replying to "
    "this."
)
FILES = "Files are no part of an answer. The question is still open: answer it in words alone."
TALK = "; what you wrote is talk to the bot."


@dataclass(frozen=True, slots=True)
class Replies:
    store: Store
    access: Access
    questions: Questions
    composer: Composer

    async def take(self, arrival: Arrival, message: Message) -> bool:
        """`taken`, for somebody who may decide and maybe not talk. An edit of a reply is one
        too."""
        if not message.reply_to or not self.access.may_command(message.user.identity):
            return False
        if await self.store.read(lambda tx: _question(tx, message)) is None:
            return False
        return await self.store.run(lambda tx: self.taken(tx, arrival, message))

    def taken(self, tx: Transaction, arrival: Arrival, message: Message) -> bool:
        """Whether a message replies to a question and was taken in as that: as its answer, or with
        a word about why it is none. Else it is talk."""
        question = _question(tx, message) or self._asks_them(tx, arrival, message)
        if question is None or self._is_talk(question, message):
            return False
        row = tx.inbox.receive(arrival)
        if row is not None:
            tx.inbox.finish([row.id])
            self._tell(tx, message, self._answered(tx, question, message))
        return True

    def refuse(self, tx: Transaction, message: Message) -> None:
        """Talk was taken in. Where it replies to an open question, its author is told that it
        decides nothing."""
        question = _question(tx, message)
        if question is not None and self._is_talk(question, message):
            tx.directory.audit("denied answer", message.user.identity, {"question": question.id})
            refusal = self.questions.deciders.refusal(tx, question, message.user.identity)
            self._tell(tx, message, escape(refusal).removesuffix(".") + TALK)

    def _asks_them(self, tx: Transaction, arrival: Arrival, message: Message) -> Question | None:
        """The one question that the agent asks whoever writes, in this conversation, on the branch
        that it is on; None where there is none or several, or their words are no answer."""
        said = visible(message.text).strip()
        if message.reply_to or message.attachments or not 0 < len(said) <= MOST_WORDS:
            return None
        address, who = message.conversation.address, message.user.identity
        session = tx.directory.conversation(address)
        if session is None:
            return None
        asked = [
            question
            for question in tx.questions.open(session)
            if kind_of(question).talk_answers
            and question.address == address
            and question.subject.get("person") == who
            and (question.expires is None or question.expires > tx.now)
        ]
        if len(asked) != 1 or tx.inbox.seen(arrival.key):
            return None
        leaf = tx.tree.session(session).leaf
        above = tx.tree.entry(asked[0].subject["call_entry"])
        return asked[0] if is_on_path(tx, above, leaf) else None

    def _is_talk(self, question: Question, message: Message) -> bool:
        is_open = question.state is QuestionState.OPEN
        return is_open and not self.access.may_decide(message.user.identity, question)

    def _answered(self, tx: Transaction, question: Question, message: Message) -> str:
        if question.state is not QuestionState.OPEN:
            return "" if self.questions.is_answer(question, message) else _closed(question)
        if message.attachments:
            return FILES
        told = self.questions.answer(tx, question, message.text, message.user)
        after = tx.questions.get(question.id)
        expired = after.state is QuestionState.EXPIRED
        return _closed(after) if expired else told

    def _tell(self, tx: Transaction, message: Message, text: str) -> None:
        for parcel in self.composer.reply(message, text):
            tx.outbox.enqueue(parcel)


def _closed(question: Question) -> str:
    became = outcome(question)
    return CLOSED.format(outcome=became if became.endswith((".", "…")) else f"{became}.")


def _question(tx: Transaction, message: Message) -> Question | None:
    """What a message replies to: by a button there, which is known before the message is recorded
    as sent, or by the message."""
    here, who = message.conversation, message.user
    personal = f"{who.platform}:user:{who.id}"
    places = [here.address, personal] if message.private else [here.address]
    if not message.reply_to:
        return None
    button = tx.buttons.get(message.reply_token) if message.reply_token else None
    if button is not None and button.address in places:
        match button.action:
            case Decide(question) | AnswerInWords(question) | ShowChoices(question):
                return tx.questions.get(question)
    found = tx.questions.posted(places, message.reply_to)
    return tx.questions.get(found) if found is not None else None
