"""How turns that begin by themselves are counted, with rows that never become an entry."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.access.quota import Quota
from gateway.configuration.config import LimitsConfig
from gateway.outbound.composer import Composer
from gateway.turns.policy.unasked import MOST, UnaskedTurns, waits
from storage.records.entries import SessionDraft, SessionKind, Unasked
from storage.records.inbox_outbox import Arrival, InboxKind, InboxRow
from storage.records.questions import Choice, QuestionDraft, QuestionState
from storage.sql.store import SqlStore
from storage.store import Transaction

TURNS = UnaskedTurns(lambda: Quota(LimitsConfig()), Composer({}))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    yield store
    await store.close()


def closed(tx: Transaction, session: int, state: QuestionState) -> InboxRow:
    """The row with which a session goes on after a question was closed."""
    draft = QuestionDraft(
        kind="clarify",
        text="?",
        choices=(Choice("a", "A"),),
        session=session,
        address="telegram:1",
        subject={"call_entry": 1, "call_id": "c", "person": "telegram:1"},
    )
    question = tx.questions.create(draft)
    tx.questions.close(question.id, state, choice="a", by="telegram:1")
    payload = {"question": question.id}
    key = f"resume:{question.id}"
    row = tx.inbox.receive(Arrival(key, InboxKind.RESUME, "telegram:1", payload, session))
    assert row is not None
    return row


def begins(tx: Transaction, session: int, row: InboxRow) -> Unasked | None:
    TURNS.begins(tx, session, row, tx.tree.session(session).unasked)
    return tx.tree.session(session).unasked


async def test_a_question_whose_time_is_over_counts_once_however_often_it_is_begun(
    store: SqlStore,
) -> None:
    def work(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        row = closed(tx, session, QuestionState.EXPIRED)
        for _ in range(3):
            assert begins(tx, session, row) == Unasked(1, row.id)
        other = closed(tx, session, QuestionState.EXPIRED)
        assert begins(tx, session, other) == Unasked(2, other.id)

    await store.run(work)


async def test_a_decision_is_a_persons_word(store: SqlStore) -> None:
    def work(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        begins(tx, session, closed(tx, session, QuestionState.EXPIRED))
        tx.tree.note_unasked(session, Unasked(MOST, 0, "stopped"))
        row = closed(tx, session, QuestionState.DECIDED)
        assert row in TURNS.ready(tx, session, tx.inbox.unfinished(session))
        assert not waits(tx, row)
        assert begins(tx, session, row) is None

    await store.run(work)


async def test_what_was_begun_before_it_stopped_goes_on(store: SqlStore) -> None:
    def work(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        last = closed(tx, session, QuestionState.EXPIRED)
        tx.tree.note_unasked(session, Unasked(MOST, last.id, "stopped"))
        next_ = closed(tx, session, QuestionState.EXPIRED)
        assert TURNS.ready(tx, session, tx.inbox.unfinished(session)) == [last]
        assert waits(tx, next_)
        assert not waits(tx, last)

    await store.run(work)
