"""Somebody who is removed, or whose right ends, while something of theirs waits or runs: it ends
with their right."""

from dataclasses import asdict

from storage.records.inbox_outbox import Arrival, Event, InboxKind
from storage.records.questions import QuestionState
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.approving import ASKED, Launch, launches
from tests.flow.chatting import ECHO, GROUP
from tests.flow.conftest import ON_BOTH, Gateway, gateway
from tests.flow.delegating import ANSWER, asked
from tests.flow.pairing import OWNED, STRANGER, asks, gives
from tests.flow.test_delegation_background import in_background
from tests.support.stores import Clock

BEN = f"telegram:{STRANGER}"
RULES = [launches("a; b"), ANSWER]


async def let_in(g: Gateway, more: str = "") -> None:
    await gives(g, f"/pair {await asks(g)} {more}".strip())


@ON_BOTH
async def test_what_somebody_who_is_removed_was_to_be_asked_about_is_withdrawn(
    store: Store,
) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool], config=OWNED) as g:
        await let_in(g)
        await g.chat.say("go", chat=STRANGER, user=STRANGER)
        question = await asked(g, ASKED)
        pressed = question.buttons[0].label
        assert "is removed" in await gives(g, f"/people remove {BEN}")
        assert await store.read(lambda tx: tx.questions.open()) == []
        assert question.buttons == ()
        await gives(g, f"/pair {await asks(g)}")
        await gives(g, "hello", STRANGER)
        assert tool.launched == []
        assert pressed == "Once"


async def test_what_a_group_was_asked_about_stays_where_others_talk_too(store: Store) -> None:
    tool = Launch()
    rules = [launches("a; b", last="go$"), ANSWER]
    async with gateway(rules, store=store, tools=[tool], config=OWNED) as g:
        await let_in(g)
        await g.chat.say("go", chat=GROUP, user=STRANGER, private=False)
        question = await asked(g, ASKED)
        await g.chat.say("hello", chat=GROUP, user="1", private=False)
        await g.settled()
        await gives(g, f"/people remove {BEN}")
        kept = await store.read(lambda tx: tx.questions.open())
        assert [one.state for one in kept] == [QuestionState.OPEN]
        assert question.buttons


async def test_what_ended_for_somebody_who_was_removed_begins_no_turn(store: Store) -> None:
    async with gateway(ECHO, store=store, config=OWNED) as g:
        await let_in(g)
        await gives(g, "hi", STRANGER)
        session = await store.read(lambda tx: tx.directory.conversation(BEN))
        await gives(g, f"/people remove {BEN}")
        before = g.chat.texts(STRANGER)
        event = asdict(Event("command 3 ended", "it printed 5", BEN, True))
        arrival = Arrival("command:3", InboxKind.EVENT, BEN, event, session)
        await store.run(lambda tx: tx.inbox.receive(arrival))
        await g.settled()
        assert g.chat.texts(STRANGER) == before
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def test_what_runs_in_the_background_for_somebody_who_is_removed_ends_and_tells_nothing(
    store: Store,
) -> None:
    async with gateway(in_background(5.0), store=store, config=OWNED) as g:
        await let_in(g)
        await g.chat.say("go", chat=STRANGER, user=STRANGER)
        await g.hears("It is under way.", chat=STRANGER)
        await g.model.called("worker")
        await gives(g, f"/people remove {BEN}")
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []
        session = await store.read(lambda tx: tx.directory.conversation(BEN))
        assert session is not None
        assert await store.read(lambda tx: tx.delegations.unfinished(session)) == []
        assert len(g.model.of("parent")) == 2


async def test_what_waits_ends_with_a_right_that_was_for_a_while(database: str) -> None:
    clock = Clock()
    store = await SqlStore.open(database, clock)
    async with gateway(RULES, store=store, tools=[Launch()], config=OWNED) as g:
        g.app.router.access.given.clock = clock
        await let_in(g, "member for 2h")
        await g.chat.say("go", chat=STRANGER, user=STRANGER)
        question = await asked(g, ASKED)
        clock.now += 7_200
        await g.app.upkeep.housekeeping.end_rights()
        await g.app.upkeep.housekeeping.reread()
        await g.settled()
        assert await store.read(lambda tx: tx.questions.open()) == []
        assert question.buttons == ()
