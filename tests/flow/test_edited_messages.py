"""Messages that people change after they were sent."""

from dataclasses import replace
from typing import Any

from storage.records.entries import Draft, Kind
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.flow.alternatives import (
    ECHO,
    contents,
    is_told,
    labels,
    path,
    path_entries,
    talk,
)
from tests.flow.chatting import SlowModel
from tests.flow.conftest import gateway

OFFER = "You changed an older message"
SLOW: list[dict[str, Any]] = [
    {"when": {"last": "slow"}, "reply": {"text": "never said", "delay": 60}},
    *ECHO,
]


async def unfinished(store: Store) -> int:
    return len(await store.read(lambda tx: tx.inbox.unfinished()))


async def test_an_edit_after_the_answer_makes_a_sibling_and_answers_it(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        said = await g.chat.say("helo")
        await g.hears("said: helo")
        await g.chat.edit(said, "hello")
        shown = await g.hears("said: hello")
        await g.settled()
        assert contents(g) == ["hello"]
        assert labels(shown) == ["◀", "2/2", "▶"]
        assert await path(store) == ["hello", "you said: hello"]
        await g.chat.press(shown, "◀")
        await g.settled()
        assert await path(store) == ["helo", "you said: helo"]
        assert await unfinished(store) == 0


async def test_an_edit_during_the_turn_ends_it_and_answers_the_new_text(store: Store) -> None:
    async with gateway(SLOW, store=store) as g:
        said = await g.chat.say("slow")
        await g.model.called("parent")
        await g.chat.edit(said, "quick")
        await g.hears("said: quick")
        await g.settled()
        assert contents(g) == ["quick"]
        assert g.chat.texts() == ["you said: quick"]
        assert await unfinished(store) == 0


async def test_what_was_said_after_a_message_that_is_changed_in_its_turn_is_answered_too(
    store: Store,
) -> None:
    async with gateway(SLOW, store=store) as g:
        said = await g.chat.say("slow")
        await g.model.called("parent")
        await g.chat.say("slow, too")
        await g.model.called("parent", 2)
        await g.chat.edit(said, "quick")
        await g.model.called("parent", 3)
        assert contents(g) == ["quick", "slow, too"]
        await g.chat.say("that is all")
        await g.hears("said: that is all")
        assert contents(g) == ["quick", "slow, too", "that is all"]


async def test_two_edits_in_a_row_leave_the_last_text(store: Store) -> None:
    async with gateway(SLOW, store=store) as g:
        said = await g.chat.say("slow one")
        await g.chat.edit(said, "slow two")
        await g.chat.edit(said, "three")
        await g.hears("said: three")
        await g.settled()
        assert contents(g) == ["three"]
        assert g.chat.texts() == ["you said: three"]
        again = await g.chat.edit(said, "four")
        await g.hears("said: four")
        await g.chat.edit(again, "five")
        shown = await g.hears("said: five")
        assert contents(g) == ["five"]
        await g.settled()
        assert labels(shown)[1] in ("3/3", "4/4", "5/5")  # by how many turns had begun


async def test_an_edit_before_its_turn_replaces_what_waits(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "slow answer"}},
        *ECHO,
    ]
    model, config = SlowModel(rules), {"session": {"busy": "queue"}}
    async with gateway(store=store, model=model, config=config) as g:
        await g.chat.say("slow")
        said = await g.chat.say("helo")
        await g.chat.edit(said, "hello")
        model.may_go_on.set()
        await g.hears("said: hello")
        await g.settled()
        assert g.chat.texts() == ["slow answer", "you said: hello"]
        assert contents(g) == ["slow", "slow answer", "hello"]


async def test_the_same_text_once_more_changes_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        said = await g.chat.say("see https://example.org")
        await g.hears("said: see")
        await g.chat.edit(said, "see https://example.org")
        await g.settled()
        assert len(g.model.requests) == 1
        assert await unfinished(store) == 0


async def test_the_same_edit_twice_is_taken_once(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        said = await g.chat.say("one")
        await g.hears("said: one")
        edit = await g.chat.edit(said, "two")
        await g.hears("said: two")
        await g.chat.edit(said, "three")
        await g.hears("said: three")
        await g.settled()
        await g.app.router.receive(edit)
        await g.settled()
        assert await path(store) == ["three", "you said: three"]


async def test_an_older_message_is_asked_again_by_a_button(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        old = await g.chat.say("first")
        await g.hears("said: first")
        await talk(g, "second", "said: second")
        await g.chat.edit(old, "other first")
        offer = await g.hears(OFFER)
        await g.settled()
        assert await path(store) == ["first", "you said: first", "second", "you said: second"]
        assert labels(offer) == ["Continue from there"]
        await g.chat.press(offer, "Continue from there")
        await g.hears("said: other first")
        await g.settled()
        assert contents(g) == ["other first"]
        assert (offer.text, offer.buttons) == ("Going on from the beginning.", ())
        await g.chat.edit(old, "third first")
        await g.hears("said: third first")
        assert contents(g) == ["third first"]


async def test_only_its_author_may_accept_an_offer(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        old = await g.chat.say("first", user="2", private=False)
        await g.hears("first")
        await g.chat.say("second", user="2", private=False)
        await g.hears("second")
        await g.chat.edit(old, "changed")
        offer = await g.hears(OFFER)
        await g.chat.press(offer, "Continue from there", user="3")
        await is_told(g, "This button is not yours to press.")
        await g.chat.press(offer, "Continue from there", user="2")
        await g.hears("User 2: changed")


async def test_a_message_behind_a_compaction_is_offered(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        old = await g.chat.say("only")
        await g.hears("said: only")
        await g.settled()
        last = (await path_entries(store))[-1]
        body = {"summary": "all of it", "first_kept": last.id, "tokens_before": 1}

        def compact(tx: Transaction) -> None:
            tx.tree.append(last.session, Draft(Kind.COMPACTION, body), after=last.id)

        await store.run(compact)
        await g.chat.edit(old, "changed")
        offer = await g.hears(OFFER)
        await g.chat.press(offer, "Continue from there")
        await g.hears("said: changed")
        assert contents(g) == ["changed"]


async def test_what_a_compaction_kept_is_asked_again_at_once(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "before", "said: before")
        newest = await g.chat.say("newest")
        await g.hears("said: newest")
        await g.settled()
        entries = await path_entries(store)
        body = {"summary": "before", "first_kept": entries[1].id, "tokens_before": 1}

        def compact(tx: Transaction) -> None:
            last = entries[-1]
            tx.tree.append(last.session, Draft(Kind.COMPACTION, body), after=last.id)

        await store.run(compact)
        await g.chat.edit(newest, "changed")
        await g.hears("said: changed")
        assert contents(g)[-1] == "changed"


async def test_a_message_on_another_branch_is_offered(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "root", "said: root")
        left = await g.chat.say("left")
        await g.hears("said: left")
        await g.settled()
        target = (await path_entries(store))[1]

        def go(tx: Transaction) -> None:
            leaf = tx.tree.session(target.session).leaf
            tx.tree.move_leaf(target.session, target.id, after=leaf, by="")

        await store.run(go)
        await talk(g, "right", "said: right")
        await g.chat.edit(left, "left again")
        offer = await g.hears(OFFER)
        await g.settled()
        assert (await path(store))[-1] == "you said: right"
        await g.chat.press(offer, "Continue from there")
        shown = await g.hears("said: left again")
        await g.settled()
        assert await path(store) == [
            *("root", "you said: root"),
            *("left again", "you said: left again"),
        ]
        assert labels(shown) == ["◀", "3/3", "▶"]


async def test_a_message_from_before_new_is_offered_where_it_was(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        old = await g.chat.say("first")
        await g.hears("said: first")
        before = await store.read(lambda tx: tx.directory.conversation("telegram:1"))
        await talk(g, "/new", "A new conversation")
        await talk(g, "other", "said: other")
        await g.chat.edit(old, "changed")
        offer = await g.hears(OFFER)
        await g.chat.press(offer, "Continue from there")
        await g.hears("said: changed")
        await g.settled()
        assert await store.read(lambda tx: tx.directory.conversation("telegram:1")) == before
        assert await path(store) == ["changed", "you said: changed"]


async def test_an_edit_that_mentions_the_bot_is_a_new_message(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        said = await g.chat.say("before", private=False)
        await g.hears("before")
        unseen = replace(said, key="telegram:1:900", message_id="900", text="not for the bot")
        await g.chat.edit(unseen, "bot, listen")
        await g.hears("User 1: bot, listen")
        await g.chat.edit(unseen, "bot, listen")
        await g.settled()
        assert len(g.model.requests) == 2
        assert await unfinished(store) == 0


async def test_an_edited_command_is_not_done_again(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        command = await g.chat.say("/help")
        await g.hears("Just write to me")
        await g.chat.edit(command, "/new")
        await g.chat.edit(command, "just talk")
        said = await g.chat.say("hello")
        await g.hears("said: hello")
        await g.chat.edit(said, "/new")
        await g.settled()
        assert len(g.chat.texts()) == 2
        assert await path(store) == ["hello", "you said: hello"]
        assert await unfinished(store) == 0


async def test_a_command_that_an_edit_brings_is_done(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        said = await g.chat.say("hello")
        await g.hears("said: hello")
        unseen = replace(said, key="telegram:1:900", message_id="900")
        await g.chat.edit(unseen, "/help")
        await g.hears("Just write to me")


async def test_a_strangers_edit_is_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"access": {"allow": ["telegram:1"]}}) as g:
        said = await g.chat.say("hello")
        await g.hears("said: hello")
        stranger = replace(said.user, id="9")
        await g.chat.edit(replace(said, user=stranger, key="telegram:1:77"), "hi")
        await g.settled()
        assert len(g.model.requests) == 1


async def test_in_a_group_an_edit_does_not_end_another_ones_turn(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "slow answer", "delay": 1}},
        *ECHO,
    ]
    async with gateway(rules, store=store) as g:
        mine = await g.chat.say("mine", user="2", private=False)
        await g.hears("said: [telegram:2] User 2: mine")
        await g.settled()
        await g.chat.say("slow", user="3", private=False)
        await g.model.called("parent", 2)
        await g.chat.edit(mine, "changed")
        offer = await g.hears(OFFER)
        await g.hears("slow answer")
        await g.settled()
        await g.chat.press(offer, "Continue from there", user="2")
        await g.hears("said: [telegram:2] User 2: changed")


async def test_an_edit_of_what_has_too_many_neighbours_is_told(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"session": {"max_children": 2}}) as g:
        said = await g.chat.say("one")
        await g.hears("said: one")
        await g.chat.edit(said, "two")
        await g.hears("said: two")
        await g.chat.edit(said, "three")
        await g.hears("There are 2 branches from here already")
        await g.settled()
        assert await path(store) == ["two", "you said: two"]


async def test_an_edit_that_was_only_committed_is_taken_up_after_a_restart(
    store: Store, database: str
) -> None:
    async with gateway(ECHO, store=store) as g:
        said = await g.chat.say("one")
        await g.hears("said: one")
        await g.settled()
        g.app.router.rows.edited = _lost
        await g.chat.edit(said, "two")
    async with gateway(ECHO, store=await SqlStore.open(database)) as g:
        await g.hears("said: two")


async def _lost(*_: object) -> None:
    """A process that is killed before it takes the edit in."""
