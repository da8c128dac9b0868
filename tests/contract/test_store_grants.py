"""What a person allowed for a conversation: one exact call, there and nowhere else."""

from dataclasses import replace
from functools import partial

from storage.records.tools.grants import Grant, GrantDraft
from storage.store import Store, Transaction
from tests.support.stores import Clock, new_session

HERE, THERE = "telegram:1", "telegram:2"


async def draft(store: Store) -> GrantDraft:
    session = await new_session(store)
    return GrantDraft(session.id, HERE, "run", "abc", "`ls`", "telegram:7", "Ann")


async def add(store: Store, given: GrantDraft) -> Grant:
    return await store.run(lambda tx: tx.grants.add(given))


async def test_a_grant_is_found_by_the_exact_call_in_its_session_and_conversation(
    store: Store, clock: Clock
) -> None:
    clock.now = 5.0
    given = await draft(store)
    grant = await add(store, given)
    assert (grant.shown, grant.granted_by, grant.granted_name, grant.time) == (
        "`ls`",
        "telegram:7",
        "Ann",
        5.0,
    )
    other = (await new_session(store)).id

    def look(tx: Transaction) -> list[bool]:
        find = tx.grants.find
        return [
            find(given.session, HERE, "run", "abc") == grant,
            find(given.session, HERE, "run", "abd") is None,
            find(given.session, HERE, "write", "abc") is None,
            find(given.session, THERE, "run", "abc") is None,
            find(other, HERE, "run", "abc") is None,
        ]

    assert all(await store.read(look))


async def test_the_same_call_is_allowed_once_and_the_last_decision_counts(
    store: Store, clock: Clock
) -> None:
    given = await draft(store)
    first = await add(store, given)
    await store.run(lambda tx: tx.grants.use(first.id))
    await store.run(lambda tx: tx.grants.use(first.id))
    (used,) = await store.read(lambda tx: tx.grants.list(given.session, HERE))
    assert used == replace(first, used=2)
    clock.now += 60
    later = replace(given, granted_by="telegram:8", until=clock.now + 5, files={"b.sh": "12"})
    again = await add(store, later)
    assert (again.granted_by, again.until, again.files, again.used) == (
        "telegram:8",
        later.until,
        {"b.sh": "12"},
        0,
    )
    assert await store.read(lambda tx: tx.grants.list(given.session, HERE)) == [again]


async def test_a_grant_is_revoked_where_it_stands_and_once(store: Store) -> None:
    given = await draft(store)
    first = await add(store, given)
    second = await add(store, replace(given, hash="def"))

    def revoke(tx: Transaction, number: int, address: str) -> Grant | None:
        return tx.grants.revoke(number, given.session, address)

    assert await store.run(partial(revoke, number=first.id, address=THERE)) is None
    assert await store.run(partial(revoke, number=first.id, address=HERE)) == first
    assert await store.run(partial(revoke, number=first.id, address=HERE)) is None
    assert await store.read(lambda tx: tx.grants.list(given.session, HERE)) == [second]
