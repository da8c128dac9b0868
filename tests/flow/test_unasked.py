"""Turns that begin by themselves count, wait at the limits, and stop after ten in a row."""

from dataclasses import asdict
from typing import Any

from adapters.recording import Shown
from agent.tools.base import Call, Done, Effects, Traits
from gateway.turns.policy.unasked import MOST
from storage.records.entries import Entry, Json
from storage.records.inbox_outbox import Arrival, Event, InboxKind
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.flow.chatting import SlowModel, labels, press
from tests.flow.conftest import ON_BOTH, Gateway, gateway
from tests.flow.scheduling import now_is, planted, schedules
from tests.flow.test_limits import at_noon, opened

STOPPED = "in a row on what happened by itself"
WAITS = "waits until the limit allows it"
RULES: list[dict[str, Any]] = [
    {"when": {"last": "<event a command"}, "reply": {"text": "Heard of it."}},
    {"when": {"last": "<event a scheduled"}, "reply": {"text": "Time for it."}},
    {"reply": {"text": "Yes."}},
]


async def arrives(g: Gateway, number: int, *, standing: bool = False) -> None:
    title = "a scheduled time" if standing else "a command ended"
    event = asdict(Event(title, f"number {number}", "telegram:1", True, standing=standing))

    def work(tx: Transaction) -> None:
        session = tx.directory.conversation("telegram:1")
        key = f"happened:{standing}:{number}"
        tx.inbox.receive(Arrival(key, InboxKind.EVENT, "telegram:1", event, session))

    await g.app.store.run(work)


async def happens(g: Gateway, *numbers: int, standing: bool = False) -> None:
    """One after the other, by themselves."""
    for number in numbers:
        await arrives(g, number, standing=standing)
        await g.settled()


async def says(g: Gateway, text: str, key: str = "") -> None:
    await g.chat.say(text, key=key)
    await g.settled()


async def waiting(store: Store) -> int:
    return len(await store.read(lambda tx: tx.inbox.unfinished()))


def told(g: Gateway, text: str = STOPPED) -> list[Shown]:
    return [shown for shown in g.chat.shown.values() if text in shown.text]


@ON_BOTH
async def test_after_ten_in_a_row_the_rest_waits_for_a_press(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await says(g, "hello")
        await happens(g, *range(1, MOST + 4))
        assert len(g.model.requests) == 1 + MOST
        (stop,) = told(g)
        assert labels(stop) == ["Go on"]
        assert await waiting(store) == 3
        await press(g, stop, "Go on")
        assert len(g.model.requests) == 1 + MOST + 3
        assert await waiting(store) == 0
        assert [row[1] for row in await audits(store, "goes on by itself")] == ["telegram:1"]
        await happens(g, *range(100, 100 + MOST))
        assert [labels(shown) for shown in told(g)] == [["Go on"]]
        assert await waiting(store) == 3


async def audits(store: Store, what: str) -> list[Any]:
    return await store.read(lambda tx: tx.directory.audits(what))


async def test_an_old_go_on_button_gives_nothing_more(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await says(g, "hello")
        await happens(g, *range(MOST + 1))
        (stop,) = told(g)
        await says(g, "hello again")
        assert await waiting(store) == 0
        await press(g, stop, "Go on")
        assert "It goes on already." in [shown.text for shown in g.chat.shown.values()]


@ON_BOTH
async def test_a_message_begins_the_count_anew_and_what_waited_is_handled(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await says(g, "hello")
        await happens(g, *range(MOST + 2))
        assert await waiting(store) == 2
        await says(g, "I am here")
        assert await waiting(store) == 0
        assert len(g.model.requests) == 1 + MOST + 1 + 2
        await happens(g, *range(50, 50 + MOST - 2))
        assert await waiting(store) == 0


async def test_a_restart_changes_nothing_of_the_count(database: str) -> None:
    for start in range(3):
        async with gateway(RULES, store=await SqlStore.open(database)) as g:
            if not start:
                await says(g, "hello")
            await happens(g, *range(start * 4, start * 4 + 4))
            last = len(told(g))
    assert last == 1
    async with gateway(RULES, store=await SqlStore.open(database)) as g:
        await g.settled()
        assert await waiting(g.app.store) == 2
        assert told(g) == []


async def test_a_turn_that_is_begun_again_after_a_crash_counts_once(database: str) -> None:
    model = SlowModel(RULES, word="number 1")
    async with gateway(store=await SqlStore.open(database), model=model) as g:
        await says(g, "hello")
        await arrives(g, 1)
        await model.began.wait()
    async with gateway(RULES, store=await SqlStore.open(database)) as g:
        await g.hears("Heard of it.")
        await g.settled()
        session = await g.app.store.read(lambda tx: tx.directory.conversation("telegram:1"))
        assert session is not None
        kept = await g.app.store.read(lambda tx: tx.tree.session(session).unasked)
        assert kept is not None
        assert kept.turns == 1


class Loop:
    """A tool that makes something happen by itself, as a command in the background does."""

    name = "later"
    description = "Be told later."
    traits = Traits(Effects.CHANGES)

    def __init__(self) -> None:
        self.parameters: Json = {"type": "object"}

    async def run(self, call: Call) -> Done:
        event = asdict(Event("a command ended", "as you see", call.person, private=True))

        def also(tx: Transaction, entry: Entry) -> None:
            key = f"later:{entry.id}"
            tx.inbox.receive(Arrival(key, InboxKind.EVENT, call.address, event, call.session))

        return Done("You will hear.", also=also)


async def test_a_loop_without_a_person_ends(store: Store) -> None:
    """Each turn begins what begins the next one, twice over."""
    later: Json = {"tool_calls": [{"name": "later", "arguments": {}}] * 2}
    rules: list[Json] = [
        {"when": {"last": "^begin|<event"}, "reply": later},
        {"reply": {"text": "Done."}},
    ]
    async with gateway(rules, store=store, tools=[Loop()]) as g:
        await says(g, "begin")
        await g.hears(STOPPED)
        await g.settled()
        assert len(g.model.requests) == 2 * (1 + MOST)


async def test_a_loop_keeps_to_the_turns_in_a_minute(database: str) -> None:
    later: Json = {"tool_calls": [{"name": "later", "arguments": {}}]}
    rules: list[Json] = [
        {"when": {"last": "^begin|<event"}, "reply": later},
        {"reply": {"text": "Done."}},
    ]
    config = {"limits": {"turns_per_minute": 5}}
    store = await opened(database, at_noon())
    async with gateway(rules, store=store, tools=[Loop()], config=config) as g:
        await says(g, "begin")
        await g.hears(WAITS)
        await g.settled()
        assert len(g.model.requests) == 2 * 5


async def test_what_people_scheduled_is_never_stopped(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await says(g, "hello")
        await happens(g, *range(3 * MOST), standing=True)
        assert await waiting(store) == 0
        await happens(g, *range(MOST + 1))
        assert await waiting(store) == 1
        await happens(g, 99, standing=True)
        assert await waiting(store) == 1
        assert len(g.model.requests) == 1 + 3 * MOST + MOST + 1


async def test_what_such_a_turn_schedules_is_nobodys_word(store: Store) -> None:
    rules = [
        {
            "when": {"last": "^remind|<event a command"},
            "reply": schedules(when="in 2 hours", text="tea"),
        },
        {"when": {"last": "^Scheduled"}, "reply": {"text": "I will."}},
        *RULES,
    ]
    config = {"tools": {"toolsets": ["schedule"]}}
    async with gateway(rules, store=store, config=config) as g:
        await says(g, "remind me")
        await happens(g, 1)
        made = await store.read(lambda tx: tx.schedules.of_conversation("telegram:1"))
        assert [one.unasked for one in sorted(made, key=lambda one: one.id)] == [False, True]


async def test_a_schedule_of_a_person_fires_however_many_turns_there_were(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await says(g, "hello")
        await happens(g, *range(MOST + 1))
        planned = await planted(store, 1.0)
        await g.hears("Time for it.")
        assert (await now_is(store, planned)).fired is not None


async def test_over_the_limit_it_waits_and_that_is_told_once(database: str) -> None:
    clock = at_noon()
    config = {"limits": {"turns_per_minute": 3}}
    async with gateway(RULES, store=await opened(database, clock), config=config) as g:
        await says(g, "hello")
        await happens(g, 1, 2, 3, 4, 5)
        assert len(g.model.requests) == 3
        assert len(told(g, WAITS)) == 1
        assert "More than 3 turns in a minute." in told(g, WAITS)[0].text
        clock.now += 61
        await g.app.router.sweep()
        await g.settled()
        assert len(g.model.requests) == 6
        assert await waiting(g.app.store) == 0
        assert len(told(g, WAITS)) == 1


async def test_what_waits_does_not_hold_up_people(database: str) -> None:
    clock = at_noon()
    config = {"limits": {"turns_per_minute": 3}}
    async with gateway(RULES, store=await opened(database, clock), config=config) as g:
        await says(g, "hello")
        await happens(g, 1, 2, 3)
        assert await waiting(g.app.store) == 1
        clock.now += 61
        await says(g, "and me?", key="telegram:1:900")
        assert await waiting(g.app.store) == 0
        asked = [str(request.messages[-1]["content"]) for request in g.model.requests]
        assert asked[-2:] == ["and me?", asked[-1]]
        assert "number 3" in asked[-1]


async def test_stop_drops_what_waits(store: Store) -> None:
    async with gateway(RULES, store=store) as g:
        await says(g, "hello")
        await happens(g, *range(MOST + 2))
        await says(g, "/stop")
        assert await waiting(store) == 0
        await happens(g, 50)
        assert await waiting(store) == 0
