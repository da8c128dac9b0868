"""/agents stays up to date: the message that it posted is edited while children run.

Best effort and not in the outbox, as progress is: an edit that fails is made up for by the next
one. What is to be edited is read from the store each time, so a newer /agents simply takes over;
after a restart the message stays as it is, and its buttons still act. While a conversation has such
a message progress is silent there: it would say the same.
"""

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from adapters.base import AdapterError, Button, Edit, Throttled, Unavailable
from adapters.events import Conversation
from agent.delegation.supervision import Activity
from gateway.outbound.composer import Composer
from gateway.questions.child_control import KIND, controls
from gateway.status.notices import Notices
from gateway.views.delegations import Family, family, panel_text
from storage.errors import StoreError
from storage.records.inbox_outbox import OutboxRow
from storage.records.questions import Choice, Question, QuestionPost, QuestionState
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between edits, at the least. Platforms throttle them."""
LONGEST = 1800.0
"""Seconds from /agents until its message is left as it is."""
LEFT = "_This is not kept up to date any more; /agents shows what runs now._"


@dataclass(frozen=True, slots=True)
class _Panel:
    """A message that /agents posted."""

    question: Question
    post: QuestionPost
    row: OutboxRow


@dataclass(frozen=True, slots=True)
class _Look:
    panels: Sequence[_Panel]
    """Those with buttons that act, oldest first."""
    rows: Family
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
    shown: dict[int, tuple[str, tuple[Button, ...]]] = field(default_factory=dict)
    """Text and buttons, by question."""
    buttons: dict[tuple[int, str], Button] = field(default_factory=dict)
    """By question and choice: a button that comes back has the token that it had."""


@dataclass
class Live:
    """Owns a task for each conversation that has such a message."""

    store: Store
    notices: Notices
    composer: Composer
    active: Mapping[int, Activity]
    """The children that run now."""
    _followed: dict[str, _Followed] = field(default_factory=dict, init=False)
    """By address."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)

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
        """Whether a message of this conversation is kept up to date now."""
        return address in self._followed

    async def close(self) -> None:
        """Leave all messages as they are."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, followed: _Followed) -> None:
        try:
            await self._keep(followed)
        except AdapterError as error:
            log.info("/agents in %s is not kept up to date: %s", followed.address, error)
        except Exception:
            # The boundary of a task that nobody awaits before the gateway stops.
            log.exception("/agents in %s is not kept up to date", followed.address)
        finally:
            del self._followed[followed.address]

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
        look = await self.store.read(partial(_look, followed=followed))
        if not look.panels:
            return True
        *former, newest = look.panels
        if newest.row.message_id is None:
            return False  # still to be sent
        text = panel_text(look.rows, self.active, look.now)
        choices = controls([row for row, _ in look.rows], self.active)
        for panel in former:
            await self._end(followed, panel, f"{text}\n\n{LEFT}")
        # One that was cut is still to be put on record as interrupted.
        unfinished = any(row.state == "running" for row, _ in look.rows)
        if last or not unfinished:
            await self._end(followed, newest, f"{text}\n\n{LEFT}" if unfinished else text)
            return True
        buttons = await self._buttons(followed, newest, choices)
        await self._edit(followed, newest, text, buttons)
        return False

    async def _end(self, followed: _Followed, panel: _Panel, text: str) -> None:
        """The last edit of a message: its buttons go."""
        await self._edit(followed, panel, text, ())
        number = panel.question.id
        await self.store.run(lambda tx: tx.questions.close(number, QuestionState.WITHDRAWN))

    async def _edit(
        self, followed: _Followed, panel: _Panel, text: str, buttons: tuple[Button, ...]
    ) -> None:
        number, message_id = panel.question.id, panel.row.message_id
        first = (panel.question.text, _buttons_of(panel))
        if message_id is None or (text, buttons) == followed.shown.get(number, first):
            return
        conversation = Conversation.parse(followed.address)
        body = self.composer.last_body(followed.address, text)
        edit = Edit(conversation, message_id, body, buttons, fleeting=True)
        await self.notices.send(conversation.platform, edit)
        followed.shown[number] = (text, buttons)

    async def _buttons(
        self, followed: _Followed, panel: _Panel, choices: Sequence[Choice]
    ) -> tuple[Button, ...]:
        """The buttons of these choices; new ones are on record first, so that they act."""
        number = panel.question.id
        keys = (choice.key for choice in panel.question.choices)
        known = dict(zip(keys, _buttons_of(panel), strict=True))
        known |= {key: one for (asked, key), one in followed.buttons.items() if asked == number}
        new = {
            choice: Button(choice.label, secrets.token_urlsafe(18), choice.style)
            for choice in choices
            if choice.key not in known
        }

        def record(tx: Transaction) -> None:
            for choice, button in new.items():
                tx.questions.add_button(button.token, panel.post, choice)

        if new:
            await self.store.run(record)
        for choice, button in new.items():
            followed.buttons[number, choice.key] = known[choice.key] = button
        return tuple(known[choice.key] for choice in choices)


def _look(tx: Transaction, followed: _Followed) -> _Look:
    panels = [
        _Panel(question, post, tx.outbox.get(post.outbox))
        for question in tx.questions.open(followed.session)
        if question.kind == KIND and question.address == followed.address
        for post in tx.questions.posts(question.id)
    ]
    return _Look(panels, family(tx, followed.session), tx.now)


def _buttons_of(panel: _Panel) -> tuple[Button, ...]:
    """As they were posted."""
    return tuple(Button(**button) for button in panel.row.payload["buttons"])
