"""schedule: the agent notes what it is to do later, and hears of it then, in a turn of its own."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, field_validator

from agent.errors import ToolError
from agent.text.untrusted import visible
from agent.tools.base import (
    NOTHING_DONE,
    Call,
    Done,
    Effects,
    Kit,
    Setting,
    Tool,
    Toolset,
    Traits,
    validate,
)
from agent.tools.schedule.rules import DAY, Once, in_words, upcoming, written
from agent.tools.schedule.when import HOW, HOW_OFTEN, Timing, timing
from agent.tools.schedule.zones import shown_time, usual_zone
from storage.records.entries import Entry, Json
from storage.records.tools.schedules import ScheduleDraft
from storage.store import Store, Transaction

LONGEST_TEXT = 4_000
"""Characters."""
MOST_HERE = 50
"""Active ones in a conversation."""
MOST_OF_ONE = 100
"""Active ones of a person."""
MOST_A_DAY = 200
"""Made in a conversation within a day, whatever became of them: so that turns which make further
ones come to an end."""
SHOWN = 3
"""Times that the result names."""


_PARAMETERS: Json = {
    "type": "object",
    "properties": {
        "when": {
            "type": "string",
            "description": "The first time, in the person's time zone: an ISO time, with or "
            'without an offset; a wait like "30s", "2h" or "in 10 minutes"; "09:00", "tomorrow '
            '9:00", "monday 09:00"; or how it repeats: "every day at 9:00", "every 2 hours", a '
            'cron line "0 9 * * 1-5".',
        },
        "text": {
            "type": "string",
            "description": "What you are to do then, with all that you need to know for it.",
        },
        "repeat": {
            "type": "string",
            "description": 'Only if it repeats and when does not say how: "daily", "weekly", '
            '"weekdays", "monthly", an interval like "2h" (at least 60 s), or a cron line.',
        },
    },
    "required": ["when", "text"],
}


class Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    when: str
    text: str
    repeat: str | bool | None = None

    @field_validator("when", mode="before")
    @classmethod
    def _numbers_are_unclear(cls, value: object) -> object:
        if isinstance(value, int | float):
            raise ValueError(HOW)
        return value

    @field_validator("repeat", mode="before")
    @classmethod
    def _how_many_of_what(cls, value: object) -> object:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError(HOW_OFTEN)
        return value

    @field_validator("text")
    @classmethod
    def _some_text(cls, value: str) -> str:
        value = visible(value).strip()
        if not value:
            raise ValueError("say what is to be done then")
        if len(value) > LONGEST_TEXT:
            raise ValueError(f"must have at most {LONGEST_TEXT:,} characters")
        return value


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store says before something is scheduled."""

    zone: str
    """The person's; "" where they never said."""
    here: int
    of_one: int
    lately: int
    now: float


class ScheduleTool:
    name = "schedule"
    description = (
        "Has you do something later in this conversation, once or again and again: at that time "
        "you get your text as an event, in a new turn, and answer it. Only when a person asks for "
        "it. Tell them the times that the result names."
    )
    parameters = _PARAMETERS
    traits = Traits(Effects.CHANGES, Toolset.SCHEDULE, repeatable=True)

    def __init__(self, store: Store, timezone: Callable[[str], str]) -> None:
        """`timezone`: of people who never said theirs, in a conversation (its address)."""
        self._store = store
        self._timezone = timezone

    async def run(self, call: Call) -> Done:
        arguments = validate(Arguments, call.arguments)
        if not call.person:
            raise ToolError(
                f"nobody asked for this turn, so nothing can be scheduled in it; {NOTHING_DONE}"
            )
        known = await self._store.read(partial(_look, call=call))
        _refuse_too_many(known)
        # In a thread, because zones are files, and a rare day of a cron line is searched for.
        return await asyncio.to_thread(self._schedule, call, arguments, known)

    def _schedule(self, call: Call, arguments: Arguments, known: _Known) -> Done:
        zone = usual_zone(known.zone or self._timezone(call.address))
        try:
            found = timing(arguments.when, arguments.repeat, known.now, zone)
        except ToolError as error:
            raise ToolError(f"{error}; {NOTHING_DONE}") from None
        draft = ScheduleDraft(
            call.session,
            call.address,
            call.person,
            arguments.text,
            written(found.rule),
            zone.key,
            found.first,
        )
        return Done(_told(found, zone, is_theirs=bool(known.zone)), also=partial(_create, draft))


def _create(draft: ScheduleDraft, tx: Transaction, entry: Entry) -> None:
    unasked = tx.tree.session(entry.session).unasked is not None
    tx.schedules.create(replace(draft, unasked=unasked))


def _look(tx: Transaction, call: Call) -> _Known:
    return _Known(
        tx.schedules.zone(call.person),
        tx.schedules.active(address=call.address),
        tx.schedules.active(person=call.person),
        tx.schedules.made_since(call.address, tx.now - DAY),
        tx.now,
    )


def _refuse_too_many(known: _Known) -> None:
    for count, most, where in (
        (known.here, MOST_HERE, "are scheduled in this conversation"),
        (known.of_one, MOST_OF_ONE, "are scheduled for this person"),
        (known.lately, MOST_A_DAY, "were scheduled in this conversation within a day"),
    ):
        if count >= most:
            raise ToolError(
                f"{most} things {where}, which is the most there may be; people see and delete "
                f"them with /schedule; {NOTHING_DONE}"
            )


def _told(found: Timing, zone: ZoneInfo, *, is_theirs: bool) -> str:
    first, *more = upcoming(found.rule, zone, found.first, SHOWN)
    when = shown_time(first, zone)
    if isinstance(found.rule, Once):
        text = f"Scheduled, once: {when}."
    else:
        then = "".join(f"; then {shown_time(at, zone)}" for at in more)
        text = f"Scheduled, {in_words(found.rule)}: first {when}{then}; and so on."
    if not is_theirs:
        text += (
            f" This person never said their time zone, so it is {zone.key}; /schedule zone "
            "Europe/Berlin, say, sets it for what is scheduled from then on."
        )
    return f"{text} People see, pause and delete it with /schedule."


def schedule_kit(store: Store, timezone: Callable[[str], str]) -> Kit:
    """`timezone`: of people who never said theirs, in a conversation (its address)."""
    tool = ScheduleTool(store, timezone)

    def kit(_: Setting) -> Iterable[Tool]:
        return (tool,)

    return kit
