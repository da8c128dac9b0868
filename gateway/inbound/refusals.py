"""Presses that come to nothing. They are seen without writing anything, take no place in the inbox,
and how many of them are on record has a limit.

Nobody is let through here: a press that is not found out is refused where it would act.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from adapters.events import Press
from gateway.access.roles import Access
from gateway.access.strangers import Strangers
from gateway.outbound import buttons
from gateway.outbound.buttons import Menus, same_place
from gateway.questions import service
from gateway.questions.child_control import KIND as CONTROL
from gateway.questions.service import Questions
from gateway.turns.failures import once_there
from storage.records.buttons import MenuButton
from storage.records.questions import ButtonRow, QuestionState
from storage.store import Store, Transaction

Busy = Callable[[Transaction, MenuButton, Press], str]
"""Why a button cannot be used now; "" where it can."""


@dataclass(frozen=True, slots=True)
class Refusal:
    told: str
    """What the presser is told; "" for nothing."""
    junk: bool = False
    """There is no such button, or not there."""


@dataclass(frozen=True, slots=True)
class Refusals:
    store: Store
    menus: Menus
    questions: Questions
    access: Access
    strangers: Strangers
    busy: Busy

    async def refuse(self, press: Press) -> str | None:
        """What the presser is told of a press that comes to nothing; None for one that may come to
        something. It is on record, unless there were too many: then strangers are told nothing."""
        found = await self.store.read(partial(self._look, press=press))
        if found is None:
            return None
        who = press.user.identity
        known = self.access.may_command(who)
        if not self.strangers.presses(junk=found.junk, known=known).admits(who):
            self.strangers.ignored("presses", who)
            return found.told if known else ""
        return await once_there(
            partial(self.store.run, partial(self._record, press=press)), "a press"
        )

    def _record(self, tx: Transaction, press: Press) -> str | None:
        """Let it be refused where it would act, which puts it on record."""
        if self._look(tx, press) is None:
            return None
        menu = tx.menus.get(press.token)
        if menu is None:
            return self.questions.press(tx, press)
        return self.menus.press(tx, menu, press, busy=self.busy(tx, menu, press))

    def _look(self, tx: Transaction, press: Press) -> Refusal | None:
        if tx.inbox.seen(press.key):
            return None
        menu = tx.menus.get(press.token)
        if menu is not None:
            return self._of_menu(tx, menu, press)
        button = tx.questions.button(press.token)
        if button is None or not same_place(button.address, press):
            return Refusal(service.UNKNOWN, junk=True)
        return self._of_question(tx, button, press)

    def _of_menu(self, tx: Transaction, menu: MenuButton, press: Press) -> Refusal | None:
        who = press.user.identity
        if not same_place(menu.address, press):
            return Refusal(buttons.UNKNOWN, junk=True)
        if not self.access.may_command(who):
            return Refusal(buttons.DENIED)
        if menu.by not in ("", who) and not self.access.is_owner(who):
            return Refusal(buttons.DENIED)
        if menu.used:
            return Refusal(f"Already done. {menu.used}")
        busy = self.busy(tx, menu, press)
        return Refusal(busy) if busy else None

    def _of_question(self, tx: Transaction, button: ButtonRow, press: Press) -> Refusal | None:
        question = tx.questions.get(button.question)
        if not self.access.may_decide(press.user.identity, question):
            return Refusal(service.DENIED)
        if question.kind == CONTROL or question.state is QuestionState.OPEN:
            return None
        return Refusal(service.outcome(question))
