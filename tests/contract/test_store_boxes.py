"""Inbox and outbox."""

import asyncio
from functools import partial

import pytest

from storage.errors import NotFound
from storage.news import Committed
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
    InboxRow,
    InboxState,
    OutboxDraft,
    OutboxRow,
    OutboxState,
    StoredFile,
)
from storage.store import Store, Transaction
from tests.support.stores import Clock, append, new_session, said


def arrival(key: str, cursor: str | None = None) -> Arrival:
    return Arrival(key, InboxKind.MESSAGE, "telegram:1", {"text": "hi 🌳"}, cursor=cursor)


async def receive(store: Store, *arrivals: Arrival) -> list[InboxRow | None]:
    return await store.run(lambda t: [t.inbox.receive(a) for a in arrivals])


async def received(store: Store, *arrivals: Arrival) -> list[InboxRow]:
    return [row for row in await receive(store, *arrivals) if row is not None]


async def test_what_arrives_is_open_until_it_is_finished(store: Store, clock: Clock) -> None:
    (row,) = await received(store, arrival("k1"))
    assert row == InboxRow(
        row.id,
        "k1",
        InboxKind.MESSAGE,
        "telegram:1",
        {"text": "hi 🌳"},
        None,
        None,
        InboxState.OPEN,
        clock.now,
    )
    assert await store.read(lambda t: t.inbox.get(row.id)) == row
    assert await store.read(lambda t: t.inbox.unfinished()) == [row]
    await store.run(lambda t: t.inbox.finish([row.id]))
    assert await store.read(lambda t: t.inbox.unfinished()) == []
    assert (await store.read(lambda t: t.inbox.get(row.id))).state is InboxState.DONE


async def test_the_second_arrival_with_a_key_is_not_stored(store: Store) -> None:
    first, again, other = await receive(store, arrival("k"), arrival("k"), arrival("other"))
    assert first is not None and again is None and other is not None
    assert await receive(store, arrival("k")) == [None]
    await store.run(lambda t: t.inbox.finish([first.id]))
    assert await receive(store, arrival("k")) == [None]
    assert await store.read(lambda t: t.inbox.unfinished()) == [other]


async def test_a_key_is_known_once_its_arrival_is_stored(store: Store) -> None:
    await receive(store, arrival("k1"))
    keys = ("k1", "k2")
    assert await store.read(lambda t: [t.inbox.seen(key) for key in keys]) == [True, False]


async def test_a_row_that_was_given_up_is_not_unfinished(store: Store) -> None:
    (row,) = await received(store, arrival("k1"))
    await store.run(lambda t: t.inbox.finish([row.id], InboxState.FAILED))
    assert await store.read(lambda t: t.inbox.unfinished()) == []
    assert (await store.read(lambda t: t.inbox.get(row.id))).state is InboxState.FAILED


async def test_the_same_update_delivered_many_times_at_once_is_stored_once(store: Store) -> None:
    rows = await asyncio.gather(*(receive(store, arrival("k")) for _ in range(20)))
    assert sum(row is not None for (row,) in rows) == 1
    assert len(await store.read(lambda t: t.inbox.unfinished())) == 1


async def test_a_cursor_is_kept_even_with_an_arrival_that_was_seen(store: Store) -> None:
    await receive(store, arrival("k", cursor="1"))
    assert await store.read(lambda t: dict(t.directory.cursors("telegram"))) == {"telegram:1": "1"}
    await receive(store, arrival("k", cursor="2"))
    assert await store.read(lambda t: dict(t.directory.cursors("telegram"))) == {"telegram:1": "2"}
    await receive(store, arrival("other"))
    assert await store.read(lambda t: dict(t.directory.cursors("telegram"))) == {"telegram:1": "2"}
    assert await store.read(lambda t: t.directory.conversation("telegram:1")) is None


async def test_unfinished_rows_come_oldest_first_of_one_session_or_all(store: Store) -> None:
    session = await new_session(store)
    other = await new_session(store)
    a, b, c, d = await received(store, *[arrival(key) for key in "abcd"])
    await store.run(lambda t: t.inbox.route(c.id, session.id))
    await store.run(lambda t: t.inbox.route(a.id, session.id))
    await store.run(lambda t: t.inbox.route(d.id, other.id))
    mine = await store.read(lambda t: t.inbox.unfinished(session.id))
    assert [row.id for row in mine] == [a.id, c.id]
    all_of_them = await store.read(lambda t: t.inbox.unfinished())
    assert [row.id for row in all_of_them] == [a.id, b.id, c.id, d.id]


async def test_a_row_knows_its_session_from_the_start_or_later_and_its_entry(store: Store) -> None:
    session = await new_session(store)
    (entry,) = await append(store, session.id, said("hi"))
    wake_up = Arrival(
        "resume:7", InboxKind.RESUME, "telegram:1", {"question": 7}, session=session.id
    )
    (row,) = await received(store, wake_up)
    assert row.session == session.id
    await store.run(lambda t: t.inbox.link(row.id, entry.id))
    assert (await store.read(lambda t: t.inbox.get(row.id))).entry == entry.id


async def test_many_rows_are_finished_at_once_and_none_is_no_matter(store: Store) -> None:
    a, b, c = await received(store, *[arrival(key) for key in "abc"])
    await store.run(lambda t: t.inbox.finish([]))
    await store.run(lambda t: t.inbox.finish([a.id, c.id, c.id]))
    assert await store.read(lambda t: t.inbox.unfinished()) == [b]


async def test_inbox_rows_refer_only_to_what_is_there(store: Store) -> None:
    session = await new_session(store)
    (row,) = await received(store, arrival("k"))
    for work in (
        lambda t: t.inbox.get(99),
        lambda t: t.inbox.route(99, session.id),
        lambda t: t.inbox.route(row.id, 99),
        lambda t: t.inbox.link(99, 1),
        lambda t: t.inbox.link(row.id, 99),
        lambda t: t.inbox.finish([row.id, 99]),
        lambda t: t.inbox.receive(Arrival("new", InboxKind.RESUME, "telegram:1", {}, session=99)),
    ):
        with pytest.raises(NotFound):
            await store.run(work)
    assert await store.read(lambda t: t.inbox.unfinished()) == [row]


async def test_a_parcel_is_pending_until_it_is_sent_or_failed(store: Store, clock: Clock) -> None:
    parcels = [OutboxDraft("telegram:1", "post", {"text": str(i)}) for i in range(3)]
    a, b, c = await store.run(lambda t: [t.outbox.enqueue(parcel) for parcel in parcels])
    assert a == OutboxRow(
        a.id,
        "telegram:1",
        "post",
        {"text": "0"},
        None,
        None,
        OutboxState.PENDING,
        None,
        "",
        clock.now,
    )
    assert await store.read(lambda t: t.outbox.pending()) == [a, b, c]
    await store.run(lambda t: t.outbox.sent(a.id, "m1"))
    await store.run(lambda t: t.outbox.failed(b.id, "refused"))
    assert await store.read(lambda t: t.outbox.pending()) == [c]
    sent = await store.read(lambda t: t.outbox.get(a.id))
    assert (sent.state, sent.message_id, sent.error) == (OutboxState.SENT, "m1", "")
    failed = await store.read(lambda t: t.outbox.get(b.id))
    assert (failed.state, failed.message_id, failed.error) == (OutboxState.FAILED, None, "refused")


async def test_the_first_of_each_conversation_are_pending_and_no_more(store: Store) -> None:
    chats = ("telegram:2", "telegram:1", "discord:1", "telegram:1/5")

    def fill(t: Transaction) -> list[tuple[str, int]]:
        rows = [t.outbox.enqueue(OutboxDraft(chats[n % 4], "post", {})) for n in range(40)]
        t.outbox.enqueue(OutboxDraft("telegram:3", "post", {}))
        t.outbox.sent(rows[0].id, None)
        t.outbox.failed(rows[5].id, "")
        return [(row.address, row.id) for row in rows if row.id not in (rows[0].id, rows[5].id)]

    waiting = await store.run(fill)
    found = await store.read(lambda t: t.outbox.pending(2))
    assert [row.id for row in found] == sorted(row.id for row in found)
    for chat in chats:
        first = [id_ for address, id_ in waiting if address == chat][:2]
        assert [row.id for row in found if row.address == chat] == first
    assert len(found) == 9
    assert [row.address for row in found].count("telegram:3") == 1


async def test_what_was_sent_links_its_message_to_its_entry(store: Store) -> None:
    session = await new_session(store)
    (entry,) = await append(store, session.id, said("hi"))

    async def send(address: str, of: int | None, message_id: str | None) -> None:
        parcel = OutboxDraft(address, "post", {}, entry=of)
        row = await store.run(lambda t: t.outbox.enqueue(parcel))
        await store.run(lambda t: t.outbox.sent(row.id, message_id))

    await send("telegram:1", entry.id, "m1")
    await send("telegram:1", None, "m2")
    await send("telegram:1", entry.id, None)
    links = [("telegram:1", "m1"), ("telegram:1", "m2"), ("telegram:2", "m1")]
    found = await store.read(lambda t: [t.outbox.linked_entry(*link) for link in links])
    assert found == [entry.id, None, None]


async def test_a_message_link_can_be_made_and_changed_by_hand(store: Store) -> None:
    session = await new_session(store)
    one, two = await append(store, session.id, said("1"), said("2"))
    for entry in (one, two):
        await store.run(lambda t, e=entry.id: t.outbox.link_message("discord:5", "m", e))  # type: ignore[misc]
        assert await store.read(lambda t: t.outbox.linked_entry("discord:5", "m")) == entry.id


async def test_an_edit_names_the_row_it_changes(store: Store) -> None:
    post = await store.run(lambda t: t.outbox.enqueue(OutboxDraft("telegram:1", "post", {})))
    edit = await store.run(
        lambda t: t.outbox.enqueue(OutboxDraft("telegram:1", "edit", {"text": "x"}, edits=post.id))
    )
    assert (await store.read(lambda t: t.outbox.get(edit.id))).edits == post.id


async def test_outbox_rows_refer_only_to_what_is_there(store: Store) -> None:
    for work in (
        lambda t: t.outbox.get(99),
        lambda t: t.outbox.sent(99, "m"),
        lambda t: t.outbox.failed(99, "no"),
        lambda t: t.outbox.link_message("telegram:1", "m", 99),
        lambda t: t.outbox.enqueue(OutboxDraft("telegram:1", "post", {}, entry=99)),
        lambda t: t.outbox.enqueue(OutboxDraft("telegram:1", "edit", {}, edits=99)),
    ):
        with pytest.raises(NotFound):
            await store.run(work)
    assert await store.read(lambda t: t.outbox.pending()) == []


async def test_who_watches_hears_of_what_was_put_into_the_outbox_and_of_nothing_else(
    store: Store,
) -> None:
    heard: asyncio.Queue[Committed] = asyncio.Queue()
    store.watch(heard.put_nowait)
    session = await new_session(store)
    await append(store, session.id, said("hi"))
    with pytest.raises(NotFound):
        await store.run(
            lambda t: (t.outbox.enqueue(OutboxDraft("a:1", "post", {})), t.tree.entry(99))
        )
    await store.run(lambda t: t.now)
    assert heard.empty()
    task = asyncio.create_task(
        store.run(lambda t: t.outbox.enqueue(OutboxDraft("telegram:1", "post", {})))
    )
    await asyncio.sleep(0)
    task.cancel()
    assert await heard.get() == Committed(frozenset(), outbox=True)
    assert len(await store.read(lambda t: t.outbox.pending())) == 1


async def test_who_watches_hears_which_sessions_got_rows_before_the_caller_goes_on(
    store: Store,
) -> None:
    heard: list[Committed] = []
    store.watch(heard.append)
    here, there = await new_session(store), await new_session(store)

    def arrive(tx: Transaction) -> None:
        for number, session in enumerate((here.id, here.id, None)):
            tx.inbox.receive(Arrival(f"k{number}", InboxKind.MESSAGE, "a:1", {}, session))
        row = tx.inbox.receive(Arrival("routed", InboxKind.MESSAGE, "a:1", {}))
        assert row is not None
        tx.inbox.route(row.id, there.id)

    await store.run(arrive)
    assert heard == [Committed(frozenset({here.id, there.id}), outbox=False)]
    for work in (
        lambda t: t.inbox.receive(Arrival("k0", InboxKind.MESSAGE, "a:1", {}, here.id)),
        lambda t: t.inbox.receive(Arrival("unrouted", InboxKind.MESSAGE, "a:1", {})),
        lambda t: t.inbox.finish([row.id for row in t.inbox.unfinished(there.id)]),
    ):
        await store.run(work)
    assert len(heard) == 1


async def test_what_fails_in_a_group_is_not_told_and_the_rest_of_the_group_is(
    store: Store,
) -> None:
    heard: list[Committed] = []
    store.watch(heard.append)
    sessions = [await new_session(store) for _ in range(4)]

    def arrive(tx: Transaction, session: int, *, fails: bool) -> None:
        tx.inbox.receive(Arrival(f"k{session}", InboxKind.MESSAGE, "a:1", {}, session))
        if fails:
            tx.tree.entry(99)

    works = [
        store.run(partial(arrive, session=session.id, fails=number == 1))
        for number, session in enumerate(sessions)
    ]
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    assert [isinstance(one, NotFound) for one in outcomes] == [False, True, False, False]
    told = frozenset[int]().union(*(one.sessions for one in heard))
    assert told == {session.id for session in sessions} - {sessions[1].id}


async def test_a_parcels_file_is_kept_with_it_and_named_in_its_payload(store: Store) -> None:
    file = StoredFile("answer.md", b"all of it")
    parcel = OutboxDraft("telegram:1", "post", {"body": {}, "file": None}, file=file)
    row = await store.run(lambda tx: tx.outbox.enqueue(parcel))
    (pending,) = await store.read(lambda tx: tx.outbox.pending())
    assert pending.payload == row.payload
    number = row.payload["file"]
    assert await store.read(lambda tx: tx.outbox.kept(number)) == file
