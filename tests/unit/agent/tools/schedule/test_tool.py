"""The tool: what it takes, what it tells, how much there may be."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agent.errors import ToolError
from agent.tools.base import Call, Done, Setting, Toolset
from agent.tools.schedule.tool import LONGEST_TEXT, MOST_A_DAY, MOST_OF_ONE, schedule_kit
from storage.records.entries import SessionDraft, SessionKind
from storage.records.tools.schedules import Schedule, ScheduleDraft, ScheduleState
from storage.store import Store, Transaction
from tests.support.stores import Clock, append, fresh_store, new_session, said

NOON = 1_795_262_400.0
"""2026-11-21, 12:00 UTC."""


async def scheduled(store: Store, call: Call) -> Done:
    """The call's result, with what it does besides done."""
    setting = Setting(call.session, call.address, child=False, window=None)
    (tool,) = schedule_kit(store, lambda _: "Europe/Berlin")(setting)
    done = await tool.run(call)
    assert isinstance(done, Done)
    also = done.also
    assert also is not None
    (entry,) = await append(store, call.session, said("result"))
    await store.run(lambda tx: also(tx, entry))
    return done


async def called(store: Store, **arguments: Any) -> Call:
    session = (await new_session(store)).id
    return Call("c", arguments, session, 1, "telegram:1", "telegram:1")


async def test_nothing_is_stored_but_with_the_result() -> None:
    async with fresh_store(_noon()) as store:
        call = await called(store, when="9:00", text=" Water the plants. ")
        setting = Setting(1, "telegram:1", child=False, window=None)
        (tool,) = schedule_kit(store, lambda _: "UTC")(setting)
        await tool.run(call)
        assert await store.read(lambda tx: tx.schedules.active()) == 0
        done = await scheduled(store, call)
        assert "Sunday, 22 November 2026, 09:00 (Europe/Berlin, UTC+01:00)" in done.text
        made = await store.read(lambda tx: tx.schedules.get(1))
        assert (made.text, made.zone, made.person) == (
            "Water the plants.",
            "Europe/Berlin",
            "telegram:1",
        )


def _noon() -> Clock:
    clock = Clock()
    clock.now = NOON
    return clock


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"when": "9:00"}, "text: Field required"),
        ({"text": "tea"}, "when: Field required"),
        ({"when": "9:00", "text": " \u200b\n"}, "say what is to be done"),
        ({"when": "9:00", "text": "x" * (LONGEST_TEXT + 1)}, "at most 4,000 characters"),
        ({"when": 600, "text": "tea"}, "write an ISO time"),
        ({"when": "9:00", "text": "tea", "repeat": 3600}, 'write repeat as "daily"'),
        ({"when": "9:00", "text": "tea", "repeat": ["daily"]}, "repeat"),
        ({"when": "yesterday", "text": "tea"}, "is not clear.*nothing was done"),
    ],
)
async def test_broken_arguments_are_refused(arguments: dict[str, Any], told: str) -> None:
    async with fresh_store(_noon()) as store:
        call = await called(store, **arguments)
        with pytest.raises(ToolError, match=told):
            await scheduled(store, call)


async def test_a_turn_that_nobody_asked_for_schedules_nothing() -> None:
    async with fresh_store(_noon()) as store:
        call = await called(store, when="9:00", text="tea")
        with pytest.raises(ToolError, match="nobody asked"):
            await scheduled(store, replace(call, person=""))


async def test_a_person_has_a_limit_over_all_conversations() -> None:
    async with fresh_store(_noon()) as store:
        await store.run(partial(_plant, number=MOST_OF_ONE, each_elsewhere=True))
        call = await called(store, when="9:00", text="tea")
        with pytest.raises(ToolError, match="100 things are scheduled for this person"):
            await scheduled(store, call)
        await scheduled(store, replace(call, person="telegram:2"))


async def test_turns_that_schedule_further_ones_come_to_an_end() -> None:
    clock = _noon()
    async with fresh_store(clock) as store:
        for one in await store.run(partial(_plant, number=MOST_A_DAY)):
            await store.run(partial(_end, seen=one))
        call = await called(store, when="1m", text="and so on")
        with pytest.raises(ToolError, match="within a day"):
            await scheduled(store, call)
        clock.now += 86_401
        await scheduled(store, call)


def _plant(tx: Transaction, number: int, *, each_elsewhere: bool = False) -> list[Schedule]:
    session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
    return [
        tx.schedules.create(
            ScheduleDraft(
                session,
                f"telegram:{1000 + n}" if each_elsewhere else "telegram:1",
                "telegram:1",
                "tea",
                f"once {NOON!r}",
                "UTC",
                NOON + 9e6,
            )
        )
        for n in range(number)
    ]


def _end(tx: Transaction, seen: Schedule) -> bool:
    return tx.schedules.change(seen, state=ScheduleState.DONE)


def test_only_the_agent_that_people_talk_to_has_it() -> None:
    (tool,) = schedule_kit(None, lambda _: "UTC")(Setting(1, "a:1", child=False, window=None))  # type: ignore[arg-type]
    assert tool.traits.parent_only
    assert tool.traits.given_with([Toolset.SCHEDULE])
    assert not tool.traits.given_with([Toolset.MESSAGE])
