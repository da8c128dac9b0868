"""Money is set aside before a call and settled after it; what is not there cannot be spent."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec, Purpose, Reply, Request
from agent.models.scripted import Answer, Rule, ScriptedModel, Spent
from agent.models.spending.budgets import OUTPUT_RESERVED, Budgeted, Budgets, estimate
from agent.settings import BudgetsConfig
from agent.text.formats import dollars
from gateway.configuration.config import load
from gateway.errors import ConfigError
from storage.records.entries import SessionDraft, SessionKind, Usage, message
from storage.records.ledger import LedgerLine
from storage.sql.store import SqlStore
from tests.support.stores import Clock, fresh_store

PRICED = ModelSpec("parent", "m", input_cost=0.0, output_cost=1 / OUTPUT_RESERVED)
"""A dollar is set aside for each call."""
FREE = ModelSpec("parent", "free", input_cost=0.0, output_cost=0.0)
UNPRICED = ModelSpec("parent", "who knows")
ANA, BEN = Purpose("telegram:1", "telegram:1"), Purpose("telegram:2", "telegram:2")


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = 1_000_000.0
    return clock


@pytest.fixture
async def store(clock: Clock) -> AsyncIterator[SqlStore]:
    async with fresh_store(clock) as store:
        yield store


class Bank:
    """A store, budgets over it, and a model that books what it cost, a moment late, as turns do."""

    def __init__(self, store: SqlStore, tokens: int = OUTPUT_RESERVED, **limits: float) -> None:
        self.store = store
        self.budgets = Budgets(store, lambda: BudgetsConfig(**limits))
        self.calls = 0
        self.running = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._answer = ScriptedModel(
            [Rule(reply=Answer(text="ok", usage=Spent(input=0, output=tokens)))]
        )
        self.model: Model = Budgeted(self, self.budgets)

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        self.running.set()
        await self.may_answer.wait()
        return await self._answer.complete(request)

    async def call(
        self, purpose: Purpose = ANA, spec: ModelSpec = PRICED, *, book: bool = True
    ) -> None:
        reply = await self.model.complete(request(purpose, spec))
        if book:
            await self.book(reply.usage, purpose)

    async def book(self, usage: Usage, purpose: Purpose = ANA) -> None:
        session = await self.store.run(lambda t: t.tree.create(SessionDraft(SessionKind.CHAT)))
        line = LedgerLine("parent", "m", usage, session.id, purpose.address, purpose.person)
        await self.store.run(lambda t: t.ledger.add(line))

    async def refusal(self, purpose: Purpose = ANA, spec: ModelSpec = PRICED) -> str:
        before = self.calls
        with pytest.raises(ModelError) as caught:
            await self.call(purpose, spec)
        assert caught.value.kind is ModelErrorKind.BUDGET
        assert self.calls == before
        return str(caught.value)


def request(purpose: Purpose = ANA, spec: ModelSpec = PRICED, text: str = "hi") -> Request:
    return Request(spec, [message("user", text)], purpose=purpose)


def test_an_estimate_is_all_that_is_sent_and_a_stated_number_of_tokens_of_answer() -> None:
    spec = ModelSpec("parent", "m", input_cost=4.0, output_cost=1.0)
    short, long = (estimate(request(spec=spec, text="x" * n)) for n in (0, 4_000))
    assert short is not None
    assert long is not None
    assert long - short == 4.0 * 1_000
    assert short > OUTPUT_RESERVED


def test_tools_are_sent_too() -> None:
    spec = ModelSpec("parent", "m", input_cost=4.0)
    plain = estimate(request(spec=spec))
    tool = {"type": "function", "function": {"name": "f" * 4_000}}
    with_tool = estimate(Request(spec, [message("user", "hi")], [tool]))
    assert plain is not None
    assert with_tool is not None
    assert with_tool - plain > 4.0 * 1_000


def test_without_a_price_there_is_no_estimate() -> None:
    assert estimate(request(spec=UNPRICED)) is None


async def test_calls_go_through_until_the_next_one_would_be_too_much(store: SqlStore) -> None:
    bank = Bank(store, day=3.0)
    for _ in range(3):
        await bank.call()
    text = await bank.refusal()
    assert "of all conversations together for today is used up: $3.00 of $3.00 spent" in text
    assert "opens again at 00:00 UTC, in 10 h" in text


async def test_what_an_answer_really_cost_is_what_counts(store: SqlStore) -> None:
    bank = Bank(store, tokens=OUTPUT_RESERVED // 4, day=2.0)
    for _ in range(5):  # 0.25 each; a sixth could come to 2.25
        await bank.call()
    assert "$1.25 of $2.00 spent, the next call may cost $1.00" in await bank.refusal()


async def test_a_call_that_runs_holds_its_money(store: SqlStore) -> None:
    bank = Bank(store, day=1.5)
    bank.may_answer.clear()
    first = asyncio.create_task(bank.call())
    await bank.running.wait()
    text = await bank.refusal()
    assert "$0.00 of $1.50 spent, $1.00 set aside for calls that run now" in text
    bank.may_answer.set()
    await first


async def test_many_calls_at_once_do_not_spend_the_same_money_twice(store: SqlStore) -> None:
    bank = Bank(store, day=3.0)
    calls = await asyncio.gather(*(bank.call() for _ in range(10)), return_exceptions=True)
    assert sum(call is None for call in calls) == bank.calls == 3


async def test_an_answer_that_broke_off_is_paid_as_far_as_it_was_heard(store: SqlStore) -> None:
    bank = Bank(store, day=1.0)
    text = "x" * 4 * OUTPUT_RESERVED
    failing = ScriptedModel([Rule(reply=Answer(begins=text, error=ModelErrorKind.UNAVAILABLE))])
    with pytest.raises(ModelError) as caught:
        await Budgeted(failing, bank.budgets).complete(replace(request(), heard=lambda _: None))
    usage = caught.value.usage
    assert usage is not None
    assert usage.cost is not None
    assert usage.cost == pytest.approx(1.0, rel=0.01)
    assert f"{dollars(usage.cost)} of $1.00 spent" in await bank.refusal()


async def test_an_answer_that_was_cut_is_paid_as_far_as_it_was_heard(store: SqlStore) -> None:
    bank = Bank(store, day=1.0)
    first = asyncio.Event()
    slow = ScriptedModel([Rule(reply=Answer(text="x" * 4 * OUTPUT_RESERVED + " y", pace=3600))])
    streamed = replace(request(), heard=lambda _: first.set())
    task = asyncio.create_task(Budgeted(slow, bank.budgets).complete(streamed))
    await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "$1.00 of $1.00 spent" in await bank.refusal()


async def test_a_call_that_failed_gives_its_money_back(store: SqlStore) -> None:
    bank = Bank(store, day=1.0)
    failing = ScriptedModel([Rule(reply=Answer(error=ModelErrorKind.UNAVAILABLE))])
    with pytest.raises(ModelError):
        await Budgeted(failing, bank.budgets).complete(request())
    await bank.call()


async def test_a_call_that_was_cut_gives_its_money_back(store: SqlStore) -> None:
    bank = Bank(store, day=1.0)
    bank.may_answer.clear()
    call = asyncio.create_task(bank.call())
    await bank.running.wait()
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()
    bank.may_answer.set()
    await bank.call()


async def test_what_is_paid_for_and_not_booked_yet_is_spent(store: SqlStore) -> None:
    bank = Bank(store, day=1.0)
    await bank.call(book=False)
    assert "$1.00 of $1.00 spent" in await bank.refusal()


async def test_what_the_ledger_has_from_before_or_from_elsewhere_is_spent(store: SqlStore) -> None:
    bank = Bank(store, day=3.0)
    await bank.book(Usage(0, 0, 1, 1.5))
    await bank.call()
    assert "$2.50 of $3.00 spent" in await bank.refusal()


async def test_the_next_day_opens_every_budget(store: SqlStore, clock: Clock) -> None:
    bank = Bank(store, day=1.0, conversation_day=1.0, person_day=1.0)
    await bank.call()
    await bank.refusal()
    clock.now += 86_400
    await bank.call()
    await bank.refusal()


async def test_a_conversation_spends_its_own_budget_only(store: SqlStore) -> None:
    bank = Bank(store, conversation_day=1.0)
    await bank.call(ANA)
    assert "of this conversation" in await bank.refusal(ANA)
    await bank.call(BEN)


async def test_a_person_spends_one_budget_everywhere(store: SqlStore) -> None:
    bank = Bank(store, person_day=1.0)
    await bank.call(Purpose("telegram:-5", "telegram:1"))
    assert "of telegram:1" in await bank.refusal(Purpose("telegram:1", "telegram:1"))
    await bank.call(Purpose("telegram:-5", "telegram:2"))


async def test_a_call_for_nobody_draws_on_the_budget_of_all_alone(store: SqlStore) -> None:
    bank = Bank(store, conversation_day=0.5, person_day=0.5, day=1.0)
    await bank.call(Purpose())
    assert "of all conversations" in await bank.refusal(Purpose())


async def test_a_refused_call_takes_nothing_from_any_budget(store: SqlStore) -> None:
    bank = Bank(store, conversation_day=1.0, day=3.0)
    await bank.call(ANA)
    for _ in range(5):
        await bank.refusal(ANA)
    await bank.call(BEN)
    await bank.call(Purpose("telegram:3", "telegram:3"))


async def test_a_budget_too_small_for_one_call_says_so(store: SqlStore) -> None:
    text = await Bank(store, day=0.5).refusal()
    assert "too small for a single call: $0.50, and the next call may cost $1.00" in text
    assert "again" not in text


async def test_a_model_without_a_price_is_called_and_not_counted(store: SqlStore) -> None:
    bank = Bank(store, day=1.0)
    for _ in range(3):
        await bank.call(spec=UNPRICED)
    await bank.call()


async def test_a_model_without_a_price_is_not_called_once_the_budget_is_spent(
    store: SqlStore,
) -> None:
    bank = Bank(store, day=1.0)
    await bank.call()
    assert "may cost" not in await bank.refusal(spec=UNPRICED)


async def test_a_model_that_is_free_is_always_called(store: SqlStore) -> None:
    bank = Bank(store, day=1.0)
    await bank.book(Usage(0, 0, 1, 5.0))
    await bank.call(spec=FREE)


async def test_without_budgets_everything_goes(store: SqlStore) -> None:
    bank = Bank(store)
    await bank.book(Usage(0, 0, 1, 1e9))
    await bank.call()


@given(
    limit=st.floats(1.0, 20.0),
    sizes=st.lists(st.integers(0, OUTPUT_RESERVED), min_size=1, max_size=30),
    together=st.integers(1, 8),
)
def test_answers_within_what_is_set_aside_never_overspend(
    limit: float, sizes: list[int], together: int
) -> None:
    async def spent() -> float:
        async with fresh_store() as store:
            return await spent_of(Bank(store, day=limit))

    async def spent_of(bank: Bank) -> float:
        answers = [Rule(reply=Answer(usage=Spent(input=0, output=n)), times=1) for n in sizes]
        model = Budgeted(ScriptedModel(answers), bank.budgets)
        places = asyncio.Semaphore(together)
        paid: list[float] = []

        async def call() -> None:
            async with places:
                reply = await model.complete(request())
                paid.append(reply.usage.cost or 0.0)

        results = await asyncio.gather(*(call() for _ in sizes), return_exceptions=True)
        others = [r for r in results if r is not None and not isinstance(r, ModelError)]
        assert others == []
        return sum(paid)

    assert asyncio.run(spent()) <= limit + 1e-9


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.0, "$0.00"),
        (0.5, "$0.50"),
        (1.0, "$1.00"),
        (12.345, "$12.35"),
        (0.000042, "$0.000042"),
        (0.1 + 0.2, "$0.30"),
    ],
)
def test_dollars_are_written_as_people_write_them(amount: float, text: str) -> None:
    assert dollars(amount) == text


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "'lots'"])
@pytest.mark.parametrize("key", ["conversation_day", "person_day", "day"])
def test_a_budget_is_a_sum_above_zero(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "bough.toml"
    path.write_text(f"[budgets]\n{key} = {value}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"budgets\.{key}"):
        load(path, {})


def test_budgets_come_from_the_environment_too(tmp_path: Path) -> None:
    path = tmp_path / "bough.toml"
    path.write_text("", encoding="utf-8")
    assert load(path, {"BOUGH_BUDGETS__PERSON_DAY": "0.5"}).budgets.person_day == 0.5


async def test_a_clock_that_went_a_day_ahead_and_back_gives_no_second_budget(
    store: SqlStore, clock: Clock
) -> None:
    bank = Bank(store, day=3.0)
    for _ in range(2):
        await bank.call()
    clock.now += 86_400
    await bank.call()
    clock.now -= 86_400
    # What was booked for tomorrow counts today too: better too little than too much.
    await bank.refusal()


async def test_a_clock_that_was_put_right_shows_what_was_spent_today(
    store: SqlStore, clock: Clock
) -> None:
    bank = Bank(store, day=3.0)
    for _ in range(3):
        await bank.call()
    clock.now += 86_400
    free = request(spec=FREE)
    await bank.model.complete(free)
    clock.now -= 86_400
    assert "$3.00 of $3.00 spent" in await bank.refusal()
