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


async def test_the_same_call_is_allowed_once_however_often_it_is_allowed(store: Store) -> None:
    given = await draft(store)
    first = await add(store, given)
    again = await add(store, replace(given, granted_by="telegram:8", shown="other"))
    assert again == first
    assert await store.read(lambda tx: tx.grants.list(given.session, HERE)) == [first]


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
