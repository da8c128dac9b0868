"""From a schedule that is due to an event in its conversation, in one transaction with its next
time: so twice is once, and a kill loses nothing."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from zoneinfo import ZoneInfo

from adapters.platforms import private_chat
from agent.errors import ToolError
from agent.tools.schedule.rules import following, read, times_between
from gateway.access.roles import Access
from gateway.outbound.composer import Composer
from gateway.schedules.wording import event_of, paused_for_access, paused_for_fault
from storage.records.entries import SessionDraft, SessionKind
from storage.records.inbox_outbox import Arrival, Event, InboxKind
from storage.records.tools.schedules import Schedule, ScheduleState
from storage.store import Transaction

log = logging.getLogger(__name__)

MAY_NOT_TALK = "who scheduled it may not talk to me any more"
UNREADABLE = "its times cannot be reckoned any more"
FAILED = "it could not be started; the log says why"
KEY = "schedule"
"""Begins the inbox key of an event; the schedule's number follows."""

Waiting = Mapping[int, Sequence[int]]
"""Inbox rows of events that no turn began with, by the numbers of their schedules."""


def events_waiting(tx: Transaction, session: int) -> Waiting:
    found: dict[int, list[int]] = {}
    for row in tx.inbox.unfinished(session):
        if row.entry is None and row.key.startswith(f"{KEY}:"):
            found.setdefault(int(row.key.split(":")[1]), []).append(row.id)
    return found


def withdraw(tx: Transaction, schedule: Schedule) -> None:
    """What it put in line for the conversation, and no turn began with, is not done any more."""
    session = tx.directory.conversation(schedule.address)
    if session is not None and (rows := events_waiting(tx, session).get(schedule.id)):
        tx.inbox.finish(rows)


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of a schedule that is due."""

    schedule: Schedule
    now: float
    event: Event | None
    """None: it cannot be done. Whether it is private is not known yet."""
    next: float | None = None
    """None: there is no next time."""
    fault: str = ""


def plan(schedule: Schedule, now: float) -> Step:
    """What was missed is done once, now; the next time is the first that is still to come. Pure,
    and may take some milliseconds."""
    try:
        rule, zone = read(schedule.rule), ZoneInfo(schedule.zone)
        missed = times_between(rule, zone, schedule.next, now)
        next_ = following(rule, zone, now)
    except (ToolError, ValueError, LookupError, OSError) as error:
        # A zone that the machine forgot, or a rule of another version.
        log.error("schedule %d (%r): %s", schedule.id, schedule.rule, error)
        return Step(schedule, now, None, fault=UNREADABLE)
    event = event_of(schedule, rule, zone, now=now, missed=missed, next=next_)
    return Step(schedule, now, event, next_)


def earlier(schedule: Schedule, now: float) -> float | None:
    """The next time of a schedule that was done when the clock was ahead of now, where it is before
    the one that was reckoned then."""
    try:
        at = following(read(schedule.rule), ZoneInfo(schedule.zone), now)
    except (ToolError, ValueError, LookupError, OSError):
        return None  # its firing says so, when it is due
    return at if at is not None and at < schedule.next else None


@dataclass(frozen=True, slots=True)
class Firing:
    access: Access
    composer: Composer

    def fire(self, tx: Transaction, steps: Sequence[Step]) -> None:
        """Carry steps out. What was changed since it was looked at stays as it is now."""
        waiting = cache(partial(events_waiting, tx))
        for step in steps:
            if step.event is None:
                self.give_up(tx, step.schedule, step.fault)
            elif not self.access.may_talk(step.schedule.person):
                self._pause(tx, step.schedule)
            else:
                self._begin(tx, step, step.event, waiting)

    def give_up(self, tx: Transaction, schedule: Schedule, why: str) -> None:
        """Pause what cannot be done, and tell its conversation."""
        if tx.schedules.change(schedule, state=ScheduleState.PAUSED, reason=why):
            text = paused_for_fault(schedule, why)
            for parcel in self.composer.notice(schedule.address, text):
                tx.outbox.enqueue(parcel)

    def _pause(self, tx: Transaction, schedule: Schedule) -> None:
        """All of the person's at once, so that the owners hear of it once."""
        if not (count := tx.schedules.pause_all(schedule.person, MAY_NOT_TALK)):
            return
        tx.directory.audit(
            "schedules paused", schedule.person, {"schedule": schedule.id, "count": count}
        )
        text = paused_for_access(schedule, count)
        for owner in self.access.owners():
            chat = private_chat(owner)
            if chat is not None and self.composer.serves(chat.address):
                for parcel in self.composer.notice(chat.address, text):
                    tx.outbox.enqueue(parcel)

    def _begin(
        self, tx: Transaction, step: Step, event: Event, waiting: Callable[[int], Waiting]
    ) -> None:
        """Its next time comes in any case. No second event waits beside one: turns that take longer
        than it is until the next time would be behind more and more of them."""
        schedule = step.schedule
        changed = tx.schedules.change(
            schedule,
            state=ScheduleState.DONE if step.next is None else ScheduleState.ACTIVE,
            next=step.next,
            fired=step.now,
        )
        if not changed:
            return
        session = tx.directory.conversation(schedule.address)
        if session is None:
            session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            tx.directory.bind(schedule.address, session)
        if schedule.id in waiting(session):
            return
        private = tx.directory.private_with(schedule.address) == schedule.person
        payload = asdict(replace(event, private=private))
        key = f"{KEY}:{schedule.id}:{schedule.next!r}"
        arrival = Arrival(key, InboxKind.EVENT, schedule.address, payload, session)
        tx.inbox.receive(arrival)
