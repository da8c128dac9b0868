"""/sessions, /name, /new, and opening a conversation again."""

from dataclasses import asdict
from functools import partial

import pytest

from adapters.events import Conversation, Message, User
from storage.records.entries import SessionDraft, SessionKind
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
)
from storage.store import Store, Transaction
from tests.flow.chatting import ECHO, GROUP, SlowModel, bound, command, labels, press, talk
from tests.flow.conftest import Gateway, gateway
from tests.support.stores import Clock, append, new_session, said


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_conversations_are_listed_newest_activity_first_with_buttons(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "the *trip* to Rome")
        await command(g, "/new the garden")
        await talk(g, "roses")
        shown = await command(g, "/sessions")
        assert shown.text.splitlines() == [
            "**Your conversations**",
            "",
            "● **the garden** · 2 messages · 0 s ago",
            r"**the trip to Rome** · 2 messages · 0 s ago",
        ]
        assert labels(shown) == ["● the garden", "the trip to Rome"]


async def test_a_button_opens_a_conversation_and_another_leads_back(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "to Rome")
        rome = await bound(store)
        await command(g, "/new")
        await talk(g, "roses")
        garden = await bound(store)
        shown = await press(g, await command(g, "/sessions"), "to Rome")
        assert await bound(store) == rome
        assert shown.text.startswith("You are in “to Rome” now (2 messages).")
        assert "so be it" in shown.text
        await talk(g, "and then?")
        assert [m["content"] for m in g.model.requests[-1].messages if m["role"] == "user"] == [
            "to Rome",
            "and then?",
        ]
        await press(g, shown, "Back to roses")
        assert await bound(store) == garden
        assert g.chat.shown[shown.id].text.startswith("You are in “roses” now")


def joined(tx: Transaction, session: int) -> None:
    tx.directory.join(session, "telegram:1")


async def test_the_list_has_pages(store: Store) -> None:
    for number in range(20):
        session = await new_session(store, f"title {number}")
        await store.run(partial(joined, session=session.id))
    async with gateway(ECHO, store=store) as g:
        shown = await command(g, "/sessions")
        assert labels(shown) == [*(f"title {n}" for n in range(19, 11, -1)), "▶"]
        await press(g, shown, "▶")
        assert "page 2" in shown.text
        assert labels(shown) == [*(f"title {n}" for n in range(11, 3, -1)), "◀", "▶"]
        await press(g, shown, "▶")
        assert labels(shown) == ["title 3", "title 2", "title 1", "title 0", "◀"]
        await press(g, shown, "◀")
        assert "title 11" in labels(shown)
        assert (await command(g, "/sessions 9")).text == "There is no page 9."
        for nonsense in ("x", "0", "-1", "9" * 50):
            assert (await command(g, f"/sessions {nonsense}")).text.startswith("Write /sessions")


async def test_where_nothing_was_said_there_is_nothing_to_list(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        for text in ("/sessions", "/name", "/fork", "/export", "/attach"):
            assert (await command(g, text)).text == "Nothing was said here yet."


async def test_a_group_sees_what_it_was_in_and_no_more(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my secret")
        await talk(g, "our plan", chat=GROUP)
        await command(g, "/new", chat=GROUP)
        await talk(g, "our lunch", chat=GROUP)
        shown = await command(g, "/sessions", chat=GROUP)
        assert labels(shown) == ["● User 1: our lunch", "User 1: our plan"]
        assert "secret" not in shown.text


async def test_in_private_a_person_also_sees_what_they_spoke_in(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "our plan", chat=GROUP, user="2")
        await talk(g, "well", chat="2", user="2")
        await talk(g, "hello", chat="3", user="3")
        assert labels(await command(g, "/sessions", chat="2", user="2")) == [
            "● well",
            "User 2: our plan",
        ]
        assert labels(await command(g, "/sessions", chat="3", user="3")) == ["● hello"]


async def test_nobody_opens_what_they_may_not_see(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my secret")
        mine = await bound(store)
        transcript = await store.run(
            lambda tx: tx.tree.create(SessionDraft(SessionKind.SUBAGENT, "errand"))
        )
        await talk(g, "hello", chat="2", user="2")
        theirs = await bound(store, "2")
        for number in (mine, transcript.id, 999, 10**17):
            for text in (f"/open #{number}", f"/open {number} at #1"):
                shown = await command(g, text, chat="2", user="2")
                assert shown.text.startswith("There is no such conversation"), text
        assert (await command(g, "/take", chat="2", user="2")).text.startswith("Only a button")
        assert await bound(store, "2") == theirs


async def test_a_list_in_a_group_is_its_askers(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "our plan", chat=GROUP, user="2")
        before = await bound(store, GROUP)
        await command(g, "/new", chat=GROUP, user="2")
        await talk(g, "lunch", chat=GROUP, user="2")
        shown = await command(g, "/sessions", chat=GROUP, user="2")
        now = await bound(store, GROUP)
        await press(g, shown, "User 2: our plan", user="3")
        assert await bound(store, GROUP) == now
        await press(g, shown, "User 2: our plan", user="2")
        assert await bound(store, GROUP) == before


async def test_ones_own_conversation_comes_into_a_group_only_after_a_yes(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        mine = await bound(store, "2")
        await talk(g, "hi all", chat=GROUP, user="3")
        ours = await bound(store, GROUP)
        shown = await command(g, f"/open #{mine}", chat=GROUP, user="2")
        assert "everybody here can read and continue it" in shown.text
        assert await bound(store, GROUP) == ours
        await press(g, shown, "Take it here", user="3")
        assert await bound(store, GROUP) == ours
        await press(g, shown, "Take it here", user="1")  # an owner: asked again, not taken
        assert await bound(store, GROUP) == ours
        assert labels(shown) == ["Take it here", "Cancel"]
        await press(g, shown, "Take it here", user="2")
        assert await bound(store, GROUP) == mine
        assert "Another chat is in it too" in shown.text
        again = await command(g, f"/open #{ours}", chat=GROUP, user="2")
        assert again.text.startswith("You are in “User 3: hi all” now")
        back = await command(g, f"/open #{mine}", chat=GROUP, user="3")  # seen by all here now
        assert back.text.startswith("You are in “my plan” now")


async def test_cancel_takes_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my plan", chat="2", user="2")
        shown = await command(g, f"/open #{await bound(store, '2')}", chat=GROUP, user="2")
        await press(g, shown, "Cancel", user="2")
        assert (shown.text, shown.buttons) == ("Nothing was changed.", ())
        assert await bound(store, GROUP) is None


async def test_a_conversation_is_named(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "hello")
        assert "without a name" in (await command(g, "/name")).text
        assert (await command(g, "/name the _big_\n plan")).text == (
            r"This conversation is called “the \_big\_ plan” now."
        )
        assert r"called “the \_big\_ plan”" in (await command(g, "/name")).text
        await command(g, f"/name {'x' * 300}")
        session = await bound(store)
        assert session is not None
        title = (await store.read(lambda tx: tx.tree.session(session))).title
        assert title == "x" * 99 + "…"


async def test_a_name_may_come_before_the_first_word(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await command(g, "/name plans")
        await talk(g, "hello")
        assert labels(await command(g, "/sessions")) == ["● plans"]


async def test_leaving_ends_the_running_turn_and_keeps_what_was_said(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model) as g:
        await talk(g, "first")
        first = await bound(store)
        await command(g, "/new")
        await g.chat.say("slow one")
        await model.began.wait()
        shown = await command(g, f"/open #{first}")
        assert await bound(store) == first
        model.may_go_on.set()
        await talk(g, "again")
        assert g.chat.texts().count("so be it") == 2
        assert "Back to slow one" in labels(shown)


@pytest.mark.parametrize("busy", ["interrupt", "queue", "steer"])
async def test_two_chats_in_one_session_are_answered_each_in_its_own(
    store: Store, busy: str
) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model, config={"session": {"busy": busy}}) as g:
        await talk(g, "our plan", chat=GROUP)
        session = await bound(store, GROUP)
        await command(g, f"/open #{session}")
        await g.chat.say("slow one", chat=GROUP, private=False)
        await model.began.wait()
        await g.chat.say("and this", chat="1")  # the owner: could cut it in the same chat
        model.may_go_on.set()
        await g.settled()
        assert g.chat.texts(GROUP).count("so be it") == 2
        assert g.chat.texts("1").count("so be it") == 1
        path = await store.read(lambda tx: tx.tree.path(tx.tree.session(session or 0).leaf))
        assert [entry.body["content"] for entry in path] == [
            "User 1: our plan",
            "so be it",
            "User 1: slow one",
            "so be it",
            "and this",
            "so be it",
        ]


async def test_leaving_a_shared_session_leaves_the_others_turn_alone(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model) as g:
        await talk(g, "our plan", chat=GROUP)
        await command(g, f"/open #{await bound(store, GROUP)}")
        await g.chat.say("slow one", chat=GROUP, private=False)
        await model.began.wait()
        await g.chat.say("never mind", chat="1")
        await command_while_running(g, "/new")
        model.may_go_on.set()
        await g.settled()
        assert g.chat.texts(GROUP).count("so be it") == 2
        assert g.chat.texts("1").count("so be it") == 0


async def command_while_running(g: Gateway, text: str) -> None:
    await g.chat.say(text)
    await g.hears("A new conversation")


async def test_somebody_elses_turn_is_not_cut_from_a_private_chat(store: Store) -> None:
    model = SlowModel(ECHO)
    async with gateway(store=store, model=model) as g:
        await talk(g, "our plan", chat=GROUP, user="2")
        await talk(g, "me too", chat=GROUP, user="3")
        session = await bound(store, GROUP)
        await g.chat.say("slow one", chat=GROUP, user="2", private=False)
        await model.began.wait()
        await g.chat.say(f"/open #{session} at #1", chat="3", user="3")
        await g.hears("Somebody else's turn is running here", chat="3")
        assert await bound(store, "3") is None
        model.may_go_on.set()
        await g.settled()
        assert g.chat.texts(GROUP).count("so be it") == 3


async def test_a_command_told_twice_is_carried_out_once(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "hello")
        for _ in range(2):
            await g.chat.say("/new", key="telegram:1:new")
        await g.settled()
        assert len(g.chat.texts()) == 2


async def test_a_command_that_a_crash_cut_is_carried_out_by_the_next_start(store: Store) -> None:
    message = Message(
        key="telegram:1:77",
        conversation=Conversation("telegram", "1"),
        user=User("telegram", "1", "User 1"),
        text="/new Rome",
        message_id="77",
        private=True,
    )
    arrival = Arrival(message.key, InboxKind.MESSAGE, "telegram:1", asdict(message))
    await store.run(lambda tx: tx.inbox.receive(arrival))
    async with gateway(ECHO, store=store) as g:
        await g.hears("A new conversation, “Rome”")
        await g.settled()
        assert labels(await command(g, "/sessions")) == ["● Rome"]


async def test_the_list_names_what_has_neither_title_nor_words(store: Store) -> None:
    session = await new_session(store)
    await append(store, session.id, said(""))
    await store.run(partial(joined, session=session.id))
    async with gateway(ECHO, store=store) as g:
        assert labels(await command(g, "/sessions")) == [f"conversation {session.id}"]
