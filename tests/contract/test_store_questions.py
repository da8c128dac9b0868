"""Questions and their copies."""

import asyncio
from dataclasses import replace

import pytest

from storage.errors import NotFound
from storage.records.inbox_outbox import OutboxDraft
from storage.records.questions import (
    WORDS,
    Choice,
    Question,
    QuestionDraft,
    QuestionPost,
    QuestionState,
)
from storage.store import Store, Transaction
from tests.support.stores import Clock, new_session

CHOICES = (Choice("retry", "Try again 🌳", "primary"), Choice("stop", "Stop", "danger"))


def draft(session: int) -> QuestionDraft:
    return QuestionDraft(
        kind="escalation",
        text="**Deploy?**",
        choices=CHOICES,
        session=session,
        address="telegram:1",
        subject={"delegation": 7},
        expires=2_000.0,
    )


async def ask(store: Store) -> Question:
    session = await new_session(store)
    return await store.run(lambda t: t.questions.create(draft(session.id)))


async def post(store: Store, question: Question, address: str) -> QuestionPost:
    return await store.run(
        lambda t: t.questions.add_post(
            question.id, address, t.outbox.enqueue(OutboxDraft(address, "post", {})).id
        )
    )


async def test_a_new_question_is_open_and_undecided(store: Store, clock: Clock) -> None:
    question = await ask(store)
    assert question == Question(
        id=question.id,
        kind="escalation",
        text="**Deploy?**",
        choices=CHOICES,
        session=question.session,
        address="telegram:1",
        subject={"delegation": 7},
        expires=2_000.0,
        created=clock.now,
        state=QuestionState.OPEN,
        level=0,
        choice=None,
        decided_by="",
        decided_name="",
        decided_at=None,
    )
    assert await store.read(lambda t: t.questions.get(question.id)) == question


async def test_open_questions_come_oldest_first_of_one_session_or_all(store: Store) -> None:
    a, b, c = await ask(store), await ask(store), await ask(store)
    await store.run(lambda t: t.questions.close(b.id, QuestionState.WITHDRAWN))
    assert await store.read(lambda t: t.questions.open()) == [a, c]
    assert await store.read(lambda t: t.questions.open(c.session)) == [c]
    assert await store.read(lambda t: t.questions.open(b.session)) == []


async def test_a_decision_keeps_who_what_and_when(store: Store, clock: Clock) -> None:
    question = await ask(store)
    clock.now += 60
    assert await store.run(
        lambda t: t.questions.close(
            question.id, QuestionState.DECIDED, choice="stop", by="telegram:1", name="Ann"
        )
    )
    decided = await store.read(lambda t: t.questions.get(question.id))
    assert decided.state is QuestionState.DECIDED
    assert (decided.choice, decided.decided_by, decided.decided_name, decided.decided_at) == (
        "stop",
        "telegram:1",
        "Ann",
        1_060.0,
    )


@pytest.mark.parametrize(
    "first", [QuestionState.DECIDED, QuestionState.EXPIRED, QuestionState.WITHDRAWN]
)
async def test_what_is_closed_stays_as_it_was_closed(store: Store, first: QuestionState) -> None:
    question = await ask(store)
    assert await store.run(lambda t: t.questions.close(question.id, first, by="telegram:1"))
    closed = await store.read(lambda t: t.questions.get(question.id))
    for state in (QuestionState.DECIDED, QuestionState.EXPIRED, QuestionState.WITHDRAWN):

        async def close_again(state: QuestionState = state) -> bool:
            return await store.run(
                lambda t: t.questions.close(question.id, state, choice="stop", by="telegram:2")
            )

        assert not await close_again()
    assert await store.read(lambda t: t.questions.get(question.id)) == closed


async def test_of_twenty_presses_at_once_one_decides(store: Store) -> None:
    question = await ask(store)

    async def press(who: str) -> bool:
        return await store.run(
            lambda t: t.questions.close(question.id, QuestionState.DECIDED, choice="stop", by=who)
        )

    decided = await asyncio.gather(*(press(str(i)) for i in range(20)))
    assert decided.count(True) == 1
    winner = (await store.read(lambda t: t.questions.get(question.id))).decided_by
    assert winner == str(decided.index(True))


async def test_a_question_cannot_be_closed_into_being_open(store: Store) -> None:
    question = await ask(store)
    with pytest.raises(ValueError, match="open"):
        await store.run(lambda t: t.questions.close(question.id, QuestionState.OPEN))


async def test_a_level_is_reached_once_and_in_order(store: Store) -> None:
    question = await ask(store)

    def reach(level: int) -> "asyncio.Future[bool]":
        return asyncio.ensure_future(
            store.run(lambda t: t.questions.reach_level(question.id, level))
        )

    reached = [await reach(level) for level in (2, 1, 1, 2, 2, 4)]
    assert reached == [False, True, False, True, False, False]
    assert (await store.read(lambda t: t.questions.get(question.id))).level == 2


async def test_copies_come_in_the_order_they_were_posted(store: Store) -> None:
    question, other = await ask(store), await ask(store)
    a = await post(store, question, "telegram:1")
    await post(store, other, "telegram:1")
    b = await post(store, question, "discord:2")
    assert await store.read(lambda t: t.questions.posts(question.id)) == [a, b]
    assert (a.question, a.address) == (question.id, "telegram:1")


async def test_questions_refer_only_to_what_is_there(store: Store) -> None:
    question = await ask(store)
    for work in (
        lambda t: t.questions.create(draft(99)),
        lambda t: t.questions.get(99),
        lambda t: t.questions.close(99, QuestionState.EXPIRED),
        lambda t: t.questions.reach_level(99, 1),
        lambda t: t.questions.add_post(question.id, "telegram:1", 99),
        lambda t: t.questions.add_post(
            99, "telegram:1", t.outbox.enqueue(OutboxDraft("telegram:1", "post", {})).id
        ),
    ):
        with pytest.raises(NotFound):
            await store.run(work)
    assert await store.read(lambda t: t.questions.open()) == [question]


async def test_an_answer_in_words_keeps_them(store: Store) -> None:
    question = await ask(store)
    words, decided = "Look in the attic 🌳", QuestionState.DECIDED
    close = {"choice": WORDS, "by": "telegram:1", "name": "Ann", "words": words}
    assert await store.run(lambda t: t.questions.close(question.id, decided, **close))
    again = {**close, "words": "or not"}
    assert not await store.run(lambda t: t.questions.close(question.id, decided, **again))
    assert (await store.read(lambda t: t.questions.get(question.id))).words == words


async def test_a_question_is_found_by_the_message_of_a_copy_or_a_prompt(store: Store) -> None:
    question, other = await ask(store), await ask(store)
    copy = await post(store, question, "telegram:1")
    row = await store.run(lambda t: t.outbox.enqueue(OutboxDraft("telegram:1", "post", {})))
    prompt = await store.run(
        lambda t: t.questions.add_post(other.id, "telegram:1", row.id, prompt=True)
    )
    assert [p.prompt for p in await store.read(lambda t: t.questions.posts(other.id))] == [True]
    assert await store.read(lambda t: t.questions.posted(["telegram:1"], "m1")) is None
    await store.run(lambda t: t.outbox.sent(copy.outbox, "m1"))
    await store.run(lambda t: t.outbox.sent(prompt.outbox, "m2"))
    places = ["telegram:user:1", "telegram:1"]
    assert await store.read(lambda t: t.questions.posted(places, "m1")) == question.id
    assert await store.read(lambda t: t.questions.posted(places, "m2")) == other.id
    assert await store.read(lambda t: t.questions.posted(["telegram:2"], "m1")) is None


async def test_only_questions_whose_time_has_come_are_timed(store: Store, clock: Clock) -> None:
    session = (await new_session(store)).id

    def create(tx: Transaction, expires: float | None, level: int) -> int:
        made = tx.questions.create(replace(draft(session), expires=expires)).id
        for reached in range(level):
            tx.questions.reach_level(made, reached + 1)
        return made

    async def made(expires: float | None, level: int = 0) -> int:
        return await store.run(lambda tx: create(tx, expires, level))

    now = clock.now
    expired, closed = await made(now - 1), await made(now - 1)
    await made(now + 60)
    first, second, _beyond = await made(None), await made(None, 1), await made(None, 2)
    await store.run(lambda tx: tx.questions.close(closed, QuestionState.WITHDRAWN))

    async def timed(*begun: float) -> list[int]:
        found = await store.read(lambda tx: tx.questions.timed(now, begun))
        return [question.id for question in found]

    assert await timed() == [expired]
    assert first in await timed(now)
    assert await timed(now - 1, now) == [expired, second]


async def test_the_next_time_of_questions_is_the_first_after_now_of_one_that_is_open(
    store: Store, clock: Clock
) -> None:
    session = (await new_session(store)).id

    async def made(expires: float | None, level: int = 0) -> int:
        def work(tx: Transaction) -> int:
            question = tx.questions.create(replace(draft(session), expires=expires)).id
            for reached in range(level):
                tx.questions.reach_level(question, reached + 1)
            return question

        return await store.run(work)

    async def next_(*delays: float) -> float | None:
        return await store.read(lambda tx: tx.questions.next_timed(now, delays))

    now = clock.now
    assert await next_(1, 2) is None
    closed = await made(now + 5)
    await store.run(lambda tx: tx.questions.close(closed, QuestionState.WITHDRAWN))
    await made(now - 1), await made(now), await made(now + 60)
    assert await next_() == now + 60
    await made(None, level=1)
    assert await next_(90, 30) == now + 30
    assert await next_(20, 30) == now + 20
    assert await next_(0, 0) == now + 60, "what is due already is not to come"
