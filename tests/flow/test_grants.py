"""What a person allowed for a while: it ends, it is told, and holds only while they may approve."""

from functools import partial
from typing import Any

import pytest

from gateway.configuration.config import Config
from gateway.running.process.reloading import Reloading
from storage.records.tools.grants import ANY, Grant, GrantDraft
from storage.store import Store, Transaction
from tests.flow.approving import ASKED, Launch, launches
from tests.flow.chatting import GROUP, SlowModel
from tests.flow.conftest import ON_BOTH, Gateway, gateway
from tests.flow.delegating import ANSWER, asked, delegates, says
from tests.flow.pairing import OWNED, STRANGER, asks, gives
from tests.support.stores import Clock

BEN = f"telegram:{STRANGER}"
RULES = [launches("a", last="go$|again$"), ANSWER]
TWO = {"access": {"allow": ["telegram:*"], "owners": ["telegram:1", "telegram:7"]}}


async def open_questions(store: Store) -> int:
    return len(await store.read(lambda tx: tx.questions.open()))


async def reloaded(g: Gateway, **access: Any) -> None:
    """As SIGHUP does after the file has changed."""
    now = g.app.settings.live.now
    section = now.access.model_copy(update=access)
    changed = now.model_copy(update={"access": section})
    await Reloading(g.app, partial(Config.model_copy, changed), lambda _: None).reload()


async def allows(g: Gateway, user: str, label: str = "For this conversation") -> None:
    await g.chat.say("go")
    await g.chat.press(await asked(g, ASKED), label, user=user)
    await g.hears("launched a")


@pytest.mark.parametrize("label", ["For this conversation", "For 1 hour"])
async def test_a_grant_ends_with_the_right_of_who_gave_it_when_the_file_changes(
    store: Store, label: str
) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool], config=TWO) as g:
        await allows(g, "7", label)
        await g.chat.say("again")
        await g.hears("launched a", count=2)
        await reloaded(g, owners=("telegram:1",))
        await g.chat.say("again")
        await g.settled()
        assert tool.launched == ["a", "a"] and await open_questions(store) == 1
        assert "does not hold: who allowed it may not approve now" in await gives(g, "/tools")


@ON_BOTH
async def test_a_grant_ends_when_who_gave_it_is_removed(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool], config=OWNED) as g:
        await gives(g, f"/pair {await asks(g)} approver")
        await g.chat.say("go", chat=GROUP, private=False)
        question = await asked(g, ASKED)
        await g.chat.press(question, "For this conversation", user=STRANGER)
        await g.hears("launched a", chat=GROUP)
        await gives(g, f"/people remove {BEN}")
        await g.chat.say("again", chat=GROUP, private=False)
        await g.settled()
        assert tool.launched == ["a"] and await open_questions(store) == 1


async def newest(g: Gateway) -> str:
    """The last approval that was asked for."""
    await g.settled()
    return [shown.text for shown in g.chat.shown.values() if ASKED in shown.text][-1]


@pytest.mark.parametrize("label", ["Once", "For 1 hour"])
async def test_an_approver_who_loses_the_right_between_press_and_run_approves_nothing(
    store: Store, label: str
) -> None:
    """The press is decided while another turn runs, which the call waits for."""
    tool = Launch()
    model = SlowModel([says("later", tier="parent", last="slow"), *RULES])
    async with gateway(store=store, tools=[tool], model=model, config=TWO) as g:
        await g.chat.say("go")
        question = await asked(g, ASKED)
        await g.settled()
        await g.chat.say("slow")
        await model.began.wait()
        await g.chat.press(question, label, user="7")
        await g.hears(f"User 7: {label}")
        await reloaded(g, owners=("telegram:1",))
        model.may_go_on.set()
        text = await newest(g)
        assert "User 7 approved it and may not approve any more" in text
        assert tool.launched == []
        await g.chat.press(await asked(g, "any more"), "Once", user="1")
        await g.hears("launched a")


async def test_what_is_allowed_for_an_hour_ends_after_it(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool], config=TWO) as g:
        await allows(g, "7", "For 1 hour")
        await g.chat.say("again")
        await g.hears("launched a", count=2)
        assert "· until 20" in await gives(g, "/tools")
        await store.run(ends_now)
        assert "· ended 20" in await gives(g, "/tools")
        await g.chat.say("again")
        await g.settled()
        assert tool.launched == ["a", "a"] and await open_questions(store) == 1
        await g.chat.press(await asked(g, ASKED), "For this conversation", user="1")
        await g.hears("launched a", count=3)
        listed = await gives(g, "/tools")
        assert "User 1" in listed and "no end" in listed and "User 7" not in listed


def ends_now(tx: Transaction) -> None:
    """The grant that was given last ended a second ago."""
    (grant,) = only(tx)
    given = GrantDraft(
        grant.session,
        grant.address,
        grant.tool,
        grant.hash,
        grant.shown,
        grant.granted_by,
        grant.granted_name,
        until=tx.now - 1,
    )
    tx.grants.add(given)


def only(tx: Transaction) -> list[Grant]:
    session = tx.directory.conversation("telegram:1")
    assert session is not None
    return tx.grants.list(session, "telegram:1")


async def test_a_grant_from_before_files_were_compared_works_and_is_told_as_such(
    store: Store,
) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool], config=TWO) as g:
        await allows(g, "1")

        def as_of_before(tx: Transaction) -> None:
            (one,) = only(tx)
            old = GrantDraft(
                one.session,
                one.address,
                one.tool,
                one.hash,
                one.shown,
                "telegram:1",
                "A",
                files=ANY,
            )
            tx.grants.add(old)

        await store.run(as_of_before)
        await g.chat.say("again")
        await g.hears("launched a", count=2)
        assert "whatever its files hold" in await gives(g, "/tools")


async def test_a_childs_calls_lose_what_was_allowed_with_the_right_too(store: Store) -> None:
    tool = Launch()
    rules = [
        delegates({"goal": "fly"}, last="go$|again$"),
        launches("a", last="Task: fly", tier="worker"),
        says("done: {last}", last="launched|not run"),
        ANSWER,
    ]
    async with gateway(rules, store=store, tools=[tool], config=TWO) as g:
        await allows(g, "7")
        await g.settled()
        await reloaded(g, owners=("telegram:1",))
        await g.chat.say("again")
        await g.settled()
        assert tool.launched == ["a"] and await open_questions(store) == 1


async def test_who_allowed_it_takes_it_back_without_the_right_and_strangers_do_not(
    store: Store,
) -> None:
    async with gateway(RULES, store=store, tools=[Launch()], config=TWO) as g:
        await allows(g, "7")
        await reloaded(g, owners=("telegram:1",))
        assert "who allowed it take that back" in await told(g, "/tools revoke 1", "8")
        assert "Revoked by User 7" in await told(g, "/tools revoke 1", "7")


async def told(g: Gateway, text: str, user: str) -> str:
    before = len(g.chat.texts("1"))
    await g.chat.say(text, user=user)
    await g.settled()
    return "\n".join(g.chat.texts("1")[before:])
