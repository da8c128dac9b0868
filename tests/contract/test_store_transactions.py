"""What run and read promise, whatever the work is."""

import asyncio

import pytest

from storage.errors import NotFound, StoreError, StoreUnavailable
from storage.records.buttons import ButtonRow, Decide
from storage.records.delegations import DelegationDraft
from storage.records.entries import Draft, ImportedEntry, Kind, SessionDraft, SessionKind, Usage
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft
from storage.records.questions import Choice, QuestionDraft, QuestionState
from storage.store import Store, Transaction
from tests.support.stores import Clock, append, new_session, path_of, said, texts


def _write_everything(t: Transaction, session: int) -> None:
    """Touch every table, rows that were there and new ones."""
    entry = t.tree.append(session, said("more"), after=t.tree.session(session).leaf)
    t.tree.claim(session)
    t.tree.move_leaf(session, None, after=entry.id, by="me")
    t.tree.create(SessionDraft(SessionKind.CHAT))
    row = t.inbox.receive(Arrival("key 2", InboxKind.MESSAGE, "telegram:1", {}, cursor="8"))
    assert row is not None
    t.inbox.route(row.id, session)
    t.inbox.finish([1])
    parcel = t.outbox.enqueue(OutboxDraft("telegram:1", "post", {}, entry=entry.id))
    t.outbox.sent(parcel.id, "m2")
    t.outbox.failed(1, "no")
    question = t.questions.create(
        QuestionDraft("escalation", "?", (Choice("a", "A"),), session, "telegram:1", {})
    )
    t.questions.close(1, QuestionState.DECIDED, choice="a")
    t.questions.reach_level(1, 1)
    t.questions.add_post(question.id, "telegram:1", parcel.id)
    action = Decide(question.id, "a")
    t.buttons.put(ButtonRow("token", "telegram:1", parcel.id, "A", action))
    t.delegations.update(1, state="completed", usage=Usage(1, 1, 1, 1.0))
    t.delegations.create(
        DelegationDraft(session, "c", entry.id, 0, session, session, "telegram:1", "goal", "m")
    )
    t.directory.bind("telegram:1", session)
    t.directory.bind("telegram:2", session)
    t.directory.greet("telegram:1", "new name")
    t.directory.greet("telegram:9", "somebody")
    t.directory.audit("press", "telegram:1", {})
    t.directory.set_fact("known", 2)
    t.directory.set_fact("new", 1)


def _everything(t: Transaction, session: int) -> list[object]:
    return [
        t.tree.session(session),
        t.tree.path(1),
        t.tree.leaf_moves(session),
        t.inbox.unfinished(),
        t.outbox.pending(),
        t.outbox.linked_entry("telegram:1", "m2"),
        t.questions.open(),
        t.questions.get(1),
        t.questions.posts(1),
        t.buttons.get("token"),
        t.delegations.recent(session),
        t.directory.conversation("telegram:1"),
        t.directory.addresses(session),
        t.directory.cursors("telegram"),
        t.directory.audits(),
        t.directory.fact("known"),
        t.directory.fact("new"),
    ]


async def _some_rows(store: Store) -> int:
    session = await new_session(store)
    (entry,) = await append(store, session.id, said("first"))

    def work(t: Transaction) -> None:
        t.inbox.receive(Arrival("key 1", InboxKind.MESSAGE, "telegram:1", {}, cursor="7"))
        t.outbox.enqueue(OutboxDraft("telegram:1", "post", {}))
        t.questions.create(
            QuestionDraft("escalation", "?", (Choice("a", "A"),), session.id, "telegram:1", {})
        )
        t.delegations.create(
            DelegationDraft(
                session.id, "c", entry.id, 0, session.id, session.id, "telegram:1", "goal", "m"
            )
        )
        t.directory.greet("telegram:1", "name")
        t.directory.set_fact("known", 1)

    await store.run(work)
    return session.id


class _Boom(Exception):
    pass


async def test_work_that_raises_leaves_nothing_behind(store: Store) -> None:
    session = await _some_rows(store)
    before = await store.read(lambda t: _everything(t, session))

    def work(t: Transaction) -> None:
        _write_everything(t, session)
        raise _Boom

    with pytest.raises(_Boom):
        await store.run(work)
    assert await store.read(lambda t: _everything(t, session)) == before
    with pytest.raises(NotFound):
        await store.read(lambda t: t.tree.session(session + 1))
    assert await store.run(lambda t: t.directory.greet("telegram:9", "somebody"))
    await store.run(
        lambda t: t.inbox.receive(Arrival("key 2", InboxKind.MESSAGE, "telegram:1", {}))
    )
    assert len(await store.read(lambda t: t.inbox.unfinished())) == 2


async def test_the_same_work_that_does_not_raise_changes_all_of_it(store: Store) -> None:
    session = await _some_rows(store)
    before = await store.read(lambda t: _everything(t, session))
    await store.run(lambda t: _write_everything(t, session))
    after = await store.read(lambda t: _everything(t, session))
    unchanged = [old for old, new in zip(before, after, strict=True) if old == new]
    assert unchanged == [before[1], before[8]]  # the old path, and the posts of the old question


async def test_work_sees_what_it_wrote_itself(store: Store) -> None:
    session = await new_session(store)

    def work(t: Transaction) -> list[str]:
        entry = t.tree.append(session.id, said("mine"), after=None)
        return texts(t.tree.path(entry.id))

    assert await store.run(work) == ["mine"]


async def test_a_read_after_a_run_sees_what_it_committed(store: Store) -> None:
    session = await new_session(store)
    for number in range(1, 21):
        await append(store, session.id, said(str(number)))
        assert len(await path_of(store, session.id)) == number


async def test_reading_work_may_not_write(store: Store) -> None:
    session = await new_session(store)
    with pytest.raises(StoreError):
        await store.read(lambda t: t.tree.append(session.id, said("no"), after=None))
    assert await path_of(store, session.id) == ()


async def test_time_stands_still_within_a_transaction(store: Store, clock: Clock) -> None:
    def work(t: Transaction) -> tuple[float, float]:
        before = t.now
        clock.now += 60
        return before, t.now

    assert await store.run(work) == (1_000.0, 1_000.0)
    assert await store.read(work) == (1_060.0, 1_060.0)


async def test_a_caller_that_is_cancelled_after_run_began_has_written_all_the_same(
    store: Store,
) -> None:
    session = await new_session(store)
    task = asyncio.create_task(append(store, session.id, said("still here")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Jobs are done in order, so this one comes after.
    await append(store, session.id, said("next"))
    assert texts(await path_of(store, session.id)) == ["still here", "next"]


async def test_jobs_are_done_in_the_order_they_were_given(store: Store) -> None:
    session = await new_session(store)
    await asyncio.gather(*(append(store, session.id, said(str(i))) for i in range(100)))
    assert texts(await path_of(store, session.id)) == [str(i) for i in range(100)]


async def test_work_that_ends_in_stop_iteration_harms_nobody(store: Store) -> None:
    session = await new_session(store)
    results = await asyncio.gather(
        store.run(lambda t: next(iter(()))),
        append(store, session.id, said("mine")),
        return_exceptions=True,
    )
    assert isinstance(results[0], RuntimeError)
    assert texts(await path_of(store, session.id)) == ["mine"]


async def test_text_that_no_database_can_hold_is_kept_as_well_as_can_be(store: Store) -> None:
    """NUL, and half of a surrogate pair. In JSON they come back as they were."""
    bad, good = "a\0b\ud800c", "a\ufffdb?c"
    session = await new_session(store, bad)
    assert session.title == good
    body = {"role": "user", "content": bad, bad: [bad]}
    (entry,) = await append(store, session.id, Draft(Kind.MESSAGE, body, author=bad))
    found = await store.read(lambda t: t.tree.entry(entry.id))
    assert (found.body, found.author) == (body, good)
    arrival = Arrival(bad, InboxKind.MESSAGE, f"telegram:{bad}", {"text": bad}, cursor=bad)
    assert await store.run(lambda t: t.inbox.receive(arrival)) is not None
    assert await store.run(lambda t: t.inbox.receive(arrival)) is None
    (row,) = await store.read(lambda t: t.inbox.unfinished())
    assert (row.key, row.payload) == (good, {"text": bad})
    assert await store.run(lambda t: t.directory.greet(bad, bad))
    assert not await store.run(lambda t: t.directory.greet(bad, bad))
    draft = QuestionDraft("clarify", bad, (Choice(bad, bad),), session.id, bad, {"x": bad})
    question = await store.run(lambda t: t.questions.create(draft))
    assert (question.text, question.subject, question.choices) == (good, {"x": bad}, draft.choices)
    planted = [ImportedEntry(Draft(Kind.MESSAGE, body, author=bad), None, original=bad)]
    other = await new_session(store)
    (id_,) = await store.run(lambda t: t.tree.plant(other.id, planted, 0))
    assert (await store.read(lambda t: t.tree.entry(id_))).body == body
    assert await store.read(lambda t: t.tree.originals(other.id)) == {id_: good}


async def test_a_closed_store_says_so_and_can_be_closed_again(store: Store) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.run(lambda t: t.now)
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.read(lambda t: t.now)
