"""Conversations, people, audit, facts."""

from typing import Any

import pytest

from storage.errors import NotFound
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
    Thread,
)
from storage.store import Store
from tests.support.stores import Clock, new_session


async def test_a_conversation_is_in_the_session_it_was_bound_to_last(store: Store) -> None:
    one, two = await new_session(store), await new_session(store)
    assert await store.read(lambda t: t.directory.conversation("telegram:1")) is None
    await store.run(lambda t: t.directory.bind("telegram:1", one.id))
    assert await store.read(lambda t: t.directory.conversation("telegram:1")) == one.id
    await store.run(lambda t: t.directory.bind("telegram:1", two.id))
    assert await store.read(lambda t: t.directory.conversation("telegram:1")) == two.id
    with pytest.raises(NotFound):
        await store.run(lambda t: t.directory.bind("telegram:1", 99))
    assert await store.read(lambda t: t.directory.conversation("telegram:1")) == two.id


async def test_several_conversations_may_share_a_session(store: Store) -> None:
    session, other = await new_session(store), await new_session(store)
    for address in ("telegram:-5/7", "discord:42", "telegram:1"):
        await store.run(lambda t, a=address: t.directory.bind(a, session.id))  # type: ignore[misc]
    await store.run(lambda t: t.directory.bind("telegram:2", other.id))
    assert await store.read(lambda t: t.directory.addresses(session.id)) == [
        "discord:42",
        "telegram:-5/7",
        "telegram:1",
    ]
    assert await store.read(lambda t: t.directory.addresses(99)) == []


async def test_cursors_are_those_of_one_platform_and_survive_a_binding(store: Store) -> None:
    session = await new_session(store)
    for address, cursor in (("discord:1", "a"), ("discord:2/3", "b"), ("discordia:1", "c")):
        arrival = Arrival(address, InboxKind.MESSAGE, address, {}, cursor=cursor)
        await store.run(lambda t, a=arrival: t.inbox.receive(a))  # type: ignore[misc]
    await store.run(lambda t: t.directory.bind("discord:1", session.id))
    await store.run(lambda t: t.directory.bind("discord:9", session.id))
    cursors = await store.read(lambda t: dict(t.directory.cursors("discord")))
    assert cursors == {"discord:1": "a", "discord:2/3": "b"}
    assert await store.read(lambda t: t.directory.conversation("discord:1")) == session.id


async def test_a_person_is_new_once(store: Store) -> None:
    async def greet(identity: str, name: str) -> bool:
        return await store.run(lambda t: t.directory.greet(identity, name))

    greeted = [
        await greet("telegram:1", "Ann"),
        await greet("telegram:1", "Ann B."),
        await greet("discord:1", "Ann"),
    ]
    assert greeted == [True, False, True]


async def test_audits_come_oldest_first_all_or_of_one_kind(store: Store, clock: Clock) -> None:
    await store.run(lambda t: t.directory.audit("press", "telegram:1", {"choice": "stop"}))
    clock.now += 1
    await store.run(lambda t: t.directory.audit("stranger", "telegram:9", {}))
    await store.run(lambda t: t.directory.audit("press", "telegram:2", {"choice": "go"}))
    presses = [
        ("press", "telegram:1", {"choice": "stop"}, 1_000.0),
        ("press", "telegram:2", {"choice": "go"}, 1_001.0),
    ]
    assert await store.read(lambda t: t.directory.audits("press")) == presses
    assert len(await store.read(lambda t: t.directory.audits())) == 3
    assert await store.read(lambda t: t.directory.audits("nothing")) == []


@pytest.mark.parametrize("value", [{"a": [1, None]}, [], "text", 0, 1.5, False, None])
async def test_a_fact_is_any_json_value(store: Store, value: Any) -> None:
    assert await store.read(lambda t: t.directory.fact("name")) is None
    await store.run(lambda t: t.directory.set_fact("name", "before"))
    await store.run(lambda t: t.directory.set_fact("name", value))
    assert await store.read(lambda t: t.directory.fact("name")) == value


async def test_of_which_channel_a_conversation_is_a_thread_is_noted_once(store: Store) -> None:
    one, other = Thread("discord:1", opened=True), Thread("discord:2")
    assert await store.read(lambda t: t.directory.threads()) == {}
    assert await store.run(lambda t: t.directory.note_thread("discord:7", one))
    assert not await store.run(lambda t: t.directory.note_thread("discord:7", other))
    assert await store.run(lambda t: t.directory.note_thread("discord:8", other))
    assert await store.read(lambda t: t.directory.threads()) == {
        "discord:7": one,
        "discord:8": other,
    }
    await store.run(lambda t: t.directory.refuse_thread("discord:7"))
    await store.run(lambda t: t.directory.refuse_thread("discord:9"))
    found = await store.read(lambda t: t.directory.threads())
    assert found == {
        "discord:7": Thread("discord:1", opened=True, refused=True),
        "discord:8": other,
    }
