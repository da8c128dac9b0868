"""What holds over all processes on one PostgreSQL: the day's money, and the slots of children."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agent.delegation.children.presence import doing, shown
from agent.delegation.children.slots import TOPIC as SLOTS
from agent.delegation.children.slots import Semaphores, Slots
from agent.delegation.children.supervision import Activity
from agent.models.base import ModelError, ModelSpec, Purpose, Request
from agent.models.spending.budgets import OUTPUT_RESERVED, Budgets, Reservation
from agent.runtime.journal import Journal
from agent.settings import BudgetsConfig
from gateway.processes.switchboard import Switchboard
from gateway.status.child_control import act_elsewhere, heard
from storage.errors import EpochLost
from storage.records.buttons import ActOnChild
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Draft, Kind, Session, SessionDraft, SessionKind, Usage, message
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.processes import shows_that_it_lives, two_processes

Pair = tuple[SqlStore, SqlStore]
PRICED = ModelSpec("parent", "priced", input_cost=0.0, output_cost=1.0)
CALL = float(OUTPUT_RESERVED)
"""Dollars that are set aside for a call."""
REQUEST = Request(PRICED, [message("user", "hi")], purpose=Purpose("telegram:1", "telegram:1"))


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[Pair]:
    async with two_processes(postgres_url) as stores:
        yield stores


async def got(budgets: Budgets) -> Reservation | None:
    try:
        return await budgets.reserve(REQUEST)
    except ModelError:
        return None


async def test_two_processes_never_spend_the_same_money(pair: Pair) -> None:
    limits = BudgetsConfig(day=3.5 * CALL)
    left, right = (Budgets(store, lambda: limits) for store in pair)
    found = await asyncio.gather(*(got(each) for each in (left, right) * 6))
    assert 2 <= sum(one is not None for one in found) <= 3


async def test_money_that_is_only_set_aside_is_not_called_used_up(pair: Pair) -> None:
    limits = BudgetsConfig(day=1.5 * CALL)
    left, right = (Budgets(store, lambda: limits) for store in pair)
    await left.reserve(REQUEST)
    with pytest.raises(ModelError, match=r"taken by other calls.*Try again in a minute") as told:
        await right.reserve(REQUEST)
    assert "used up" not in str(told.value)


async def test_a_budget_that_is_used_up_is_told_before_one_that_is_only_set_aside(
    pair: Pair,
) -> None:
    limits = BudgetsConfig(conversation_day=1.5 * CALL, day=2.5 * CALL)
    elsewhere = Request(PRICED, REQUEST.messages, purpose=Purpose("telegram:2", "telegram:2"))
    left, right = (Budgets(store, lambda: limits) for store in pair)
    dear = await right.reserve(elsewhere)
    await left.reserve(REQUEST)
    await right.settle(dear, 1.6 * CALL)
    with pytest.raises(ModelError, match="of all conversations together for today is used up"):
        await right.reserve(REQUEST)


async def test_what_another_process_set_aside_is_not_there_until_its_call_is_over(
    pair: Pair,
) -> None:
    limits = BudgetsConfig(day=1.5 * CALL)
    left, right = (Budgets(store, lambda: limits) for store in pair)
    reservation = await left.reserve(REQUEST)
    with pytest.raises(ModelError, match="set aside for calls that run now"):
        await right.reserve(REQUEST)
    await left.settle(reservation, 0.0)
    other = await right.reserve(REQUEST)
    await right.settle(other, CALL)  # and not booked yet
    with pytest.raises(ModelError):
        await left.reserve(REQUEST)


async def test_what_a_dead_process_set_aside_is_there_again(pair: Pair) -> None:
    limits = BudgetsConfig(person_day=1.5 * CALL)
    left, right = (Budgets(store, lambda: limits) for store in pair)
    await left.reserve(REQUEST)
    await shows_that_it_lives(pair[0], -1)
    await right.reserve(REQUEST)


async def test_a_refused_call_leaves_nothing_set_aside(pair: Pair) -> None:
    budgets = Budgets(pair[0], lambda: BudgetsConfig(day=0.5 * CALL))
    assert await got(budgets) is None
    (row,) = await pair[0].read(lambda tx: tx.ephemeral.of("reservations"))
    assert row.body["running"] == row.body["over"] == {}


def child(number: int) -> Delegation:
    """One that session 1 delegated to the background."""
    return Delegation(
        id=number,
        session=1,
        call_id="c",
        call_entry=1,
        index=0,
        journal=number + 100,
        root=number + 100,
        top=None,
        background=True,
        person="",
        address="telegram:1",
        goal="g",
        state="running",
        tier="worker",
        model="m",
        usage=Usage(),
        result="",
        created=0.0,
        updated=0.0,
    )


class Children:
    """Those of one process, which hold their slot until they are let go."""

    def __init__(self, store: SqlStore, limit: int) -> None:
        self.slots = Slots(store, Semaphores(limit))
        self.active: dict[int, Activity] = {}
        self.running: list[int] = []
        self._over: dict[int, asyncio.Event] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.store = store
        switchboard = Switchboard(store)
        switchboard.on(SLOTS, self.slots.heard)
        switchboard.on("child", lambda said: heard(self.active, said))

    def begin(self, number: int) -> asyncio.Task[None]:
        self._over[number] = asyncio.Event()
        self._tasks[number] = asyncio.create_task(self._run(number))
        return self._tasks[number]

    async def end(self, number: int) -> None:
        self._over[number].set()
        await self._tasks[number]

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _run(self, number: int) -> None:
        activity = self.active[number] = Activity(number)
        slot = self.slots.of(child(number))
        try:
            async with shown(self.store, activity), activity.in_slot(slot):
                self.running.append(number)
                await self._over[number].wait()
        finally:
            del self.active[number]


def delegated(tx: Transaction) -> list[Session]:
    """Four delegations of a session, and the sessions of the agents that carry them out."""
    origin = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
    entry = tx.tree.append(origin, Draft(Kind.MESSAGE, message("user", "go")), after=None).id
    agents = []
    for number in range(4):
        journal = tx.tree.create(SessionDraft(SessionKind.SUBAGENT, "", origin, entry)).id
        draft = DelegationDraft(origin, "c", entry, number, journal, journal, "a:1", "goal", "m")
        tx.delegations.create(draft)
        agents.append(tx.tree.create(SessionDraft(SessionKind.SUBAGENT, "", journal)))
    return agents


@pytest.fixture
async def agents(pair: Pair) -> list[Session]:
    return await pair[0].run(delegated)


@pytest.fixture
async def children(pair: Pair, agents: list[Session]) -> AsyncIterator[tuple[Children, Children]]:
    left, right = Children(pair[0], 2), Children(pair[1], 2)
    yield left, right
    for each in (left, right):
        await each.close()


async def until_stands(children: Children, number: int) -> None:
    """In the line of those who want a slot."""
    async with asyncio.timeout(60):
        while all(who != number for who, _ in await line(children)):
            await asyncio.sleep(0.01)


async def until_queued(children: Children, number: int) -> None:
    """It was told so, which is after others can see it in the line."""
    async with asyncio.timeout(60):
        while not children.active[number].queued:
            await asyncio.sleep(0.01)


async def line(children: Children) -> list[tuple[int, str]]:
    return await children.store.read(lambda tx: tx.directory.fact("slots:1")) or []


async def runs(children: Children, number: int) -> None:
    async with asyncio.timeout(60):
        while number not in children.running:
            await asyncio.sleep(0.01)


async def test_the_background_of_a_session_has_its_slots_once_for_all_processes(
    children: tuple[Children, Children],
) -> None:
    left, right = children
    for number, each in ((1, left), (2, right), (3, right), (4, left)):
        each.begin(number)
        await until_stands(each, number)
    await runs(left, 1)
    await runs(right, 2)
    await until_queued(right, 3)
    await until_queued(left, 4)
    await left.end(1)
    await runs(right, 3)  # first come, first served
    assert left.running == [1]
    await right.end(3)
    await runs(left, 4)
    await left.end(4)
    await right.end(2)
    assert await line(left) == []


async def test_the_slot_of_a_dead_process_becomes_free(
    pair: Pair, children: tuple[Children, Children]
) -> None:
    left, right = children
    for number in (1, 2):
        left.begin(number)
        await until_stands(left, number)
    right.begin(3)
    await until_stands(right, 3)
    await shows_that_it_lives(pair[0], -1)
    await runs(right, 3)


async def test_who_takes_over_a_child_takes_over_its_place_in_the_line(
    pair: Pair, children: tuple[Children, Children]
) -> None:
    left, right = children
    for number, each in ((1, left), (2, right), (3, right)):
        each.begin(number)
        await until_stands(each, number)
    await shows_that_it_lives(pair[0], -1)
    right.begin(1)
    await runs(right, 1)
    assert right.active[3].queued or 3 in right.running
    assert (await line(right)).count([1, right.store.process]) == 1  # type: ignore[arg-type]


async def test_a_child_that_waits_is_ended_without_a_slot(
    children: tuple[Children, Children],
) -> None:
    left, right = children
    for number in (1, 2):
        left.begin(number)
        await until_stands(left, number)
    waiting = right.begin(3)
    await until_stands(right, 3)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert [who for who, _ in await line(left)] == [1, 2]


async def until_seen(children: Children, number: int, **wanted: object) -> None:
    """By this process, whoever runs it."""
    async with asyncio.timeout(60):
        while True:
            found = await children.store.read(
                lambda tx: doing(tx, children.store, children.active, [number])
            )
            one = found.get(number)
            if one is not None and all(getattr(one, k) == v for k, v in wanted.items()):
                return
            await asyncio.sleep(0.01)


async def test_what_a_child_does_is_seen_and_changed_from_another_process(
    pair: Pair, children: tuple[Children, Children]
) -> None:
    left, right = children
    left.begin(1)
    await runs(left, 1)
    left.active[1].beat("run_command")
    left.active[1].touched("wrote", "a.txt")
    await until_seen(right, 1, tool="run_command", files={"a.txt": "wrote"}, paused=False)
    for what, paused in (("pause", True), ("resume", False)):
        action = ActOnChild(what, 1, 1)  # type: ignore[arg-type]
        await pair[1].run(lambda tx, action=action: act_elsewhere(tx, action))  # type: ignore[misc]
        await until_seen(right, 1, paused=paused)
        assert left.active[1].paused is paused
    await left.end(1)
    assert await pair[1].read(lambda tx: doing(tx, pair[1], {}, [1])) == {}


async def test_a_child_that_was_paused_stays_so_when_another_process_takes_it_over(
    pair: Pair, children: tuple[Children, Children]
) -> None:
    left, right = children
    left.begin(1)
    await runs(left, 1)
    left.active[1].pause()
    await until_seen(right, 1, paused=True)
    await shows_that_it_lives(pair[0], -1)
    right.begin(1)
    await runs(right, 1)
    assert right.active[1].paused


async def test_who_stood_still_writes_nothing_of_a_child_that_waits_for_its_place_elsewhere(
    pair: Pair, agents: list[Session], children: tuple[Children, Children]
) -> None:
    left, right = children
    late = await Journal.claim(pair[0], agents[0].id)
    left.begin(1)
    await runs(left, 1)
    await until_seen(right, 1)
    await shows_that_it_lives(pair[0], -1)
    for number in (2, 3, 1):
        right.begin(number)
        await until_stands(right, number)
    await until_seen(right, 1, queued=True)
    with pytest.raises(EpochLost):
        await late.append(Draft(Kind.MESSAGE, message("assistant", "late")))
