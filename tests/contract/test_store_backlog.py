"""What waits, as it is counted, and what commits tell of themselves to be counted."""

import asyncio
from dataclasses import replace

import pytest

from storage.errors import NotFound
from storage.news import Committed
from storage.records.delegations import DelegationDraft
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, Usage, message
from storage.records.figures.backlog import MOST_COUNTED, OTHER, Backlog, Queue
from storage.records.figures.happened import Happened
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft
from storage.records.ledger import LedgerLine
from storage.records.questions import QuestionState
from storage.records.tools.commands import CommandDraft, CommandState
from storage.store import Store, Transaction
from tests.contract.test_store_questions import draft as question_draft
from tests.support.stores import Clock, new_session

PLATFORMS = ("telegram", "discord")


def command(session: int) -> CommandDraft:
    return CommandDraft(
        session=session,
        home=session,
        address="telegram:1",
        person="telegram:1",
        private=True,
        child=False,
        tool="run_command",
        line="ls",
        directory="",
        background=False,
    )


async def look(store: Store) -> Backlog:
    return await store.read(lambda tx: tx.backlog.look(PLATFORMS))


def arrive(tx: Transaction, key: str, address: str) -> None:
    tx.inbox.receive(Arrival(key, InboxKind.MESSAGE, address, {}))


async def heard_of(store: Store) -> "asyncio.Queue[Committed]":
    heard: asyncio.Queue[Committed] = asyncio.Queue()
    store.watch(heard.put_nowait)
    return heard


async def test_in_an_empty_store_nothing_waits(store: Store, clock: Clock) -> None:
    assert await look(store) == Backlog(clock.now, {}, {}, {}, 0)


async def test_what_came_in_and_is_not_finished_waits_by_its_platform(
    store: Store, clock: Clock
) -> None:
    began = clock.now
    for key, address in (("a", "telegram:1"), ("b", "telegram:2/7"), ("c", "discord:5")):
        await store.run(lambda tx, k=key, a=address: arrive(tx, k, a))  # type: ignore[misc]
        clock.now += 10
    await store.run(lambda tx: arrive(tx, "d", "telegramlike:1"))
    found = (await look(store)).inbox
    assert found == {
        "telegram": Queue(2, began),
        "discord": Queue(1, began + 20),
        OTHER: Queue(1, began + 30),
    }
    rows = await store.read(lambda tx: tx.inbox.unfinished())
    await store.run(lambda tx: tx.inbox.finish([row.id for row in rows]))
    assert (await look(store)).inbox == {}


async def test_what_is_to_be_sent_waits_until_it_is_sent_or_put_aside(
    store: Store, clock: Clock
) -> None:
    began = clock.now
    first, second = await store.run(
        lambda tx: [tx.outbox.enqueue(OutboxDraft("discord:1", "post", {})).id for _ in range(2)]
    )
    assert (await look(store)).outbox == {"discord": Queue(2, began)}
    await store.run(lambda tx: tx.outbox.sent(first, "77"))
    await store.run(lambda tx: tx.outbox.failed(second, "gone"))
    assert (await look(store)).outbox == {}


async def test_open_questions_wait_by_what_asks(store: Store, clock: Clock) -> None:
    session, began = await new_session(store), clock.now
    asked = question_draft(session.id)
    first = await store.run(lambda tx: tx.questions.create(asked))
    clock.now += 5
    await store.run(lambda tx: tx.questions.create(replace(asked, kind="clarify")))
    await store.run(lambda tx: tx.questions.create(asked))
    found = (await look(store)).questions
    assert found == {"escalation": Queue(2, began), "clarify": Queue(1, began + 5)}
    await store.run(lambda tx: tx.questions.close(first.id, QuestionState.DECIDED, choice="stop"))
    assert (await look(store)).questions["escalation"] == Queue(1, began + 5)


async def test_commands_that_run_are_counted_until_they_end(store: Store) -> None:
    session = await new_session(store)
    started = await store.run(lambda tx: tx.commands.start(command(session.id)))
    assert (await look(store)).commands == 1
    await store.run(lambda tx: tx.commands.end(started.id, CommandState.ENDED, status=0))
    assert (await look(store)).commands == 0


async def test_no_more_is_counted_than_costs_little(store: Store, clock: Clock) -> None:
    def fill(tx: Transaction) -> None:
        for number in range(MOST_COUNTED + 5):
            tx.outbox.enqueue(OutboxDraft(f"telegram:{number % 7}", "post", {}))

    await store.run(fill)
    assert (await look(store)).outbox == {"telegram": Queue(MOST_COUNTED, clock.now)}


async def test_a_commit_tells_what_became_of_questions(store: Store) -> None:
    session = await new_session(store)
    heard = await heard_of(store)
    asked = await store.run(lambda tx: tx.questions.create(question_draft(session.id)))
    assert (await heard.get()).happened == (Happened("question", "asked", "escalation"),)

    def close_twice(tx: Transaction) -> tuple[bool, bool]:
        def close() -> bool:
            return tx.questions.close(asked.id, QuestionState.EXPIRED)

        return close(), close()

    assert await store.run(close_twice) == (True, False)
    assert (await heard.get()).happened == (Happened("question", "expired", "escalation"),)


async def test_a_commit_tells_how_commands_ended(store: Store) -> None:
    session = await new_session(store)
    heard = await heard_of(store)
    ends = (
        ("ok", CommandState.ENDED, 0, ""),
        ("failed", CommandState.ENDED, 2, ""),
        ("stopped", CommandState.ENDED, None, "it took too long"),
        ("lost", CommandState.LOST, None, "the bot was stopped"),
    )
    for came_to, state, status, why in ends:

        def run(
            tx: Transaction, s: CommandState = state, n: int | None = status, w: str = why
        ) -> None:
            started = tx.commands.start(command(session.id))
            assert tx.commands.end(started.id, s, status=n, why=w)
            assert not tx.commands.end(started.id, s, status=n, why=w)

        await store.run(run)
        assert (await heard.get()).happened == (Happened("command", came_to),)


async def test_a_commit_tells_of_delegations_and_of_what_was_billed(store: Store) -> None:
    session = await new_session(store)
    line = LedgerLine("worker", "m", Usage(10, 2, 1, 0.5), session.id, "telegram:1", "telegram:1")

    def delegate(tx: Transaction) -> None:
        entry = tx.tree.append(session.id, Draft(Kind.MESSAGE, message("user", "a")), after=None)
        journal = tx.tree.create(SessionDraft(SessionKind.SUBAGENT)).id
        begun = tx.delegations.create(
            DelegationDraft(
                session=session.id,
                call_id="c1",
                call_entry=entry.id,
                index=0,
                journal=journal,
                root=session.id,
                address="telegram:1",
                goal="look",
                model="m",
            )
        )
        tx.delegations.update(begun.id, tier="overseer")
        tx.delegations.update(begun.id, state="completed")
        tx.ledger.add(line)

    heard = await heard_of(store)
    await store.run(delegate)
    told = await heard.get()
    assert told.happened == (
        Happened("delegation", "started"),
        Happened("delegation", "completed"),
    )
    assert told.billed == (line,)


async def test_what_was_not_committed_is_not_told(store: Store) -> None:
    session = await new_session(store)
    heard = await heard_of(store)

    def fail(tx: Transaction) -> None:
        tx.questions.create(question_draft(session.id))
        raise NotFound("it fails")

    with pytest.raises(NotFound):
        await store.run(fail)
    await store.run(lambda tx: tx.outbox.enqueue(OutboxDraft("telegram:1", "post", {})))
    assert (await heard.get()).happened == ()
    assert heard.empty()
