"""Replies to older messages: the buttons that lead there."""

from storage.store import Store, Transaction
from tests.flow.alternatives import ECHO, contents, is_told, labels, path, path_entries, talk
from tests.flow.conftest import Gateway, gateway

BRANCH = "Branch from there"


async def two_exchanges(g: Gateway) -> tuple[str, str, str]:
    """Message ids: of the first message, of its answer, of the second answer."""
    first = await g.chat.say("one")
    answer = await g.hears("said: one")
    await g.settled()
    return first.message_id, answer.id, (await talk(g, "two", "said: two")).id


async def test_a_reply_to_the_newest_answer_is_ordinary_talk(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        *_, newest = await two_exchanges(g)
        await g.chat.say("three", reply_to=newest)
        assert labels(await g.hears("said: three")) == []


async def test_a_reply_to_an_unknown_message_is_ordinary_talk(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await two_exchanges(g)
        await g.chat.say("three", reply_to="m999")
        assert labels(await g.hears("said: three")) == []


async def test_a_reply_to_an_older_answer_offers_to_branch_after_it(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        _, answer, _ = await two_exchanges(g)
        await g.chat.say("three", reply_to=answer)
        shown = await g.hears("said: three")
        await g.settled()
        assert contents(g)[-2:] == ["you said: two", "three"]
        assert labels(shown) == [BRANCH]
        await g.chat.press(shown, BRANCH)
        again = await g.hears("said: three", count=2)
        await g.settled()
        assert contents(g) == ["one", "you said: one", "three"]
        assert labels(again) == ["◀", "2/2", "▶"]


async def test_the_answer_stays_in_sight_when_one_branches_from_there(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        _, answer, _ = await two_exchanges(g)
        await g.chat.say("three", reply_to=answer)
        shown = await g.hears("said: three")
        buttons = shown.buttons
        await g.chat.press(shown, BRANCH)
        await g.hears("Going on after #2.")
        await g.settled()
        assert (shown.text, shown.buttons) == ("you said: three", ())
        shown.buttons = buttons
        await g.chat.press(shown, BRANCH, user="2")
        await is_told(g, f"Already done. User 1: {BRANCH}")
        assert len(g.model.requests) == 4


async def test_a_reply_to_an_older_message_of_ones_own_branches_before_it(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        first, *_ = await two_exchanges(g)
        await g.chat.say("other", reply_to=first)
        shown = await g.hears("said: other")
        await g.chat.press(shown, BRANCH)
        again = await g.hears("said: other", count=2)
        await g.settled()
        assert contents(g) == ["other"]
        assert labels(again) == ["◀", "2/2", "▶"]


async def test_a_reply_to_another_branch_offers_to_go_there(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        *_, second = await two_exchanges(g)
        entries = await path_entries(store)
        session = entries[0].session

        def go(tx: Transaction) -> None:
            leaf = tx.tree.session(session).leaf
            tx.tree.move_leaf(session, entries[1].id, after=leaf, by="")

        await store.run(go)
        await talk(g, "right", "said: right")
        await g.chat.say("back", reply_to=second)
        shown = await g.hears("said: back")
        await g.settled()
        assert labels(shown) == [BRANCH]
        await g.chat.press(shown, BRANCH)
        await g.hears("said: back", count=2)
        await g.settled()
        assert (await path(store))[2:] == ["two", "you said: two", "back", "you said: back"]


async def test_a_reply_into_another_conversation_is_ordinary_talk(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        _, answer, _ = await two_exchanges(g)
        await talk(g, "/new", "A new conversation")
        await g.chat.say("three", reply_to=answer)
        assert labels(await g.hears("said: three")) == []
        assert contents(g) == ["three"]


async def test_reask_and_pick_are_nothing_to_type(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "one", "said: one")
        await talk(g, "/reask #1", "Only a button does this")
        await talk(g, "/pick #1", "Only a button does this")
        assert await path(store) == ["one", "you said: one"]
