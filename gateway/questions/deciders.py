"""Who may decide a question: what they are called, and in which private chats they hear of it.

Where whoever asked may not decide, and no `[escalation] levels` say where questions go, each of
those who may gets a copy in private. Names are those that people gave themselves; nobody is shown
another person's number.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.platforms import PLATFORMS, private_chat
from agent.text.markdown import bounded, escape
from agent.text.untrusted import visible
from gateway.access.roles import Access
from gateway.outbound.composer import Composer
from gateway.questions.kinds import kind_of
from storage.records.questions import Question
from storage.store import Transaction

log = logging.getLogger(__name__)

UNDECIDED = "You may not decide this. It stays open for those who may."
MAY_NOT = "You may not decide this: {who} may. It stays open."
SENT = "📨 Sent to {who}."
NOT_HEARD = "I have no private chat with {who}."
UNREACHED = (
    "⚠️ This waits for {who}. I have no private chat with them: ask them to write /start to me."
)
NOBODY = "⚠️ Nobody may decide this yet. Please tell the bot's owner."
SESSIONS = 5
"""Of somebody's newest, in which their name is looked for."""
NAMED = 3
"""People."""
LONGEST_NAME = 40
"""Characters: what answers a press has room for 200 in all."""
MOST_COPIES = 10


@dataclass(frozen=True, slots=True)
class Deciders:
    access: Access
    composer: Composer

    def chats(self, tx: Transaction, question: Question) -> list[str]:
        """Addresses of the private chats in which those who may decide hear of it by default."""
        if not self._needs_others(tx, question):
            return []
        found = [self._chat(tx, who) for who in self._people(question)]
        return [chat for chat in found if chat and chat != question.address][:MOST_COPIES]

    def note(self, tx: Transaction, question: Question, address: str) -> str:
        """What whoever asked reads below the question; "" in all other chats. Markdown."""
        if address != question.address or not self._needs_others(tx, question):
            return ""
        deciders = self._people(question)
        if not deciders:
            return NOBODY
        posted = {post.address for post in tx.questions.posts(question.id)}
        heard = [who for who in deciders if self._chat(tx, who) in posted]
        others = [who for who in deciders if who not in heard]
        lines = []
        if heard:
            lines.append(SENT.format(who=self._names(tx, question, heard, "and")))
        if others:
            log.warning("question %d: no private chat with %s", question.id, ", ".join(others))
            names = self._names(tx, question, others, "and" if heard else "or")
            lines.append((NOT_HEARD if heard else UNREACHED).format(who=names))
        return " ".join(lines)

    def refusal(self, tx: Transaction, question: Question, who: str) -> str:
        """What somebody is told who may not decide: who may, to people who are let in. At most 200
        characters of plain text."""
        deciders = self._people(question) if self.access.may_command(who) else ()
        if not deciders:
            return UNDECIDED
        names = self._names(tx, question, deciders, "or", plain=True)
        return MAY_NOT.format(who=names)

    def _needs_others(self, tx: Transaction, question: Question) -> bool:
        """Whether whoever asked cannot decide, and no policy says who hears of it."""
        if not kind_of(question).climbs or self.access.escalation.levels:
            return False
        asker = _asker(tx, question)
        return not (asker and self.access.may_decide(asker, question))

    def _people(self, question: Question) -> tuple[str, ...]:
        """Those who may decide, on the platforms that the bot is on where some are there."""
        deciders = self.access.deciders(question)
        return tuple(who for who in deciders if self._is_here(who)) or deciders

    def _is_here(self, identity: str) -> bool:
        chat = private_chat(identity)
        known = chat is not None and chat.platform in PLATFORMS
        return known and chat is not None and self.composer.serves(chat.address)

    def _chat(self, tx: Transaction, identity: str) -> str:
        """The address of a private chat that the bot may write to; "" where there is none."""
        chat = private_chat(identity)
        if chat is None or not self._is_here(identity):
            return ""
        first = PLATFORMS[chat.platform].writes_first
        return chat.address if first or tx.directory.is_known(chat.address) else ""

    def _names(
        self,
        tx: Transaction,
        question: Question,
        people: Sequence[str],
        last: str,
        *,
        plain: bool = False,
    ) -> str:
        """ "Olga, Tom or 2 others"."""
        names = list(dict.fromkeys(self._name(tx, question, who) for who in people))
        shown = [name if plain else escape(name) for name in names[:NAMED]]
        if more := len(people) - len(shown) if len(names) > NAMED else 0:
            shown.append("1 other" if more == 1 else f"{more} others")
        return f" {last} ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)

    def _name(self, tx: Transaction, question: Question, identity: str) -> str:
        """What somebody is called here; what they are, where that is not known."""
        right = tx.rights.get(identity)
        name = (right.name if right is not None else "") or tx.directory.name_of(identity)
        for session in tx.directory.recent([identity], limit=SESSIONS) if not name else ():
            name = name or tx.inbox.name_in(session, identity)
        cleaned = bounded(" ".join(visible(name).split()), LONGEST_NAME)
        return cleaned or ("the bot's owner" if self.access.is_owner(identity) else "an approver")


def _asker(tx: Transaction, question: Question) -> str:
    """Identity of for whom it is asked; "" for nobody."""
    number = question.subject.get("delegation")
    if number is not None:
        return tx.delegations.get(number).person
    return str(question.subject.get("person") or "")
