"""The calls of a path that wait for people, found without reading all of it."""

import pytest

from agent.runtime import waiting_calls
from agent.runtime.next_step import suspended_calls
from agent.runtime.waiting_calls import waiting_on
from storage.records.entries import Draft, Entry, Kind, message
from storage.records.record_entries import SuspendedCall, TurnStopped, record_draft
from storage.store import Store, Transaction
from tests.support.stores import append, compaction, new_session, said

Waiting = dict[tuple[int, str], int]
LOOK = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLS = Draft(Kind.MESSAGE, message("assistant", None, tool_calls=[LOOK, LOOK | {"id": "b"}]))


def suspended(caller: int, call: str, question: int = 7) -> Draft:
    return record_draft(SuspendedCall(call, caller, question))


def result(caller: int, call: str) -> Draft:
    return Draft(Kind.MESSAGE, message("tool", "seen", tool_call_id=call, call_entry=caller))


async def found(store: Store, leaf: Entry | None) -> Waiting:
    """It is what the whole context says."""

    def work(tx: Transaction) -> Waiting:
        id_ = None if leaf is None else leaf.id
        waiting = waiting_on(tx, id_)
        assert waiting == suspended_calls(tx.tree.context_path(id_))
        return waiting

    return await store.read(work)


async def calling(store: Store, session: int) -> Entry:
    *_, caller = await append(store, session, said("hi"), CALLS)
    return caller


async def test_on_an_empty_path_and_where_nothing_waits_there_are_none(store: Store) -> None:
    session = (await new_session(store)).id
    assert await found(store, None) == {}
    *_, last = await append(store, session, said("hi"), record_draft(TurnStopped()))
    assert await found(store, last) == {}


async def test_what_has_a_result_waits_no_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_calls, "_AT_ONCE", 1)
    session = (await new_session(store)).id
    caller = (await calling(store, session)).id
    *_, both = await append(store, session, suspended(caller, "a"), suspended(caller, "b", 8))
    assert await found(store, both) == {(caller, "a"): 7, (caller, "b"): 8}
    *_, last = await append(store, session, said("so?"), result(caller, "a"), said("and?"))
    assert await found(store, last) == {(caller, "b"): 8}
    assert await found(store, both) == {(caller, "a"): 7, (caller, "b"): 8}


async def test_another_branch_has_its_own(store: Store) -> None:
    session = (await new_session(store)).id
    caller = await calling(store, session)
    *_, answered = await append(store, session, suspended(caller.id, "a"), result(caller.id, "a"))
    await store.run(lambda tx: tx.tree.move_leaf(session, caller.id, after=answered.id, by=""))
    *_, waits = await append(store, session, suspended(caller.id, "a", 9))
    assert await found(store, waits) == {(caller.id, "a"): 9}
    assert await found(store, answered) == {}


async def test_only_what_a_compaction_kept_is_looked_at(store: Store) -> None:
    session = (await new_session(store)).id
    caller = (await calling(store, session)).id
    _, later = await append(store, session, suspended(caller, "a"), said("so?"))
    *_, kept = await append(store, session, compaction(caller), said("new"))
    assert await found(store, kept) == {(caller, "a"): 7}
    for first in (later.id, 1_000_000, 0, -1):
        *_, cut = await append(store, session, compaction(first), said("newer"))
        assert await found(store, cut) == {}


async def test_a_fork_has_those_of_the_path_it_begins_with(store: Store) -> None:
    source = (await new_session(store)).id
    caller = (await calling(store, source)).id
    *_, last = await append(store, source, suspended(caller, "a"), suspended(caller, "b"))
    fork = (await new_session(store)).id
    await store.run(lambda tx: tx.tree.move_leaf(fork, last.id, after=None, by=""))
    *_, own = await append(store, fork, result(caller, "a"))
    assert await found(store, own) == {(caller, "b"): 7}
