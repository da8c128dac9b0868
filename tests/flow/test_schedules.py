"""What is scheduled becomes a turn of its own, once, at its time."""

import asyncio
import time
from collections import Counter

from adapters.base import Unreachable
from storage.records.tools.schedules import ScheduleState
from storage.store import Store
from tests.flow.chatting import Flaky, SlowModel, bound, command, talk
from tests.flow.conftest import ON_BOTH, PATIENCE, Gateway, SpyModel, gateway
from tests.flow.scheduling import HEARD, ON, now_is, planted, rules

HOUR = 3600.0


def events(g: Gateway) -> list[str]:
    """What the model was told of each event that it was asked about, the oldest first."""
    last = [str(request.messages[-1]["content"]) for request in g.model.requests]
    return [text for text in last if text.startswith("<event")]


@ON_BOTH
async def test_what_a_person_asks_for_is_done_at_its_time_once(store: Store) -> None:
    async with gateway(rules(when="1s", text="Water the plants."), store=store, config=ON) as g:
        asked = time.time()
        await g.chat.say("remind me")
        await g.hears("I will.")
        (result,) = [m for m in g.model.requests[-1].messages if m["role"] == "tool"]
        assert "Scheduled, once: " in str(result["content"])
        assert "(UTC)" in str(result["content"])
        assert "/schedule zone" in str(result["content"])
        await g.hears(HEARD)
        assert time.time() >= asked + 1
        await g.settled()
        (told,) = events(g)
        assert told.startswith("<event a scheduled time has come>\ntelegram:1 had you schedule")
        assert "Water the plants." in told
        assert "late" not in told
        assert (await store.read(lambda tx: tx.schedules.get(1))).state is ScheduleState.DONE


async def test_without_the_toolset_there_is_no_such_tool(store: Store) -> None:
    async with gateway(rules(when="1s", text="tea"), store=store) as g:
        await talk(g, "remind me")
        assert await store.read(lambda tx: tx.schedules.active()) == 0


async def test_times_are_in_the_zone_of_the_person(store: Store) -> None:
    async with gateway(rules(when="every day at 9", text="tea"), store=store, config=ON) as g:
        await command(g, "/schedule zone Berlin")
        await talk(g, "remind me")
        (result,) = [m for m in g.model.requests[-1].messages if m["role"] == "tool"]
        assert "every day at 09:00: first " in str(result["content"])
        assert str(result["content"]).count("Europe/Berlin") == 3
        made = await store.read(lambda tx: tx.schedules.get(1))
        assert made.zone == "Europe/Berlin"
        assert made.rule.startswith("days 1 ")


async def test_the_default_zone_is_the_configured_one(store: Store) -> None:
    config = {"tools": {"toolsets": ["schedule"], "timezone": "Asia/Tokyo"}}
    async with gateway(rules(when="9:00", text="tea"), store=store, config=config) as g:
        await talk(g, "remind me")
        assert (await store.read(lambda tx: tx.schedules.get(1))).zone == "Asia/Tokyo"


@ON_BOTH
async def test_what_repeats_is_done_now_and_noted_for_its_next_time(store: Store) -> None:
    start = time.time() - 10
    async with gateway(rules(), store=store, config=ON) as g:
        made = await planted(store, start, rule=f"every 60 {start!r}")
        await g.hears(HEARD)
        await g.settled()
        after = await now_is(store, made)
        assert (after.state, after.next) == (ScheduleState.ACTIVE, start + 60)
        assert "It repeats every minute; next: " in events(g)[0]


async def test_what_was_missed_is_done_once_late_and_marked(store: Store) -> None:
    due = time.time() - 3 * HOUR - 60
    made = await planted(store, due, rule=f"every 3600 {due!r}")
    once = await planted(store, due, text="coffee")
    async with gateway(rules(), store=store, config=ON) as g:
        await g.hears(HEARD, count=2)
        await g.settled()
        hourly, single = events(g)
        assert "It comes 3 h late" in hourly
        assert "3 more times came and went since" in hourly
        assert "coffee" in single
        assert "came and went" not in single
        after = await now_is(store, made)
        assert after.next == due + 4 * HOUR
        assert (await now_is(store, once)).state is ScheduleState.DONE
        assert len(events(g)) == 2


async def test_a_turn_that_runs_is_not_interrupted(store: Store) -> None:
    model = SlowModel(rules())
    async with gateway(store=store, config=ON, model=model) as g:
        await g.chat.say("slowly please")
        await model.began.wait()
        await planted(store, time.time() - 1)
        async with asyncio.timeout(PATIENCE):
            while await store.read(lambda tx: tx.schedules.active()):
                await asyncio.sleep(0.02)
        model.may_go_on.set()
        await g.hears(HEARD)
        shown = [s.text for s in g.chat.shown.values()]
        assert shown.index("Yes.") < shown.index(HEARD)


async def test_it_goes_to_the_session_that_the_conversation_is_in_then(store: Store) -> None:
    async with gateway(rules(), store=store, config=ON) as g:
        await talk(g, "hello")
        before = await bound(store)
        await command(g, "/new")
        await planted(store, time.time() - 1)
        await g.hears(HEARD)
        await g.settled()
        after = await bound(store)
        assert after is not None
        assert before != after
        async with asyncio.timeout(PATIENCE):
            while await store.read(lambda tx: tx.tree.session(after).leaf) is None:
                await asyncio.sleep(0.02)


async def test_who_may_not_talk_any_more_has_nothing_done_and_owners_hear_of_it(
    store: Store,
) -> None:
    access = {"access": {"allow": ["telegram:1"], "owners": ["telegram:1"]}}
    due = time.time() - 1
    made = [
        await planted(store, due + n / 10, chat="-5", person="telegram:7", text="spy on")
        for n in range(3)
    ]
    async with gateway(rules(), store=store, config=ON | access) as g:
        shown = await g.hears("may not talk to me any more")
        await g.settled()
        assert "and 2 more" in shown.text
        assert [s.text for s in g.chat.shown.values()] == [shown.text]
        assert g.model.requests == []
        assert {(await now_is(store, each)).state for each in made} == {ScheduleState.PAUSED}
        refused = await command(g, f"/schedule resume {made[0].id}", chat="-5")
        assert "Let them in first" in refused.text
        assert (await now_is(store, made[0])).state is ScheduleState.PAUSED


async def test_what_cannot_be_reckoned_is_paused_and_stops_nobody(store: Store) -> None:
    due = time.time() - 5
    broken = await planted(store, due, zone="Mars/Olympus")
    strange = await planted(store, due, rule="whenever you like")
    fine = await planted(store, due + 1)
    async with gateway(rules(), store=store, config=ON) as g:
        await g.hears(HEARD)
        await g.hears("cannot be reckoned", count=2)
        assert (await now_is(store, broken)).state is ScheduleState.PAUSED
        assert (await now_is(store, strange)).state is ScheduleState.PAUSED
        assert (await now_is(store, fine)).state is ScheduleState.DONE
        listed = await command(g, "/schedule")
        assert "cannot be reckoned any more" in listed.text


async def test_what_repeats_where_nothing_arrives_is_paused(store: Store) -> None:
    due = time.time() - 1
    chat = Flaky(Unreachable("blocked"))
    async with gateway(rules(), store=store, config=ON, chat=chat) as g:
        later = await planted(store, due + HOUR)
        made = await planted(store, due, rule=f"every 60 {due!r}")
        async with asyncio.timeout(PATIENCE):
            while (await now_is(store, made)).state is ScheduleState.ACTIVE:
                await asyncio.sleep(0.02)
        assert (await now_is(store, later)).state is ScheduleState.ACTIVE
        listed = await command(g, "/schedule")
        assert "paused: what it said did not reach this chat" in listed.text
        assert "goes on: " in (await command(g, f"/schedule resume {made.id}")).text


async def test_a_thousand_at_once_are_done_each_once(store: Store) -> None:
    due = time.time() - 1
    for chat in range(1, 21):
        for number in range(50):
            await planted(store, due, chat=str(chat), text=f"item {chat}.{number}.")
    model = SpyModel(rules())
    async with gateway(store=store, config=ON, model=model) as g:
        await model.called("parent", 1000)
        await g.settled()
        items = Counter(
            line for text in events(g) for line in text.splitlines() if line.startswith("item ")
        )
        assert len(items) == 1000
        assert set(items.values()) == {1}
        heard = Counter(s.conversation.chat for s in g.chat.shown.values() if s.text == HEARD)
        assert set(heard.values()) == {50}


async def test_a_conversation_has_a_limit_that_people_can_make_room_in(store: Store) -> None:
    later = time.time() + HOUR
    for _ in range(50):
        await planted(store, later)
    async with gateway(rules(when="1h", text="tea"), store=store, config=ON) as g:
        await g.chat.say("remind me")
        await g.hears("50 things are scheduled in this conversation")
        await command(g, "/schedule delete 1")
        await g.chat.say("remind me")
        await g.hears("I will.")


async def test_broken_arguments_are_told_to_the_model_and_nothing_is_done(store: Store) -> None:
    async with gateway(rules(when="sometime", text="tea"), store=store, config=ON) as g:
        await g.chat.say("remind me")
        shown = await g.hears("I cannot")
        assert "write an ISO time" in shown.text
        assert await store.read(lambda tx: tx.schedules.active()) == 0
