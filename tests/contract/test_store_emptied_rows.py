"""What is left of rows of the inbox and the outbox once they are done."""

import sqlite3
from contextlib import closing
from pathlib import Path

from storage.records.buttons import ButtonRow, RunCommand
from storage.records.chats.live_messages import LiveKind, LiveMessage
from storage.records.inbox_outbox import Arrival, InboxKind, InboxState, OutboxDraft
from storage.records.questions import QuestionDraft
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.contract.test_store_boxes import arrival, received
from tests.support.stores import new_session


async def test_what_came_is_kept_until_it_is_done_and_longer_where_it_is_held_or_failed(
    store: Store,
) -> None:
    rows = await received(store, *[arrival(key) for key in ("done", "more", "held", "failed")])
    done, more, held, failed = rows

    def end(t: Transaction) -> None:
        t.inbox.finish([done.id])
        t.inbox.hold(held)
        t.inbox.finish([more.id, held.id])
        t.inbox.finish([failed.id], InboxState.FAILED)

    await store.run(end)
    left = await store.read(lambda t: [t.inbox.get(row.id).payload for row in rows])
    assert left == [{}, {}, held.payload, failed.payload]


async def test_a_row_that_is_held_after_it_was_done_has_what_came_again(store: Store) -> None:
    (row,) = await received(store, arrival("k"))
    await store.run(lambda t: t.inbox.finish([row.id]))
    await store.run(lambda t: t.inbox.hold(row))
    await store.run(lambda t: t.inbox.finish([row.id]))
    assert (await store.read(lambda t: t.inbox.get(row.id))).payload == row.payload


async def test_what_somebody_called_themselves_last_is_known_when_it_is_worked_off(
    store: Store,
) -> None:
    session = await new_session(store)

    def say(t: Transaction) -> None:
        for number, name in enumerate(("Ann", "Anna", "")):
            user = {"platform": "telegram", "id": "7" if name else "8", "name": name}
            payload = {"user": user, "text": "hi"}
            key, at = f"k{number}", session.id
            row = t.inbox.receive(Arrival(key, InboxKind.MESSAGE, "telegram:1", payload, at))
            assert row is not None
            t.inbox.finish([row.id])

    await store.run(say)
    names = await store.read(
        lambda t: [t.inbox.name_in(session.id, f"telegram:{who}") for who in "789"]
    )
    assert names == ["Anna", "", ""]


async def test_what_was_sent_is_kept_where_something_hangs_on_the_message(store: Store) -> None:
    session = await new_session(store)
    (arrived,) = await received(store, arrival("k"))

    def post(t: Transaction) -> list[int]:
        parcels = [OutboxDraft("telegram:1", "post", {"text": str(n)}) for n in range(5)]
        plain, pressed, asked, live, failed = (t.outbox.enqueue(each).id for each in parcels)
        t.buttons.put(ButtonRow("token", "telegram:1", pressed, "Go", RunCommand("help")))
        asks = QuestionDraft("clarify", "?", (), session.id, "telegram:1", {})
        t.questions.add_post(t.questions.create(asks).id, "telegram:1", asked)
        t.live_messages.put(LiveMessage(live, arrived.id, LiveKind.ANSWER))
        for row in (plain, pressed, asked, live):
            t.outbox.sent(row, f"m{row}")
        t.outbox.failed(failed, "refused")
        return [plain, pressed, asked, live, failed]

    rows = await store.run(post)
    left = await store.read(lambda t: [t.outbox.get(row).payload for row in rows])
    assert left == [{}, {"text": "1"}, {"text": "2"}, {"text": "3"}, {"text": "4"}]


async def test_rows_that_are_emptied_leave_no_empty_room_in_a_file(tmp_path: Path) -> None:
    store = await SqlStore.open(f"sqlite:///{tmp_path / 'bough.db'}")
    rows, words = range(400), {"text": "x" * 1_000}
    arrivals = [Arrival(str(row), InboxKind.MESSAGE, "telegram:1", words) for row in rows]
    came = await received(store, *arrivals)
    parcel = OutboxDraft("telegram:1", "post", words)
    went = await store.run(lambda t: [t.outbox.enqueue(parcel) for _ in rows])

    def end(t: Transaction) -> None:
        for row in came:
            t.inbox.finish([row.id])
        for post in went:
            t.outbox.sent(post.id, None)

    await store.run(end)
    await store.close()
    with closing(sqlite3.connect(tmp_path / "bough.db")) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    assert free > (pages - free)
