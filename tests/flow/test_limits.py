"""`[limits]`: who asks for too much is told once when it goes on, and no model hears of it."""

from typing import Any

from storage.sql.store import SqlStore
from tests.flow.conftest import ON_BOTH, gateway
from tests.support.stores import Clock

NOON = 1_795_262_400.0
"""In UTC."""
ECHO = [{"reply": {"text": "you said: {last}", "usage": {"input": 0, "output": 1}}}]
DEAR = {"parent": {"model": "scripted:parent", "input_cost": 0.0, "output_cost": 0.5}}


def limits(**given: float) -> dict[str, Any]:
    return {"limits": given, "session": {"busy": "queue"}, "models": DEAR}


def at_noon() -> Clock:
    clock = Clock()
    clock.now = NOON
    return clock


async def opened(database: str, clock: Clock) -> SqlStore:
    return await SqlStore.open(database, clock)


@ON_BOTH
async def test_whoever_is_over_is_told_once_and_goes_on_when_it_was_said(database: str) -> None:
    clock = at_noon()
    config = limits(turns_per_minute=2)
    async with gateway(ECHO, store=await opened(database, clock), config=config) as g:
        for said in ("one", "two", "three", "four", "five"):
            await g.chat.say(said)
            await g.settled()
        shown = [each.text for each in g.chat.shown.values()]
        assert shown[:2] == ["you said: one", "you said: two"]
        assert "More than 2 turns in a minute, so this is not answered" in shown[2]
        assert "in 1 min" in shown[2]
        assert len(shown) == 3
        await g.chat.say("/usage")
        await g.settled()
        assert len(g.chat.shown) == 4
    clock.now += 59
    # A restart gives nobody more.
    async with gateway(ECHO, store=await opened(database, clock), config=config) as g:
        await g.chat.say("still too early", key="telegram:1:101")
        await g.settled()
        assert not g.chat.shown
        clock.now += 2
        await g.chat.say("six", key="telegram:1:102")
        await g.hears("you said: six")
        asked = str(g.model.requests[-1].messages)
        assert "three" not in asked
        assert "too early" not in asked
        rows = await g.app.store.read(lambda tx: tx.directory.audits("over the limit"))
        assert [row[2]["of"] for row in rows] == ["telegram:1"]


async def test_a_limit_holds_up_nobody_else(database: str) -> None:
    store = await opened(database, at_noon())
    async with gateway(ECHO, store=store, config=limits(turns_per_minute=1)) as g:
        await g.chat.say("one")
        await g.hears("you said: one")
        await g.chat.say("two")
        await g.hears("More than 1 turn in a minute")
        await g.chat.say("hello", chat="2", user="2")
        await g.hears("you said: hello", chat="2")


async def test_a_conversation_has_the_limits_of_a_person(database: str) -> None:
    store = await opened(database, at_noon())
    async with gateway(ECHO, store=store, config=limits(turns_per_minute=3)) as g:
        for user in ("1", "2", "3", "4", "5"):
            await g.chat.say("hello", chat="-5", user=user, private=False)
            await g.settled()
        assert len(g.model.requests) == 3
        shown = [each.text for each in g.chat.shown.values()]
        assert "More than 3 turns in a minute in this conversation" in shown[3]
        assert len(shown) == 4
        await g.chat.say("in private", chat="1", user="1")
        await g.hears("you said: in private", chat="1")


async def test_a_running_turn_is_not_interrupted_by_what_is_not_answered(database: str) -> None:
    store = await opened(database, at_noon())
    slow = [{"reply": {"text": "you said: {last}", "delay": 0.5}}]
    config = {"limits": {"turns_per_minute": 1}}
    async with gateway(slow, store=store, config=config) as g:
        await g.chat.say("one")
        await g.model.called("parent")
        await g.chat.say("two")
        await g.hears("you said: one")
        await g.settled()
        assert len(g.model.requests) == 1


async def test_each_arm_of_a_fan_and_each_retry_counts(database: str) -> None:
    clock = at_noon()
    config = limits(turns_per_minute=3)
    async with gateway(ECHO, store=await opened(database, clock), config=config) as g:
        await g.chat.say("one")
        await g.hears("you said: one")
        await g.chat.say("/fan 5")
        await g.hears("5 turns at once; no more than 3 turns a minute")
        await g.chat.say("/fan 3")
        await g.hears("More than 3 turns in a minute")
        await g.chat.say("/fan 2")
        await g.hears("Asking for 2 answers")
        await g.settled()
        assert len(g.model.requests) == 3
        await g.chat.say("/retry")
        await g.hears("More than 3 turns in a minute", count=2)
        await g.settled()
        assert len(g.model.requests) == 3
        clock.now += 61
        await g.chat.say("/retry")
        await g.settled()
        assert len(g.model.requests) == 4


async def test_a_changed_message_counts_too(database: str) -> None:
    store = await opened(database, at_noon())
    async with gateway(ECHO, store=store, config=limits(turns_per_minute=2)) as g:
        said = await g.chat.say("one")
        await g.hears("you said: one")
        await g.chat.edit(said, "two")
        await g.hears("you said: two")
        await g.chat.edit(said, "three")
        await g.hears("More than 2 turns in a minute")
        await g.settled()
        assert len(g.model.requests) == 2


async def test_an_album_is_one_turn_however_many_messages_it_comes_in(database: str) -> None:
    store = await opened(database, at_noon())
    slow = [{"reply": {"text": "you said: {last}", "delay": 0.5}}]
    async with gateway(slow, store=store, config=limits(turns_per_minute=2)) as g:
        for number in range(5):
            await g.chat.say(f"picture {number}", album="7")
        await g.hears("picture 4")
        await g.settled()
        assert not [each for each in g.chat.shown.values() if "More than" in each.text]
        await g.chat.say("two")
        await g.hears("you said: two")
        await g.chat.say("three")
        await g.hears("More than 2 turns in a minute")


@ON_BOTH
async def test_the_money_of_a_day_is_a_persons_wherever_they_talk(database: str) -> None:
    clock = at_noon()
    config = limits(cost_per_day=1.0)
    async with gateway(ECHO, store=await opened(database, clock), config=config) as g:
        for said in ("one", "two"):
            await g.chat.say(said, chat="1")
            await g.hears(f"you said: {said}", chat="1")
        await g.chat.say("three", chat="-7", private=False)
        told = (await g.hears("Today's limit of $1.00 is used up", chat="-7")).text
        assert "at 00:00 UTC, in 12 h" in told
        await g.chat.say("four", chat="-7", private=False)
        await g.chat.say("hello", chat="-7", user="2", private=False)
        await g.hears("hello", chat="-7")
        assert len([one for one in g.chat.shown.values() if "limit" in one.text]) == 1
        # Elsewhere they do not know yet.
        await g.chat.say("five", chat="1")
        await g.hears("Today's limit of $1.00 is used up", chat="1")
        assert len(g.model.requests) == 3
        clock.now += 12 * 3600
        await g.chat.say("six", chat="1")
        await g.hears("you said: six", chat="1")


async def test_without_limits_nothing_is_counted(database: str) -> None:
    store = await opened(database, at_noon())
    async with gateway(ECHO, store=store, config={"session": {"busy": "queue"}}) as g:
        await g.chat.say("one")
        await g.hears("you said: one")
        assert await g.app.store.read(lambda tx: tx.directory.fact("limits:telegram:1")) is None
