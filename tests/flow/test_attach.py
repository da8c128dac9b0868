"""/attach: one session in several chats, by a code."""

import re
from typing import Any

from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, bound, command, labels, press, talk
from tests.flow.conftest import Gateway, gateway
from tests.support.stores import Clock

WRONG = "This code is not valid"


async def code_of(g: Gateway, *, chat: str = "1", user: str = "1") -> str:
    shown = await command(g, "/attach", chat=chat, user=user)
    found = re.search(r"/attach ([0-9A-Z]{4}-[0-9A-Z]{4})", shown.text)
    assert found is not None
    return found[1]


async def audited(store: Store, what: str) -> list[tuple[str, Any]]:
    rows = await store.read(lambda tx: tx.directory.audits(what))
    return [(who, details) for _, who, details, _ in rows]


async def test_a_code_takes_the_session_into_another_private_chat_once(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        session = await bound(store, "2")
        code = await code_of(g, chat="2", user="2")
        await talk(g, "before", chat="3", user="3")
        shown = await command(g, f"/attach {code}", chat="3", user="3")
        assert shown.text.startswith("You are in “my plan” now (2 messages).")
        assert labels(shown) == ["Back to before"]
        assert await bound(store, "3") == session == await bound(store, "2")
        await talk(g, "from the phone", chat="3", user="3")
        assert g.chat.texts("3")[-1] == "so be it"
        assert g.chat.texts("2").count("so be it") == 1
        assert WRONG in (await command(g, f"/attach {code}", chat="4", user="4")).text
        assert await bound(store, "4") is None
        assert await audited(store, "attach") == [
            ("telegram:3", {"session": session, "address": "telegram:3"})
        ]
        assert await audited(store, "attach refused") == [("telegram:4", {"address": "telegram:4"})]


async def test_a_code_may_be_written_in_any_way(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        code = await code_of(g, chat="2", user="2")
        spaced = " ".join(code.replace("-", "").lower())
        await command(g, f"/attach {spaced}", chat="3", user="3")
        assert await bound(store, "3") == await bound(store, "2")


async def test_the_code_is_not_kept_as_it_is(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        code = (await code_of(g, chat="2", user="2")).replace("-", "")
        kept = str(await store.read(lambda tx: tx.directory.fact("attach.codes")))
        assert "telegram:2" in kept
        assert code not in kept


async def test_a_new_code_ends_the_one_before(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        first = await code_of(g, chat="2", user="2")
        second = await code_of(g, chat="2", user="2")
        assert WRONG in (await command(g, f"/attach {first}", chat="3", user="3")).text
        await command(g, f"/attach {second}", chat="3", user="3")
        assert await bound(store, "3") == await bound(store, "2")


async def test_a_code_expires(database: str) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        code = await code_of(g, chat="2", user="2")
        clock.now += 601
        assert WRONG in (await command(g, f"/attach {code}", chat="3", user="3")).text
        assert await bound(store, "3") is None


async def test_a_clock_that_is_set_back_makes_no_code_last_longer(database: str) -> None:
    clock = Clock()
    clock.now = 1_000_000.0
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        code = await code_of(g, chat="2", user="2")
        clock.now -= 86_400
        assert WRONG in (await command(g, f"/attach {code}", chat="3", user="3")).text
        assert await bound(store, "3") is None


async def test_whoever_guesses_is_refused_for_a_while(database: str) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        for _ in range(5):
            clock.now += 60
            assert WRONG in (await command(g, "/attach AAAA-AAAA", chat="3", user="3")).text
        right = await code_of(g, chat="2", user="2")
        shown = await command(g, f"/attach {right}", chat="3", user="3")
        assert shown.text.startswith("Too many wrong codes")
        await command(g, f"/attach {right}", chat="4", user="4")  # somebody else may
        assert await bound(store, "4") == await bound(store, "2")
        clock.now += 599
        right = await code_of(g, chat="2", user="2")
        await command(g, f"/attach {right}", chat="3", user="3")
        assert await bound(store, "3") is None
        clock.now += 2
        await command(g, f"/attach {right}", chat="3", user="3")
        assert await bound(store, "3") == await bound(store, "2")
        assert len(await audited(store, "attach refused")) == 7


async def test_wrong_codes_of_long_ago_do_not_count(database: str) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        for _ in range(8):
            clock.now += 151
            assert WRONG in (await command(g, "/attach AAAA-AAAA", chat="3", user="3")).text


async def test_into_a_group_it_asks_first_and_only_the_press_uses_the_code(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        mine = await bound(store, "2")
        await talk(g, "hi all", chat=GROUP, user="3")
        ours = await bound(store, GROUP)
        code = await code_of(g, chat="2", user="2")
        shown = await command(g, f"/attach {code}", chat=GROUP, user="2")
        assert shown.text == (
            "This takes conversation 1 (2 messages) into this group; everybody here can read and "
            "continue it."
        )
        assert labels(shown) == ["Take it here", "Cancel"]
        for stranger in ("3", "1"):
            await press(g, shown, "Take it here", user=stranger)
            assert await bound(store, GROUP) == ours
        await press(g, shown, "Cancel", user="2")
        assert await bound(store, GROUP) == ours
        shown = await command(g, f"/attach {code}", chat=GROUP, user="2")
        await press(g, shown, "Take it here", user="2")
        assert await bound(store, GROUP) == mine
        assert shown.text.startswith("You are in “my plan” now")
        assert labels(shown) == ["Back to User 3: hi all"]
        await talk(g, "we go on", chat=GROUP, user="3")
        assert g.chat.texts(GROUP)[-1] == "so be it"
        assert WRONG in (await command(g, f"/attach {code}", chat="4", user="4")).text


async def test_a_code_that_was_used_meanwhile_takes_nothing_into_a_group(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        code = await code_of(g, chat="2", user="2")
        shown = await command(g, f"/attach {code}", chat=GROUP, user="2")
        await command(g, f"/attach {code}", chat="3", user="3")
        await press(g, shown, "Take it here", user="2")
        assert WRONG in shown.text
        assert await bound(store, GROUP) is None


async def test_a_groups_session_comes_into_a_private_chat_by_a_code_of_the_group(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "our plan", chat=GROUP, user="2")
        code = await code_of(g, chat=GROUP, user="2")
        shown = await command(g, f"/attach {code}", chat="3", user="3")
        assert await bound(store, "3") == await bound(store, GROUP)
        assert "Another chat is in it too, and can read what is said here." in shown.text
        assert labels(await command(g, "/sessions", chat="3", user="3")) == ["● User 2: our plan"]


async def test_a_code_for_where_one_is_already_stays_valid(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        code = await code_of(g, chat="2", user="2")
        shown = await command(g, f"/attach {code}", chat="2", user="2")
        assert shown.text.startswith("You are in this conversation already")
        await command(g, f"/attach {code}", chat="3", user="3")
        assert await bound(store, "3") == await bound(store, "2")


async def test_what_was_here_before_is_kept(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        await talk(g, "old talk", chat="3", user="3")
        await command(g, f"/attach {await code_of(g, chat='2', user='2')}", chat="3", user="3")
        listed = labels(await command(g, "/sessions", chat="3", user="3"))
        assert sorted(listed) == ["old talk", "● my plan"]


async def test_what_only_a_button_does_takes_nothing_when_it_is_typed(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        shown = await command(g, "/take_attached", chat=GROUP, user="2")
        assert shown.text.startswith("Only a button does this")
