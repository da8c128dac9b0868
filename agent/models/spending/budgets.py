"""Budgets: no model call is made that could cost more than is left of a day's money.

What a call may cost is set aside before it is made; what it did cost takes that place afterwards.
Days are in UTC. An answer longer than OUTPUT_RESERVED can still cost more than was set aside.

Of several processes each writes down what it sets aside before it looks what is left: of two that
want the last money, whoever looks last sees the other. So they never both get it; where neither
does, both try again. In each process one call at a time looks, so that many who come at once do not
keep money from each other that is there.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from agent.models.base import Model, ModelError, ModelErrorKind, Purpose, Reply, Request, price
from agent.models.heard import listening, partial_usage
from agent.models.spending.reservations import Others, SharedReservations
from agent.models.usage import estimated_input, metered
from agent.settings import BudgetsConfig
from agent.text.formats import DAY, age, dollars, midnight
from storage.records.entries import Usage
from storage.store import Store, Transaction

OUTPUT_RESERVED = 4096
"""Tokens of output that are set aside for each call."""


@dataclass(frozen=True, slots=True)
class Pot:
    """One budget of one conversation, one person, or all together."""

    title: str
    limit: float
    address: str | None = None
    person: str | None = None

    @property
    def name(self) -> str:
        return f"{self.address or ''}\n{self.person or ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """Money for a call that runs now."""

    day: float
    """When its day began, in Unix seconds."""
    pots: tuple[Pot, ...]
    amount: float
    key: str = ""
    """Under which others see it; "" where there are none."""


@dataclass(frozen=True, slots=True)
class _Refused:
    failure: ModelError
    contended: bool
    """Other processes look at the same money."""


TRIES = 4
PAUSE = (0.02, 0.2)
"""Seconds between tries, while other processes look at the same money."""
SET_BACK = 3600.0
"""Seconds before a day's beginning at which somebody must have set the clock back; a read that was
overtaken by midnight is not that late."""


class Budgets:
    """Counts for all models of this process.

    What was spent is what the ledger says. Where this process counted more, that counts: a call is
    paid for a moment before it is booked.
    """

    def __init__(self, store: Store, limits: Callable[[], BudgetsConfig]) -> None:
        """`limits`: those that hold now."""
        self._store = store
        self._limits = limits
        self._day = 0.0
        self._spent: dict[Pot, float] = {}
        """Of the day."""
        self._running: set[Reservation] = set()
        self._shared = SharedReservations(store)
        self._looking = asyncio.Lock()
        """One call of this process after the other."""

    async def reserve(self, request: Request) -> Reservation:
        """Set aside what a call may cost. ModelError of the kind BUDGET where too little is left.

        For a model whose price is not known nothing can be set aside: it is called until the
        budget is spent.
        """
        pots = tuple(pots_of(self._limits(), request.purpose))
        if not pots:
            return Reservation(self._day, (), 0.0)
        cost = estimate(request)
        if self._store.jobs is not None:
            return await self._reserve_among_others(pots, cost)
        now, booked = await self._store.read(lambda tx: _booked(tx, pots))
        # From here to the end nothing is awaited: no other call can take the same money.
        self._note(now, booked)
        self._check(cost, now, {pot: self._aside(pot) for pot in pots})
        reservation = Reservation(self._day, pots, cost or 0.0)
        self._running.add(reservation)
        return reservation

    async def settle(self, reservation: Reservation, cost: float) -> None:
        """The call is over. One that failed or was cut counts as free, as in the ledger, unless
        something of its answer was heard."""
        self._running.discard(reservation)
        if reservation.day == self._day:
            for pot in reservation.pots:
                self._spent[pot] = self._spent.get(pot, 0.0) + cost
        if reservation.key:
            await self._shared.settle(reservation.key, cost)

    async def _reserve_among_others(self, pots: tuple[Pot, ...], cost: float | None) -> Reservation:
        for tries_left in reversed(range(TRIES)):
            async with self._looking:
                found = await self._try(pots, cost)
            match found:
                case Reservation():
                    return found
                case _Refused(failure, contended):
                    if not (tries_left and contended):
                        raise failure
            await asyncio.sleep(random.uniform(*PAUSE))  # noqa: S311
        raise AssertionError("the last try raises")

    async def _try(self, pots: tuple[Pot, ...], cost: float | None) -> Reservation | _Refused:
        key = await self._shared.enter([pot.name for pot in pots], cost or 0.0)
        try:
            now, booked, others = await self._store.read(partial(self._look, pots=pots))
            # From here to the end nothing is awaited.
            self._note(now, booked)
            aside = {pot: self._aside(pot) + others.dollars[pot.name] for pot in pots}
            self._check(cost, now, aside)
        except ModelError as failure:
            await self._shared.drop(key)
            return _Refused(failure, others.contended)
        except BaseException:
            await self._shared.drop(key)
            raise
        reservation = Reservation(self._day, pots, cost or 0.0, key)
        self._running.add(reservation)
        self._shared.decided(key)
        return reservation

    def _look(
        self, tx: Transaction, pots: tuple[Pot, ...]
    ) -> tuple[float, dict[Pot, float], Others]:
        return *_booked(tx, pots), self._shared.others(tx, [pot.name for pot in pots])

    def _note(self, now: float, booked: Mapping[Pot, float]) -> None:
        """Keep what the ledger has, where that is more than was counted here."""
        if midnight(now) > self._day or now < self._day - SET_BACK:
            self._day = midnight(now)
            self._spent.clear()
        if midnight(now) == self._day:  # else it was read before another call saw midnight
            for pot, spent in booked.items():
                self._spent[pot] = max(self._spent.get(pot, 0.0), spent)

    def _aside(self, pot: Pot) -> float:
        """For calls of this process."""
        return sum(one.amount for one in self._running if pot in one.pots)

    def _check(self, cost: float | None, now: float, aside: Mapping[Pot, float]) -> None:
        """`aside`: dollars for other calls that run now, of each pot that this one draws on. What
        is used up goes before what is only set aside: no call that ends changes it."""
        for pot in aside:
            spent = self._spent.get(pot, 0.0)
            if not _enough(cost, pot.limit - spent):
                raise ModelError(ModelErrorKind.BUDGET, _used_up(pot, spent, cost, now, aside[pot]))
        for pot, taken in aside.items():
            spent = self._spent.get(pot, 0.0)
            if not _enough(cost, pot.limit - spent - taken):
                raise ModelError(ModelErrorKind.BUDGET, _taken(pot, spent, cost, taken))


def _enough(cost: float | None, left: float) -> bool:
    return left > 0 if cost is None else cost <= max(left, 0.0)


def _used_up(pot: Pot, spent: float, cost: float | None, now: float, aside: float) -> str:
    if cost is not None and cost > pot.limit:
        return (
            f"The budget {pot.title} for a day is too small for a single call: "
            f"{dollars(pot.limit)}, and the next call may cost {dollars(cost)}. "
            "Tell the bot's owner."
        )
    opens = age(midnight(now) + DAY - now)
    return (
        f"The budget {pot.title} for today is used up: {_facts(pot, spent, cost, aside)}. "
        f"It opens again at 00:00 UTC, in {opens}."
    )


def _taken(pot: Pot, spent: float, cost: float | None, aside: float) -> str:
    return (
        f"What is left of the budget {pot.title} for today is taken by other calls: "
        f"{_facts(pot, spent, cost, aside)}. Try again in a minute."
    )


def _facts(pot: Pot, spent: float, cost: float | None, aside: float) -> str:
    found = [f"{dollars(spent)} of {dollars(pot.limit)} spent"]
    if aside:
        found.append(f"{dollars(aside)} set aside for calls that run now")
    if cost:
        found.append(f"the next call may cost {dollars(cost)}")
    return ", ".join(found)


class Budgeted:
    """A model that is called only while there is money for it."""

    def __init__(self, model: Model, budgets: Budgets) -> None:
        self._model = model
        self._budgets = budgets

    async def complete(self, request: Request) -> Reply:
        reservation = await self._budgets.reserve(request)
        request, listener = listening(request)
        used = Usage()
        try:
            reply = metered(request, await self._model.complete(request))
            used = reply.usage
            return reply
        except BaseException as failure:
            if listener is not None and listener.text:
                used = partial_usage(request, listener.text)
            if isinstance(failure, ModelError) and failure.partial:
                used = failure.usage = failure.usage or used
            raise
        finally:
            await self._budgets.settle(reservation, used.cost or 0.0)


def pots_of(limits: BudgetsConfig, purpose: Purpose) -> Iterator[Pot]:
    """Every budget that a call draws on."""
    if limits.conversation_day is not None and purpose.address:
        yield Pot("of this conversation", limits.conversation_day, address=purpose.address)
    if limits.person_day is not None and purpose.person:
        yield Pot(f"of {purpose.person}", limits.person_day, person=purpose.person)
    if limits.day is not None:
        yield Pot("of all conversations together", limits.day)


def left_today(tx: Transaction, limits: BudgetsConfig, purpose: Purpose) -> dict[Pot, float]:
    """Dollars that are left, by what the ledger says."""
    pots = tuple(pots_of(limits, purpose))
    _, booked = _booked(tx, pots)
    return {pot: max(pot.limit - booked[pot], 0.0) for pot in pots}


def estimate(request: Request) -> float | None:
    """Dollars a call may cost: all that is sent, and OUTPUT_RESERVED tokens of answer. None where
    the model has no configured price."""
    if price(request.spec, 0, 0) is None:
        return None
    return price(request.spec, estimated_input(request), OUTPUT_RESERVED)


def _booked(tx: Transaction, pots: tuple[Pot, ...]) -> tuple[float, dict[Pot, float]]:
    """The store's time, and what the ledger has for each of the pots since midnight."""
    since = midnight(tx.now)
    return tx.now, {
        pot: tx.ledger.total(since=since, address=pot.address, person=pot.person).cost
        for pot in pots
    }
