"""/schedule: what is scheduled in a conversation, and who may change it."""

import asyncio
import time

import pytest

from storage.records.tools.schedules import ScheduleState
from storage.store import Store
from tests.flow.chatting import SlowModel, command, labels, newest, press
from tests.flow.conftest import PATIENCE, gateway
from tests.flow.scheduling import HEARD, ON, now_is, planted, rules

HOUR = 3600.0
GROUP = "-100"


async def test_nothing_is_scheduled_at_first(store: Store) -> None:
    async with gateway(store=store) as g:
        assert "Nothing is scheduled here" in (await command(g, "/schedule")).text


async def test_the_list_says_when_how_often_what_and_whose(store: Store) -> None:
    at = time.time() + HOUR
    async with gateway(store=store) as g:
        await command(g, "/schedule zone Asia/Tokyo")
        made = await planted(store, at, rule=f"every 7200 {at!r}", text="Look at _that_ <page>")
        await planted(store, at, chat="2", text="elsewhere")
        shown = await command(g, "/schedule")
        assert f"#{made.id}" in shown.text
        assert "(Asia/Tokyo, UTC+09:00) · every 2 hours · by you" in shown.text
        assert "> Look at that \\<page>" in shown.text
        assert "elsewhere" not in shown.text
        assert labels(shown) == [f"Pause #{made.id}", f"Delete #{made.id}"]


async def test_buttons_pause_resume_and_delete(store: Store) -> None:
    at = time.time() + HOUR
    async with gateway(store=store) as g:
        made = await planted(store, at, rule=f"every 7200 {at!r}")
        shown = await command(g, "/schedule")
        await press(g, shown, f"Pause #{made.id}")
        shown = newest(g)
        assert "is paused." in shown.text
        assert (await now_is(store, made)).state is ScheduleState.PAUSED
        await press(g, shown, f"Resume #{made.id}")
        shown = newest(g)
        assert "goes on: " in shown.text
        after = await now_is(store, made)
        assert (after.state, after.next) == (ScheduleState.ACTIVE, at)
        await press(g, shown, f"Delete #{made.id}")
        assert "is deleted." in newest(g).text
        assert "Nothing is scheduled here" in newest(g).text
        gone = await now_is(store, made)
        assert (gone.state, gone.text) == (ScheduleState.DELETED, "")


async def test_what_came_and_went_while_it_was_paused_is_not_made_up_for(store: Store) -> None:
    start = time.time() - 2.5 * HOUR
    made = await planted(store, time.time() + HOUR, rule=f"every 3600 {start!r}")
    single = await planted(store, time.time() + 0.3)
    async with gateway(store=store) as g:
        await command(g, f"/schedule pause {made.id}")
        await command(g, f"/schedule pause #{single.id}")
        paused = await now_is(store, made)
        await store.run(lambda tx: tx.schedules.change(paused, next=start))
        await command(g, f"/schedule resume {made.id}")
        assert (await now_is(store, made)).next == pytest.approx(start + 3 * HOUR)
        while time.time() <= single.next:
            await command(g, "/schedule")
        assert "is over" in (await command(g, f"/schedule resume {single.id}")).text
        assert (await now_is(store, single)).state is ScheduleState.PAUSED


async def test_in_a_group_people_change_their_own_and_owners_all(store: Store) -> None:
    at = time.time() + HOUR
    async with gateway(store=store) as g:
        made = await planted(store, at, chat=GROUP, person="telegram:7")
        theirs = await command(g, "/schedule", chat=GROUP, user="8")
        assert "by telegram:7" in theirs.text.replace("`", "")
        assert labels(theirs) == []
        for verb in ("pause", "delete"):
            refused = await command(g, f"/schedule {verb} {made.id}", chat=GROUP, user="8")
            assert "somebody else's" in refused.text
        assert (await now_is(store, made)).state is ScheduleState.ACTIVE
        await command(g, f"/schedule pause {made.id}", chat=GROUP, user="7")
        assert (await now_is(store, made)).state is ScheduleState.PAUSED
        await command(g, f"/schedule delete {made.id}", chat=GROUP, user="1")
        assert (await now_is(store, made)).state is ScheduleState.DELETED


async def test_another_conversation_neither_sees_nor_changes_it(store: Store) -> None:
    async with gateway(store=store) as g:
        made = await planted(store, time.time() + HOUR, chat="2", person="telegram:1")
        for verb in ("pause", "resume", "delete"):
            assert "There is no #" in (await command(g, f"/schedule {verb} {made.id}")).text
        assert (await now_is(store, made)).state is ScheduleState.ACTIVE


async def test_what_is_full_takes_nothing_back(store: Store) -> None:
    at = time.time() + HOUR
    async with gateway(store=store) as g:
        made = await planted(store, at)
        await command(g, f"/schedule pause {made.id}")
        for _ in range(50):
            await planted(store, at)
        assert "50 are active here" in (await command(g, f"/schedule resume {made.id}")).text
        assert (await now_is(store, made)).state is ScheduleState.PAUSED


async def test_a_long_list_has_pages(store: Store) -> None:
    async with gateway(store=store) as g:
        for number in range(9):
            await planted(store, time.time() + HOUR + number)
        shown = await command(g, "/schedule")
        assert "page 1 of 3" in shown.text
        assert labels(shown)[-1] == "▶"
        await press(g, shown, "▶")
        assert "page 2 of 3" in newest(g).text
        assert "page 3 of 3" in (await command(g, "/schedule 99999999999999999999")).text


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/schedule zone", "Your time zone is UTC"),
        ("/schedule zone Europe/Berln", "Did you mean Europe/Berlin"),
        ("/schedule zone tokyo", "Your time zone is Asia/Tokyo"),
        ("/schedule zone ../../etc/passwd", "there is no time zone"),
        ("/schedule pause", "Write /schedule for the list"),
        ("/schedule pause all", "Write /schedule for the list"),
        ("/schedule delete 99999999999999999999", "Write /schedule for the list"),
        ("/schedule delete 999", "There is no #999 here"),
        ("/schedule every day at 9", "Write /schedule for the list"),
        ("/schedule resume ²", "Write /schedule for the list"),
        ("/schedule ²", "Write /schedule for the list"),
    ],
)
async def test_what_is_typed_wrong_is_told_how(store: Store, typed: str, told: str) -> None:
    async with gateway(store=store) as g:
        text = (await command(g, typed)).text.replace("`", "").replace("\\", "")
        assert told.lower() in text.lower()


@pytest.mark.parametrize("verb", ["pause", "delete"])
async def test_what_waits_in_line_is_not_done_once_it_is_paused_or_deleted(
    store: Store, verb: str
) -> None:
    model = SlowModel(rules())
    async with gateway(store=store, config=ON, model=model) as g:
        await g.chat.say("slowly please")
        await model.began.wait()
        start = time.time() - 1
        made = await planted(store, start, rule=f"every 60 {start!r}")
        async with asyncio.timeout(PATIENCE):
            while (await now_is(store, made)).fired is None:
                await asyncio.sleep(0.02)
        await g.chat.say(f"/schedule {verb} {made.id}")
        await g.hears(f"#{made.id} is {verb}d.")
        model.may_go_on.set()
        await g.hears("Yes.")
        await g.settled()
        assert not any(s.text == HEARD for s in g.chat.shown.values())
