"""A gateway on a PostgreSQL, and what another process on it sees and does."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import pytest

from adapters.events import Conversation, Message, User
from agent.delegation.children.presence import Doing, doing
from gateway.access.codes import new_code, sealed
from gateway.access.owner_code import MOST_GUESSES
from gateway.commands.context import CarryOut
from gateway.status.child_control import act_elsewhere
from gateway.views.delegations import family, panel_text
from storage.records.buttons import ActOnChild
from storage.records.chats.people import Role
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.flow.conftest import PATIENCE, Gateway, gateway
from tests.flow.pairing import gives
from tests.flow.test_agents import DONE, SLOW, delegate, running
from tests.flow.test_owner_code import UNOWNED
from tests.support.processes import shows_that_it_lives

pytestmark = pytest.mark.parametrize("database", ["postgres"], indirect=True)


@asynccontextmanager
async def beside(
    store: Store, database: str, rules: list[dict[str, Any]], **more: Any
) -> AsyncIterator[tuple[Gateway, SqlStore]]:
    """A gateway that hears others and shows that it lives, and the store of another process."""
    assert isinstance(store, SqlStore)
    other = await SqlStore.open(database)
    listening = asyncio.create_task(store.listen())
    for each in (store, other):
        await shows_that_it_lives(each)
    try:
        async with gateway(rules, store=store, **more) as g:
            yield g, other
    finally:
        listening.cancel()
        await asyncio.wait([listening])
        await other.close()


async def until(look: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await look():
            await asyncio.sleep(0.05)


def seen(tx: Transaction, store: Store) -> Mapping[int, Doing]:
    return doing(tx, store, {}, [1])


async def test_a_child_is_seen_paused_and_stopped_from_another_process(
    store: Store, database: str
) -> None:
    async with beside(store, database, [delegate("one"), SLOW, DONE]) as (g, other):
        await g.chat.say("go")
        await running(g)

        async def is_shown() -> bool:
            found = await other.read(lambda tx: seen(tx, other))
            return 1 in found and found[1].tool == "model"

        await until(is_shown)
        session = await other.read(lambda tx: tx.directory.conversation("telegram:1"))
        assert session is not None
        text = await other.read(lambda tx: panel_text(family(tx, session), seen(tx, other), tx.now))
        assert "now: model" in text
        pause = ActOnChild("pause", 1, session)

        async def is_paused() -> bool:
            await other.run(lambda tx: act_elsewhere(tx, pause))
            return (await other.read(lambda tx: seen(tx, other)))[1].paused

        await until(is_paused)
        assert g.app.router.context.active[1].paused
        await other.run(lambda tx: act_elsewhere(tx, ActOnChild("stop", 1, session)))
        await g.hears("interrupted")
        assert await other.read(lambda tx: seen(tx, other)) == {}


async def test_the_code_that_another_process_shows_makes_an_owner_too(
    store: Store, database: str
) -> None:
    async with (
        beside(store, database, [], config=UNOWNED) as (g, other),
        gateway([], store=other, config=UNOWNED) as another,
    ):
        code = await another.app.router.invite()
        await g.chat.say(code, chat="5", user="5")  # what is answered, either of them may send

        async def owns() -> bool:
            right = await store.read(lambda tx: tx.rights.get("telegram:5"))
            return right is not None and right.role is Role.OWNER

        await until(owns)
        assert await store.read(lambda tx: tx.ephemeral.of("owner code")) == []


async def test_a_process_that_shows_no_code_takes_that_of_another(
    store: Store, database: str
) -> None:
    async with beside(store, database, [], config=UNOWNED) as (g, other):
        g.app.router.messages.newcomers.owner_code.void()
        await store.run(lambda tx: tx.ephemeral.clear("owner code"))
        code, seal = shown_by(other)
        await other.run(lambda tx: tx.ephemeral.put("owner code", other.process, *seal))
        assert "That is not the code" in await gives(g, "AAAA-AAAA", "5")
        assert "You own this bot now" in await gives(g, code, "5")


async def test_guesses_at_the_code_are_counted_over_all_processes(
    store: Store, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Six people guess, half of their guesses in each process."""
    async with (
        beside(store, database, [], config=UNOWNED) as (g, other),
        gateway([], store=other, config=UNOWNED) as another,
    ):
        code = await another.app.router.invite()
        routers = [g.app.router, another.app.router]
        for number in range(5):
            await routers[number % 2].receive(said("AAAA-AAAA", "99", number))
        await routers[1].receive(said(code, "99", 5))
        assert await store.read(lambda tx: tx.rights.all()) == [], "a sixth guess of one person"
        for number in range(MOST_GUESSES - 5):
            guess = said("AAAA-AAAA", str(10 + number % 5), number)
            await routers[number % 2].receive(guess)
        assert await store.read(lambda tx: tx.ephemeral.of("owner code")) == []
        assert caplog.text.count("guessed at too often") == 1
        for number, router in enumerate(routers):
            await router.receive(said(code, f"20{number}", 0))
        assert await store.read(lambda tx: tx.rights.all()) == []
        fresh = await g.app.router.invite()
        await routers[1].receive(said(fresh, "99", 6))
        (right,) = await store.read(lambda tx: tx.rights.all())
        assert (right.identity, right.role) == ("telegram:99", Role.OWNER)


def shown_by(other: SqlStore) -> tuple[str, tuple[str, Json]]:
    """A code, and what its process lets others know: its name and the seal."""
    code = new_code()
    salt, digest = sealed(code)
    return code, (other.process, {"salt": salt, "digest": digest})


def said(text: str, who: str, number: int) -> Message:
    chat, user = Conversation("telegram", who), User("telegram", who, "Guess")
    return Message(f"telegram:{who}:{number}", chat, user, text, str(number), True)


async def test_a_command_that_two_processes_carry_out_at_once_is_done_once(
    store: Store, database: str
) -> None:
    async with (
        beside(store, database, []) as (g, other),
        gateway([], store=other) as another,
    ):
        both_began = asyncio.Barrier(2)
        message = Message(
            "k1", Conversation("telegram", "1"), User("telegram", "1", "Ana"), "/x", "9", True
        )

        async def run(carry_out: CarryOut) -> None:
            async with asyncio.timeout(PATIENCE):
                await both_began.wait()
            await carry_out(lambda tx: tx.directory.audit("done", "", {}))

        arrival = Arrival("k1", InboxKind.UNREADABLE, "telegram:1", asdict(message))
        row = await other.run(lambda tx: tx.inbox.receive(arrival))
        assert row is not None
        handling = [each.app.router.rows.handle(message, row, run) for each in (g, another)]
        await asyncio.gather(*handling)
        assert len(await store.read(lambda tx: tx.directory.audits("done"))) == 1
