"""A stranger gets a code, the owner a button: who is let in, how, and what comes to nothing."""

from pathlib import Path

import pytest

from storage.records.chats.people import Role
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, labels
from tests.flow.conftest import ON_BOTH, gateway
from tests.flow.pairing import OWNED, STRANGER, asks, audited, gives, notice, presses
from tests.support.stores import Clock

DAY = 86_400.0


@ON_BOTH
async def test_an_owner_lets_a_stranger_in_with_a_button(store: Store) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        assert await asks(g, text="hello")
        shown = notice(g)
        assert f"User {STRANGER} (`telegram:{STRANGER}`) asks to be let in" in shown.text
        assert labels(shown) == ["Let in", "Ignore"]
        assert "is let in: a member, for good" in await presses(g, shown, "Let in")
        assert labels(shown) == ["Approver", "Owner", "Remove"]
        await g.hears("You are let in", chat=STRANGER)
        assert "so be it" in await gives(g, "hello", STRANGER)
        assert await audited(store, "right given") == ["telegram:1"]


@ON_BOTH
async def test_an_owner_lets_a_stranger_in_by_their_code_with_a_role_for_a_while(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        code = await asks(g)
        told = await gives(g, f"/pair {code.lower()} approver for 30 days")
        assert "is let in: an approver, for 30 days" in told
        right = await store.read(lambda tx: tx.rights.get(f"telegram:{STRANGER}"))
        assert right is not None
        assert (right.role, right.by) == (Role.APPROVER, "telegram:1")
        assert right.until is not None
        assert right.until - right.since == 30 * DAY
        assert "that holds" in await gives(g, f"/pair {code}"), "used once"


@pytest.mark.parametrize(
    ("said", "days"), [("3 months", 90), ("1 year", 365), ("2 weeks", 14), ("48 hours", 2)]
)
async def test_a_right_for_a_while_lasts_as_long_as_the_words_say(
    store: Store, said: str, days: int
) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        await gives(g, f"/pair {await asks(g)} for {said}")
        right = await store.read(lambda tx: tx.rights.get(f"telegram:{STRANGER}"))
        assert right is not None
        assert right.until is not None
        assert right.until - right.since == days * DAY


@pytest.mark.parametrize("said", ["3 moons", "5 dogs", "0d", "99999d", "30 seconds", "2 mo"])
async def test_a_time_that_is_none_lets_nobody_in_and_leaves_the_code(
    store: Store, said: str
) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        code = await asks(g)
        assert "nobody was let in" in await gives(g, f"/pair {code} for {said}")
        assert await store.read(lambda tx: tx.rights.all()) == []
        assert "is let in" in await gives(g, f"/pair {code.replace('-', ' ')}")


async def test_every_start_is_answered_with_another_code_and_owners_hear_of_it_once(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        first, second = await asks(g), await asks(g)
        assert first
        assert second
        assert first != second
        assert await asks(g, text="please") == ""
        assert len([text for text in g.chat.texts("1") if "🚪" in text]) == 1
        assert "no code that holds" in await gives(g, f"/pair {first}")
        assert "is let in" in await gives(g, f"/pair {second}")


async def test_a_code_expires_after_an_hour_and_a_button_after_a_week(database: str) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store, config=OWNED) as g:
        code = await asks(g)
        clock.now += 3_600
        assert "no code that holds" in await gives(g, f"/pair {code}")
        shown = notice(g)
        clock.now += 7 * DAY
        assert "This request has expired" in await presses(g, shown, "Let in")
        assert await store.read(lambda tx: tx.rights.all()) == []


async def test_a_right_ends_by_itself(database: str) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store, config=OWNED) as g:
        g.app.router.access.given.clock = clock
        await gives(g, f"/pair {await asks(g)} member for 2h")
        assert "so be it" in await gives(g, "hello", STRANGER)
        clock.now += 7_199
        assert "so be it" in await gives(g, "hello again", STRANGER)
        clock.now += 1
        assert await gives(g, "still there?", STRANGER) == ""
        await g.app.upkeep.housekeeping.end_rights()
        await g.app.upkeep.housekeeping.reread()
        assert await store.read(lambda tx: tx.rights.all()) == []
        assert len(await audited(store, "right ended")) == 1


async def test_a_code_in_a_group_is_refused_and_void(store: Store) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        code = await asks(g)
        assert "Codes do not work in a group" in await gives(g, f"/pair {code}", chat=GROUP)
        assert "no code that holds" in await gives(g, f"/pair {code}")
        code = await asks(g)
        assert await gives(g, f"/pair {code}", STRANGER, chat=GROUP) == ""
        assert "no code that holds" in await gives(g, f"/pair {code}")


@pytest.mark.parametrize("shown", ["/pair {} {}", "{}-{} is my code", "{} {}"])
async def test_a_code_in_a_group_is_void_however_it_is_written(store: Store, shown: str) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        code = await asks(g)
        await gives(g, shown.format(code[:4], code[5:].lower()), STRANGER, chat=GROUP)
        assert "no code that holds" in await gives(g, f"/pair {code}")


async def test_five_wrong_codes_of_an_owner_in_an_hour_and_then_not_even_the_right_one(
    database: str,
) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store, config=OWNED) as g:
        for _ in range(5):
            assert "no code that holds" in await gives(g, "/pair AAAA-AAAA")
        code = await asks(g)
        assert "Too many wrong codes" in await gives(g, f"/pair {code}")
        clock.now += 3_600
        code = await asks(g)
        assert "is let in" in await gives(g, f"/pair {code}")


async def test_only_an_owner_lets_people_in(store: Store) -> None:
    config = {"access": {"owners": ["telegram:1"], "allow": ["telegram:2"]}}
    async with gateway(ECHO, store=store, config=config) as g:
        code = await asks(g)
        assert "Only the bot's owners" in await gives(g, f"/pair {code}", "2")
        assert await gives(g, f"/pair {code}", STRANGER) == ""
        shown = notice(g)
        for user in ("2", STRANGER):
            await presses(g, shown, "Let in", user)
        assert await store.read(lambda tx: tx.rights.all()) == []
        assert "is let in" in await presses(g, shown, "Let in")


async def test_an_ignored_stranger_gets_no_code_and_is_heard_of_no_more(store: Store) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        code = await asks(g)
        assert "is ignored" in await presses(g, notice(g), "Ignore")
        assert await asks(g) == ""
        assert "no code that holds" in await gives(g, f"/pair {code}")
        assert len([text for text in g.chat.texts("1") if "🚪" in text]) == 0
        assert "ignored" in await gives(g, "/people")


async def test_of_two_owners_the_second_to_press_is_told_what_became_of_it(store: Store) -> None:
    config = {"access": {"owners": ["telegram:1", "telegram:2"]}}
    async with gateway(ECHO, store=store, config=config) as g:
        await asks(g)
        first, second = notice(g, "1"), notice(g, "2")
        await presses(g, first, "Let in")
        assert "is let in already: a member" in await presses(g, second, "Let in", "2")
        assert len(await audited(store, "right given")) == 1


async def test_with_pairing_off_a_stranger_gets_no_code(store: Store) -> None:
    config = {"access": {"owners": ["telegram:1"], "pairing": False}}
    async with gateway(ECHO, store=store, config=config) as g:
        assert await asks(g) == ""
        assert f"telegram:{STRANGER}" in g.chat.texts(STRANGER)[-1]
        assert g.chat.texts("1") == []


async def test_owners_hear_of_ten_strangers_an_hour_in_one_message_and_of_the_others_in_another(
    database: str,
) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store, config=OWNED) as g:
        for number in range(18):
            await asks(g, str(100 + number))
        (told,) = [text for text in g.chat.texts("1") if "🚪" in text]
        assert told.count("asks to be let in") == 4
        assert "6 more; /people" in told
        clock.now += 3_600
        await g.app.upkeep.housekeeping.end_rights()
        await g.app.upkeep.housekeeping.reread()
        await g.settled()
        told = g.chat.texts("1")[-1]
        assert told == "🚪 8 more people asked to be let in; /people shows who waits."
        await g.app.upkeep.housekeeping.end_rights()
        await g.app.upkeep.housekeeping.reread()
        await g.settled()
        assert g.chat.texts("1")[-1] == told


async def test_no_code_is_kept_as_it_is_or_logged(store: Store, tmp_path: Path) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        code = await asks(g)
        asked = await store.read(lambda tx: tx.pairing.all())
        audits = await store.read(lambda tx: tx.directory.audits())
        for written in (code, code.replace("-", "")):
            assert written not in f"{asked} {audits}"


@ON_BOTH
@pytest.mark.parametrize("text", ["/start", "hello"])
async def test_what_a_stranger_says_is_answered_once_however_often_it_is_brought(
    database: str, text: str
) -> None:
    answers, digests = [], []
    for _ in ("the first run", "and after a restart"):
        store = await SqlStore.open(database)
        async with gateway(ECHO, store=store, config=OWNED) as g:
            for _ in ("brought", "brought again"):
                await g.chat.say(text, chat=STRANGER, user=STRANGER, key="telegram:66:1")
                await g.settled()
            answers.append(len(g.chat.texts(STRANGER)))
            digests += await store.read(lambda tx: [one.digest for one in tx.pairing.all()])
    assert answers == [1, 0]
    assert len(digests) == 2 and len(set(digests)) == 1


@ON_BOTH
async def test_one_message_tells_of_all_who_ask_and_goes_on_telling_of_who_still_waits(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        for number in (101, 102, 103):
            await asks(g, str(number))
        assert len(g.chat.texts("1")) == 1
        shown = notice(g)
        for number in (101, 102, 103):
            assert f"User {number} (`telegram:{number}`) asks to be let in" in shown.text
        assert sorted(labels(shown)) == [
            *(f"Ignore User {number}" for number in (101, 102, 103)),
            *(f"Let in User {number}" for number in (101, 102, 103)),
        ]
        told = await presses(g, shown, "Let in User 102")
        assert "User 102 (`telegram:102`) is let in" in told
        assert "User 101 (`telegram:101`) asks to be let in" in told
        assert sorted(labels(shown)) == [
            *(f"Ignore User {number}" for number in (101, 103)),
            *(f"Let in User {number}" for number in (101, 103)),
        ]
        told = await presses(g, shown, "Ignore User 101")
        assert labels(shown) == ["Let in", "Ignore"]
        assert "is let in" in await presses(g, shown, "Let in")
        assert labels(shown) == ["Approver", "Owner", "Remove"]
        await asks(g, "104")
        assert len(g.chat.texts("1")) == 2, "what was dealt with is not written over"
        assert "User 104" in notice(g).text
