"""Presses: checked, acted on and acknowledged.

A press is acted on in the transaction that commits it: a question is decided, a child's button is
put on record, a menu is used up. A menu's command runs then, as if the presser had typed it.

Presses that come to nothing are seen without writing anything, take no place in the inbox, and how
many of them are on record has a limit.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import assert_never

from pydantic import TypeAdapter

from adapters.base import Acknowledge, AdapterError
from adapters.events import Message, Press
from agent.text.markdown import escape
from gateway.access.roles import Access
from gateway.access.stored_limits import admits
from gateway.access.strangers import Strangers, presses_of
from gateway.commands.actions import action_of
from gateway.commands.context import CommandContext, Pressed
from gateway.commands.registry import line_of
from gateway.inbound.press_check import PressCheck, Refused, Why, choice_of
from gateway.outbound.buttons import place_of
from gateway.status.child_control import act, act_elsewhere, expire
from gateway.status.notices import Notices
from gateway.turns.failures import once_there
from storage.records.buttons import (
    ActOnChild,
    AnswerInWords,
    ButtonRow,
    Decide,
    OnMenu,
    RunAction,
    RunCommand,
    ShowChoices,
)
from storage.records.inbox_outbox import Arrival, InboxKind, InboxRow
from storage.store import Transaction

log = logging.getLogger(__name__)

_PRESS: TypeAdapter[Press] = TypeAdapter(Press)

RunPressed = Callable[[Message, InboxRow, Pressed], Awaitable[None]]
"""Runs a command as if it had been typed, or an action; with the button that it was given by."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of a press when it was committed."""

    row: InboxRow
    button: ButtonRow | None = None
    """What is to be done after that; None for nothing."""
    told: str = ""


@dataclass(frozen=True, slots=True)
class Presses:
    context: CommandContext
    access: Access
    strangers: Strangers
    check: PressCheck
    run_pressed: RunPressed
    notices: Notices
    _acknowledging: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    async def receive(self, press: Press) -> None:
        """Presses are committed in the order in which they come: of two, the first decides."""
        came_to = await self.context.store.run(partial(self._commit, press=press))
        if isinstance(came_to, Refused):
            told = await self._refuse(came_to, press)
            if told is not None:
                return self.acknowledge(press, told)
            came_to = await self.context.store.run(partial(self._commit, press=press))
        if isinstance(came_to, Refused):
            self.acknowledge(press, came_to.told)
        elif came_to is not None:
            await self._act(came_to, press)

    async def again(self, row: InboxRow) -> None:
        """Carry out what a press left, after a crash say. ValueError (pydantic's too) where the row
        cannot be read."""
        press = _PRESS.validate_python(row.payload)
        button = await self.context.store.read(lambda tx: tx.buttons.get(press.token))
        if button is None or not isinstance(button.action, OnMenu):
            await self.context.store.run(lambda tx: tx.inbox.finish([row.id]))
        else:
            await self._run(press, row, button, button.action)

    async def sweep(self) -> None:
        """Take away the buttons whose time is over."""
        await self.context.store.run(partial(expire, composer=self.context.composer))

    async def close(self) -> None:
        """Let acknowledgements end."""
        if self._acknowledging:
            await asyncio.wait(self._acknowledging, timeout=2)

    def _refused(self, tx: Transaction, press: Press) -> Refused | None:
        """None for a press that may come to something, and for one that came in before."""
        if tx.inbox.seen(press.key):
            return None
        checked = self.check.look(tx, press)
        return checked if isinstance(checked, Refused) else None

    async def _refuse(self, refused: Refused, press: Press) -> str | None:
        """What the presser is told; None where it comes to something after all. It is on record,
        unless there were too many: then strangers are told nothing."""
        who = press.user.identity
        known = self.access.may_command(who)
        junk = refused.why is Why.FORGED
        if not known:
            self.strangers.refused(press.conversation.platform)
        if not self.strangers.presses(junk=junk, known=known).admits(who):
            self.strangers.ignored("presses", who)
            return refused.told if known else ""

        def record(tx: Transaction) -> tuple[str | None, bool]:
            if self._refused(tx, press) is None:
                return None, True
            name, allowance = presses_of(junk=junk, known=known)
            if not admits(tx, name, allowance, who):
                return refused.told if known else "", False
            checked = self.check.enter(tx, press)
            return (checked.told if isinstance(checked, Refused) else None), True

        told, admitted = await once_there(partial(self.context.store.run, record), "a press")
        if not admitted:
            self.strangers.ignored("presses", who)
        return told

    async def _act(self, done: _Done, press: Press) -> None:
        button = done.button
        action = button.action if button is not None else None
        if isinstance(action, ActOnChild):
            act(action, self.context.active)
        self.acknowledge(press, done.told)
        if button is not None and isinstance(action, OnMenu):
            await self._run(press, done.row, button, action)

    def _commit(self, tx: Transaction, press: Press) -> _Done | Refused | None:
        """None where it came in before. One that is refused leaves nothing."""
        if (refused := self._refused(tx, press)) is not None:
            return refused
        address = press.conversation.address
        row = tx.inbox.receive(Arrival(press.key, InboxKind.PRESS, address, asdict(press)))
        if row is None:
            return None
        checked = self.check.enter(tx, press)
        assert not isinstance(checked, Refused), "it was looked at in this transaction"
        match checked.action:
            case Decide() | AnswerInWords() | ShowChoices() as action:
                tx.inbox.finish([row.id])
                told = self.context.questions.press(tx, checked, action, press)
                return _Done(row, checked, told)
            case ActOnChild() as act_on:
                tx.inbox.finish([row.id])
                act_elsewhere(tx, act_on)
                tx.directory.audit("control", press.user.identity, {"choice": choice_of(act_on)})
            case RunCommand() | RunAction():
                name, label = escape(press.user.name), escape(checked.label)
                tx.buttons.use(checked.outbox, f"{name}: {label}")
            case _:
                assert_never(checked.action)
        return _Done(row, checked)

    async def _run(self, press: Press, row: InboxRow, button: ButtonRow, run: OnMenu) -> None:
        message = Message(
            key=press.key,
            conversation=place_of(button.address, press),
            user=press.user,
            text=f"/{line_of(run)}",
            message_id=press.message_id,
            private=run.private,
        )
        aside = press.handle if press.aside else ""
        pressed = Pressed(button.outbox, press.message_id, run.within, action_of(run), aside)
        await self.run_pressed(message, row, pressed)

    def acknowledge(self, press: Press, text: str) -> None:
        who = press.user.identity
        may_be_left_out = not (text or self.access.may_command(who))
        if may_be_left_out and not self.strangers.acknowledgements.admits(who):
            return
        task = asyncio.create_task(self._send_acknowledgement(press, text), name="acknowledge")
        self._acknowledging.add(task)
        task.add_done_callback(self._acknowledging.discard)

    async def _send_acknowledgement(self, press: Press, text: str) -> None:
        try:
            await self.notices.send(press.conversation.platform, Acknowledge(press.handle, text))
        except AdapterError as error:
            log.info("a press in %s was not acknowledged: %s", press.conversation.address, error)
