"""People who are not known: what they are told, what they get, and the code that makes the first of
them the owner.

They cost little: how many are answered has a limit, what is kept of them too, and nothing starts.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from adapters.events import Message
from gateway.access.codes import CODE, code_in, is_code
from gateway.access.denials import NO_OWNER, PAIRING, STRANGER, WRONG_CODE
from gateway.access.owner_code import GUESSES, KEPT, MOST_GUESSES, OwnerCode, still
from gateway.access.roles import Access
from gateway.access.stored_limits import admits, answered, renew, was_answered
from gateway.access.strangers import ANSWERS, Strangers
from gateway.commands.people.requests import CODE_KEPT, ask, void
from gateway.commands.people.rights import give
from gateway.outbound.composer import NOTICE, Composer
from gateway.turns.failures import once_there
from storage.records.chats.people import RightDraft, Role
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

ONE_BY_ONE: Json = {"queue": "strangers", NOTICE: True}
"""How strangers are answered, so that no known person waits behind them."""
KIND = "owner code"
"""Of the rows by which processes know each other's, and of what is used up of the guesses."""
WRONG = "owner code.wrong"
"""The fact that says when, in the last hour, a guess was wrong in any process."""
_START = re.compile(r"/start\b", re.IGNORECASE)
_SAYS_CODE = re.compile(rf"(?:/(?:start|pair)\s+)?({CODE})\Z", re.IGNORECASE)
_IN_GROUP = re.compile(rf"(?:/(?:start|pair)\s+)?(?:({CODE})\Z|(\S+))", re.IGNORECASE)
OWNER_NOW = (
    "You own this bot now: you are `{identity}`. Write to me; /help says how. Whoever else writes "
    "to me gets a code, and you get a button that lets them in; /people shows who may talk."
)
HAS_OWNER = "This bot has an owner by now; the code is void. Ask them to let you in."
CODE_IN_A_GROUP = (
    "That was the owner code, and everybody here can read it: it is void now. Start the bot again "
    "for another one, and write that to me in private."
)


@dataclass(frozen=True, slots=True)
class Newcomers:
    store: Store
    composer: Composer
    access: Access
    strangers: Strangers
    owner_code: OwnerCode = field(default_factory=OwnerCode)

    async def says_owner_code(self, message: Message, arrival: Callable[[], Arrival]) -> bool:
        """Whether a message was the owner code and is dealt with, whoever wrote it. Guesses are
        limited, and counted."""
        code = _code(message)
        if code is None or not await self._fits(code, message.user.identity):
            return False
        work = partial(self._make_owner if message.private else self._spoil, message, arrival())
        await once_there(partial(self.store.run, work), "the owner code")
        self.owner_code.void()
        return True

    async def invite(self) -> str:
        """A new owner code, for who sits at the terminal. Other processes take it too."""
        code = self.owner_code.make()
        if self.store.jobs is not None and (seal := self.owner_code.seal) is not None:
            process, body = self.store.process, {"salt": seal[0], "digest": seal[1]}

            def show(tx: Transaction) -> None:
                tx.ephemeral.put(KIND, process, process, body)
                tx.directory.set_fact(WRONG, None)
                renew(tx, KIND)

            await self.store.run(show)
        return code

    async def _fits(self, code: str, who: str) -> bool:
        """Whether it is the code that this process shows, or another one."""
        if self.store.jobs is None:
            fits = self.owner_code.fits(code, who)
        elif self.access.owners() or not self.owner_code.admits(who):
            return False
        else:
            guess = partial(self._guess, code=code, who=who)
            fits, spoilt = await once_there(partial(self.store.run, guess), "a guess")
            if spoilt:
                self.owner_code.spoil()
        if self.owner_code.spoilt():
            log.warning(
                "the owner code is void: it was guessed at too often. Start the bot again for "
                "another one"
            )
        return fits

    def _guess(self, tx: Transaction, code: str, who: str) -> tuple[bool, bool]:
        """Whether it is right, and whether it is one too many: all processes count together."""
        seals = self._seals(tx)
        if not seals or not admits(tx, KIND, GUESSES, who):
            return False, False
        if any(is_code(code, *seal) for seal in seals):
            return True, False
        wrong = still(tx.directory.fact(WRONG) or [], tx.now)
        tx.directory.set_fact(WRONG, wrong)
        spoilt = len(wrong) >= MOST_GUESSES
        if spoilt:
            tx.ephemeral.clear(KIND)
        return False, spoilt

    @property
    def _may_be_open(self) -> bool:
        """Whether there is a code, as far as this process knows."""
        return self.owner_code.open if self.store.jobs is None else not self.access.owners()

    def _is_open(self, tx: Transaction) -> bool:
        """Whether there is a code that makes somebody the owner."""
        if self.access.owners():
            return False
        return self.owner_code.open if self.store.jobs is None else bool(self._seals(tx))

    def _seals(self, tx: Transaction) -> list[tuple[str, str]]:
        """Those of all processes that live, and this one's own."""
        own = tx.ephemeral.last(KIND, self.store.process)
        rows = {row.key: row for row in [*tx.ephemeral.of(KIND), *([own] if own else [])]}
        return [(r.body["salt"], r.body["digest"]) for r in rows.values() if r.age < KEPT]

    async def stranger(self, message: Message) -> None:
        """In private they are told who they are to us, and get a code: once, and at every /start;
        where the platform waits for an answer to this very event, they get it. In a group nothing
        is said, and a code that they show there is void."""
        identity = message.user.identity
        self.strangers.refused(message.conversation.platform)
        if not message.private:
            await self._shown_code(message)
        if not (message.private or message.handle):
            return
        guess = self._may_be_open and _code(message) is not None
        again = bool(message.handle or guess or _START.match(message.text))
        if self.strangers.was_greeted(identity) and not again:
            return
        if not self.strangers.answers.admits(identity):
            return self.strangers.ignored("messages", identity)

        def work(tx: Transaction) -> bool:
            if was_answered(tx, "strangers", message.key):
                return True
            if not admits(tx, "answers", ANSWERS, identity):
                return False
            first = tx.directory.greet(identity, message.user.name)
            if first:
                tx.directory.audit("stranger", identity, {"name": message.user.name})
            if first or again:
                text = self._told(tx, message)
                text = f"{WRONG_CODE} {text}" if guess and self._is_open(tx) else text
                for parcel in self.composer.reply(message, text):
                    tx.outbox.enqueue(replace(parcel, payload={**parcel.payload, **ONE_BY_ONE}))
                answered(tx, "strangers", message.key)
            return True

        if not await once_there(partial(self.store.run, work), "a stranger"):
            return self.strangers.ignored("messages", identity)
        self.strangers.greeted(identity)

    def _told(self, tx: Transaction, message: Message) -> str:
        identity = message.user.identity
        if self._is_open(tx):
            return NO_OWNER.format(identity=identity)
        if message.private and self.access.config.pairing and self.access.owners():
            code = ask(tx, self.access, self.composer, identity, message.user.name)
            if code:
                minutes = round(CODE_KEPT / 60)
                return PAIRING.format(identity=identity, code=code, minutes=minutes)
        return STRANGER.format(identity=identity)

    async def _shown_code(self, message: Message) -> None:
        """In a group, where everybody reads it."""
        found = _IN_GROUP.match(message.text.strip())
        code = code_in(found[1] or found[2]) if found is not None else None
        if code is None:
            return
        who = message.user.identity
        if self.strangers.answers.admits(who):

            def work(tx: Transaction) -> bool:
                return admits(tx, "answers", ANSWERS, who) and void(tx, code, who)

            await once_there(partial(self.store.run, work), "a code in a group")

    def _make_owner(self, message: Message, arrival: Arrival, tx: Transaction) -> None:
        tx.ephemeral.clear(KIND)
        row = tx.inbox.receive(arrival)
        if row is None:
            return
        identity = message.user.identity
        text = HAS_OWNER
        if not any(right.role is Role.OWNER and right.holds(tx.now) for right in tx.rights.all()):
            draft = RightDraft(identity, message.user.name, Role.OWNER, None, "")
            give(tx, self.access, draft)
            tx.directory.greet(identity, message.user.name)
            tx.directory.audit("owner code used", identity, {"name": message.user.name})
            text = OWNER_NOW.format(identity=identity)
        for parcel in self.composer.reply(message, text):
            tx.outbox.enqueue(parcel)
        tx.inbox.finish([row.id])

    def _spoil(self, message: Message, arrival: Arrival, tx: Transaction) -> None:
        tx.ephemeral.clear(KIND)
        row = tx.inbox.receive(arrival)
        if row is not None:
            tx.directory.audit("owner code void", message.user.identity, {"why": "in a group"})
            for parcel in self.composer.reply(message, CODE_IN_A_GROUP):
                tx.outbox.enqueue(parcel)
            tx.inbox.finish([row.id])


def _code(message: Message) -> str | None:
    """The code that a message is, alone or behind /start or /pair; None where it is none."""
    found = _SAYS_CODE.match(message.text.strip())
    return code_in(found[1]) if found is not None else None
