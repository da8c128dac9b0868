"""/agents stays up to date: the message that it posted is edited while children run.

Best effort and not in the outbox, as progress is: an edit that fails is made up for by the next
one. What is to be edited is read from the store each time, so a newer /agents simply takes over;
after a restart the message stays as it is, and its buttons still act. While a conversation has such
a message progress is silent there: it would say the same.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from adapters.base import AdapterError, Body, Button, Edit, Throttled, Unavailable
from adapters.events import Conversation
from agent.concurrency import kept_going
from agent.delegation.children.presence import Doing, doing
from agent.delegation.children.supervision import Activity
from agent.delegation.settlement import FINAL
from gateway.outbound.buttons import put_buttons
from gateway.outbound.composer import Composer
from gateway.status.child_control import control_button, controls
from gateway.status.notices import Notices
from gateway.views.delegations import Family, family, panel_text
from storage.errors import StoreError
from storage.records.buttons import ActOnChild, ButtonRow
from storage.records.delegations import Delegation
from storage.records.inbox_outbox import OutboxRow
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between edits, at the least. Platforms throttle them."""
LONGEST = 1800.0
"""Seconds from /agents until its message is left as it is."""
POSTED_WITHIN = 10.0
"""Seconds from /agents in which its message is still to come: the store may be slow."""
KIND = "panel"
"""Of the rows by which processes know who keeps a message up to date."""
LONGEST_END = 5.0
"""Seconds for such a row to be removed."""
LEFT = "_This is not kept up to date any more; /agents shows what runs now._"


@dataclass(frozen=True, slots=True)
class _Panel:
    """A message that /agents posted."""

    row: OutboxRow
    known: Mapping[ActOnChild, ButtonRow]
    """The buttons that it has, or had: one that comes back has the token that it had."""


@dataclass(frozen=True, slots=True)
class _Look:
    panels: Sequence[_Panel]
    """Those with buttons that act, oldest first."""
    rows: Family
    active: Mapping[int, Doing]
    now: float


@dataclass(slots=True)
class _Followed:
    """A conversation whose /agents is kept up to date, as it is shown."""

    session: int
    address: str
    end: float
    """On the event loop's clock."""
    asked: bool = True
    """/agents was given since the last look."""
    shown: dict[int, tuple[Body, tuple[Button, ...]]] = field(default_factory=dict)
    """Body and buttons, by the message's outbox row."""


@dataclass
class Live:
    """Owns a task for each conversation that has such a message."""

    store: Store
    notices: Notices
    composer: Composer
    active: Mapping[int, Activity]
    """The children that run now, in this process."""
    _followed: dict[str, _Followed] = field(default_factory=dict, init=False)
    """By address."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def doing(self, tx: Transaction, rows: Iterable[Delegation]) -> Mapping[int, Doing]:
        """What runs of these, wherever that is."""
        return doing(
            tx, self.store, self.active, [row.id for row in rows if row.state not in FINAL]
        )

    def follow(self, session: int, address: str) -> None:
        """Keep the message that /agents is about to post in a conversation up to date, instead of
        the one it posted before."""
        end = asyncio.get_running_loop().time() + LONGEST
        known = self._followed.get(address)
        if known is not None:
            known.session, known.end, known.asked = session, end, True
            return
        self._followed[address] = followed = _Followed(session, address, end)
        task = asyncio.create_task(self._run(followed), name=f"/agents in {address}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def shows(self, address: str) -> bool:
        """Whether a message of this conversation is kept up to date now, by this process."""
        return address in self._followed

    def shows_elsewhere(self, tx: Transaction, address: str) -> bool:
        """Whether another process does that."""
        return self.store.jobs is not None and bool(tx.ephemeral.of(KIND, keys=[address]))

    async def close(self) -> None:
        """Leave all messages as they are."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, followed: _Followed) -> None:
        try:
            if await self._begins(followed):
                await self._keep(followed)
        except AdapterError as error:
            log.info("/agents in %s is not kept up to date: %s", followed.address, error)
        except Exception:
            # The boundary of a task that nobody awaits before the gateway stops.
            log.exception("/agents in %s is not kept up to date", followed.address)
        finally:
            del self._followed[followed.address]
            if self.store.jobs is not None:
                drop = partial(_drop, address=followed.address, process=self.store.process)
                with suppress(StoreError, TimeoutError):
                    await kept_going(self.store.run(drop), LONGEST_END)

    async def _begins(self, followed: _Followed) -> bool:
        """Tell other processes of it. False where one of them does it already."""
        if self.store.jobs is None:
            return True
        address, process = followed.address, self.store.process
        return await self.store.run(lambda tx: tx.ephemeral.put(KIND, address, process, {}))

    async def _keep(self, followed: _Followed) -> None:
        """Until nothing runs or it lasts too long. Raises an AdapterError where the platform will
        not have it."""
        clock = asyncio.get_running_loop().time
        over = False
        while followed.asked or not over:
            await asyncio.sleep(EVERY)
            followed.asked = False
            over = clock() >= followed.end
            try:
                over = await self._draw(followed, last=over) or over
            except Throttled as error:
                await asyncio.sleep(error.retry_after)
            except (Unavailable, StoreError) as error:
                log.info("/agents in %s is shown later: %s", followed.address, error)

    async def _draw(self, followed: _Followed, *, last: bool) -> bool:
        """Show how it stands, where that differs from what is shown; whether that was all."""
        look = await self.store.read(partial(self._look, followed=followed))
        if not look.panels:
            clock = asyncio.get_running_loop().time
            return clock() >= followed.end - LONGEST + POSTED_WITHIN
        *former, newest = look.panels
        if newest.row.message_id is None:
            return False  # still to be sent
        text = panel_text(look.rows, look.active, look.now)
        choices = controls(followed.session, look.rows, look.active)
        for panel in former:
            await self._end(followed, panel, f"{text}\n\n{LEFT}")
        # One that was cut is still to be put on record as interrupted.
        unfinished = any(row.state == "running" for row, _ in look.rows)
        if last or not unfinished:
            await self._end(followed, newest, f"{text}\n\n{LEFT}" if unfinished else text)
            return True
        buttons = await self._buttons(newest, choices)
        await self._edit(followed, newest, text, buttons)
        return False

    def _look(self, tx: Transaction, followed: _Followed) -> _Look:
        known: dict[int, dict[ActOnChild, ButtonRow]] = {}
        for row in tx.buttons.temporary():
            action = row.action
            if not isinstance(action, ActOnChild) or action.session != followed.session:
                continue
            if row.address == followed.address:
                known.setdefault(row.outbox, {})[action] = row
        panels = [_Panel(tx.outbox.get(message), buttons) for message, buttons in known.items()]
        rows = family(tx, followed.session)
        active = self.doing(tx, [row for row, _ in rows])
        return _Look(panels, rows, active, tx.now)

    async def _end(self, followed: _Followed, panel: _Panel, text: str) -> None:
        """The last edit of a message: its buttons go."""
        await self._edit(followed, panel, text, ())
        await self.store.run(lambda tx: tx.buttons.use(panel.row.id, "over"))

    async def _edit(
        self, followed: _Followed, panel: _Panel, text: str, buttons: tuple[Button, ...]
    ) -> None:
        message_id = panel.row.message_id
        if message_id is None:
            return
        conversation = Conversation.parse(followed.address)
        body = self.composer.last_body(followed.address, text)
        if (body, buttons) == followed.shown.get(panel.row.id, _posted(panel)):
            return
        edit = Edit(conversation, message_id, body, buttons, fleeting=True)
        await self.notices.send(conversation.platform, edit)
        followed.shown[panel.row.id] = (body, buttons)

    async def _buttons(
        self, panel: _Panel, choices: Sequence[tuple[ActOnChild, str]]
    ) -> tuple[Button, ...]:
        """The buttons of these choices; new ones are on record first, so that they act."""
        buttons = {action: control_button(action, style) for action, style in choices}
        known = {action: row.token for action, row in panel.known.items()}
        new = [(button, action) for action, button in buttons.items() if action not in known]
        first = next(iter(panel.known.values()))

        def record(tx: Transaction) -> None:
            put_buttons(tx, panel.row, new, by=first.by, expires=first.expires)

        if new:
            await self.store.run(record)
        return tuple(
            replace(button, token=known.get(action, button.token))
            for action, button in buttons.items()
        )


def _drop(tx: Transaction, address: str, process: str) -> None:
    tx.ephemeral.drop(KIND, [address], process)


def _posted(panel: _Panel) -> tuple[Body, tuple[Button, ...]]:
    payload = panel.row.payload
    return payload["body"], tuple(Button(**button) for button in payload["buttons"])
