"""Rights that were given in chats, and strangers who ask for one."""

from storage.news import Committed
from storage.records.chats.people import RequestDraft, RightDraft, Role
from storage.store import Store
from tests.support.stores import Clock

ANN = RightDraft("telegram:5", "Ann", Role.MEMBER, None, "telegram:1")


def asks(number: int, digest: str = "d") -> RequestDraft:
    return RequestDraft(f"telegram:{number}", f"N{number}", "salt", digest, 100.0)


async def test_a_right_takes_the_place_of_the_one_before_and_keeps_its_beginning(
    store: Store, clock: Clock
) -> None:
    clock.now = 10.0
    first = await store.run(lambda tx: tx.rights.give(ANN))
    assert (first.since, first.role, first.until) == (10.0, Role.MEMBER, None)
    clock.now = 20.0
    owner = RightDraft(ANN.identity, "Anna", Role.OWNER, 99.0, "telegram:2")
    second = await store.run(lambda tx: tx.rights.give(owner))
    assert await store.read(lambda tx: tx.rights.all()) == [second]
    assert (second.since, second.role, second.until) == (10.0, Role.OWNER, 99.0)
    assert (second.name, second.by) == ("Anna", "telegram:2")
    assert second.holds(98.9)
    assert not second.holds(99.0)


async def test_a_right_is_taken_back_once(store: Store) -> None:
    right = await store.run(lambda tx: tx.rights.give(ANN))
    assert await store.run(lambda tx: tx.rights.take(ANN.identity)) == right
    assert await store.run(lambda tx: tx.rights.take(ANN.identity)) is None
    assert await store.read(lambda tx: tx.rights.get(ANN.identity)) is None


async def test_a_commit_tells_who_may_do_what_from_now_on(store: Store) -> None:
    told: list[Committed] = []
    store.watch(told.append)
    right = await store.run(lambda tx: tx.rights.give(ANN))
    assert [news.rights for news in told] == [{ANN.identity: right}]
    await store.run(lambda tx: tx.rights.take(ANN.identity))
    assert told[-1].rights == {ANN.identity: None}
    await store.run(lambda tx: tx.rights.take(ANN.identity))
    assert len(told) == 2


async def test_a_request_is_kept_once_with_its_newest_code(store: Store, clock: Clock) -> None:
    clock.now = 1.0
    assert await store.run(lambda tx: tx.pairing.ask(asks(5), 10))
    clock.now = 2.0
    assert not await store.run(lambda tx: tx.pairing.ask(asks(5, "e"), 10))
    (kept,) = await store.read(lambda tx: tx.pairing.all())
    assert (kept.digest, kept.asked, kept.ignored) == ("e", 1.0, False)
    await store.run(lambda tx: tx.pairing.void("telegram:5"))
    (kept,) = await store.read(lambda tx: tx.pairing.all())
    assert kept.digest == ""


async def test_of_too_many_requests_the_oldest_go(store: Store, clock: Clock) -> None:
    for number in range(6):
        clock.now = float(number)
        asked = asks(number)
        await store.run(lambda tx, asked=asked: tx.pairing.ask(asked, 3))  # type: ignore[misc]
    left = await store.read(lambda tx: tx.pairing.all())
    assert [one.identity for one in left] == ["telegram:5", "telegram:4", "telegram:3"]


async def test_an_ignored_request_stays_until_it_lapses(store: Store, clock: Clock) -> None:
    clock.now = 5.0
    await store.run(lambda tx: tx.pairing.ask(asks(5), 10))
    await store.run(lambda tx: tx.pairing.ignore("telegram:5"))
    kept = await store.read(lambda tx: tx.pairing.get("telegram:5"))
    assert kept is not None
    assert kept.ignored
    await store.run(lambda tx: tx.pairing.lapse(5.0))
    assert await store.read(lambda tx: tx.pairing.get("telegram:5")) == kept
    await store.run(lambda tx: tx.pairing.lapse(5.1))
    assert await store.read(lambda tx: tx.pairing.get("telegram:5")) is None


async def test_a_request_is_closed_once(store: Store) -> None:
    await store.run(lambda tx: tx.pairing.ask(asks(5), 10))
    closed = await store.run(lambda tx: tx.pairing.close("telegram:5"))
    assert closed is not None
    assert closed.name == "N5"
    assert await store.run(lambda tx: tx.pairing.close("telegram:5")) is None
