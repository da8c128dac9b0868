"""People who are forgotten a second time before the first is over, and what others were asked about
them, in each database."""

import asyncio
import time
from functools import partial
from threading import Event

from storage.records.buttons import ButtonRow, RunAction
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message, record
from storage.records.inbox_outbox import OutboxDraft
from storage.records.questions import Choice, QuestionDraft, QuestionState
from storage.records.retention.forgetting import Forgetting, Step
from storage.records.retention.tombstones import FORGOTTEN
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from storage.transfer.checking import check
from tests.contract.test_forgetting import (
    ADA,
    BOB,
    GROUP,
    MARK,
    NAME,
    PRIVATE,
    dump,
    entries_of,
    forget,
    go_on,
    life,
)
from tests.support.gateway_process import PATIENCE
from tests.support.stores import Clock

TITLE = "the group"


async def test_who_is_forgotten_again_while_the_first_time_waits_loses_what_came_since(
    store: Store, url: str, clock: Clock
) -> None:
    await store.run(life)
    parcel = OutboxDraft(PRIVATE, "post", {"body": {"text": "cannot be sent yet"}})
    await store.run(lambda tx: tx.outbox.enqueue(parcel))
    await forget(store)
    (waiting,) = await store.read(lambda tx: tx.forgettings.open())
    assert waiting.step is Step.OUTBOX

    def talks(tx: Transaction) -> None:
        fresh = tx.tree.create(SessionDraft(SessionKind.CHAT, "anew")).id
        tx.directory.bind(PRIVATE, fresh)
        tx.directory.set_private(PRIVATE, ADA)
        tx.directory.join(fresh, ADA)
        later = Draft(Kind.MESSAGE, message("user", "the qwvsecond thing"), author=ADA)
        tx.tree.append(fresh, later, after=None)

    await store.run(talks)
    await forget(store)
    assert "qwvsecond" not in dump(url)
    assert await store.read(lambda tx: tx.directory.conversation(PRIVATE)) is None
    clock.now += 3_601
    for one in await store.read(lambda tx: tx.forgettings.open()):
        await go_on(store, one.id)
    steps = [one.step for one in await store.read(lambda tx: tx.forgettings.open())]
    assert steps == [Step.MONEY, Step.MONEY]


async def test_who_is_forgotten_twice_with_nothing_between_is_forgotten_once(store: Store) -> None:
    await store.run(life)
    first = await store.run(lambda tx: tx.forgettings.begin(ADA, "cli"))
    assert await store.run(lambda tx: tx.forgettings.begin(ADA, "cli")) == first


async def test_what_others_were_asked_about_their_private_talk_goes_too(
    store: Store, url: str
) -> None:
    await store.run(life)

    def asks(tx: Transaction) -> list[int]:
        asked = tx.questions.create(
            QuestionDraft("permission", MARK, (Choice("a", "Yes"),), 1, PRIVATE, {"person": ADA})
        )
        post = tx.outbox.enqueue(OutboxDraft(BOB, "post", {"body": {"text": f"may I {MARK}?"}}))
        tx.questions.add_post(asked.id, BOB, post.id)
        edit = tx.outbox.enqueue(
            OutboxDraft(BOB, "edit", {"body": {"text": f"done: {MARK}"}}, edits=post.id)
        )
        other = tx.outbox.enqueue(OutboxDraft(BOB, "post", {"body": {"text": "for Bob"}}))
        for row in (post, edit):
            tx.outbox.sent(row.id, str(row.id))
        tx.outbox.failed(other.id, "no such chat")
        return [post.id, edit.id, other.id]

    rows = await store.run(asks)
    await forget(store)
    assert MARK not in dump(url)
    left = await store.read(lambda tx: [tx.outbox.get(row).payload for row in rows])
    assert left == [{}, {}, {"body": {"text": "for Bob"}}]


async def test_what_owners_were_told_of_them_names_them_no_more(store: Store, url: str) -> None:
    await store.run(life)

    def tells(tx: Transaction) -> list[int]:
        texts = (f"🚪 {NAME} ({ADA}) asks to be let in.", "for Bob")
        rows = [tx.outbox.enqueue(OutboxDraft(BOB, "post", {"body": {"text": t}})) for t in texts]
        asks = {"body": {"text": "Which?"}, "asks": {"id": "2", "name": NAME}}
        rows.append(tx.outbox.enqueue(OutboxDraft(GROUP, "post", asks)))
        let_in = RunAction("let_in", {"identity": ADA})
        tx.buttons.put(ButtonRow("token", BOB, rows[0].id, f"Let in {NAME}", let_in))
        tx.outbox.sent(rows[0].id, "1")  # its button keeps its words
        for row in rows[1:]:
            tx.outbox.failed(row.id, "no such chat")
        tx.directory.greet(ADA, NAME)
        return [row.id for row in rows]

    rows = await store.run(tells)
    await forget(store)
    left = await store.read(lambda tx: [tx.outbox.get(row).payload for row in rows])
    assert left[0] == {"body": {"text": f"🚪 {FORGOTTEN} ({FORGOTTEN}) asks to be let in."}}
    assert left[1:] == [{"body": {"text": "for Bob"}}, {"body": {"text": "Which?"}}]
    assert NAME not in dump(url)


async def test_a_name_like_a_mark_of_ours_leaves_marks_alone(store: Store) -> None:
    await store.run(life)
    button = {"label": "plain, or not", "token": "t", "style": "plain"}
    payload = {"body": {"text": "plain says hi"}, "reply_to": "plain", "buttons": [button]}

    def tells(tx: Transaction) -> int:
        tx.directory.greet(ADA, "plain")
        row = tx.outbox.enqueue(OutboxDraft(BOB, "post", payload))
        tx.buttons.put(ButtonRow("t", BOB, row.id, "plain, or not", RunAction("any", {})))
        tx.outbox.sent(row.id, "1")
        return row.id

    row = await store.run(tells)
    await forget(store)
    button["label"] = f"{FORGOTTEN}, or not"
    shown = {**payload, "body": {"text": f"{FORGOTTEN} says hi"}, "buttons": [button]}
    assert (await store.read(lambda tx: tx.outbox.get(row))).payload == shown


async def test_the_words_in_which_they_decided_go_wherever_they_were_passed_on(
    store: Store, url: str
) -> None:
    await store.run(life)

    def decides(tx: Transaction) -> tuple[int, int]:
        (group,) = (one.id for one, _ in tx.tree.sessions(SessionKind.CHAT) if one.title == TITLE)
        end = tx.tree.entries(group)[-1].id
        below = tx.tree.create(SessionDraft(SessionKind.SUBAGENT, "a task", group, end)).id
        asked = tx.questions.create(QuestionDraft("escalation", "which?", (), below, GROUP, {}))
        tx.questions.close(
            asked.id, QuestionState.DECIDED, choice="words", by=ADA, name=NAME, words="to the left"
        )
        event = {"kind": "answered", "choice": "words", "name": NAME, "words": "to the left"}
        told = f"This is the instruction of {NAME}.\n\n<a>\nto the left\n</a>"
        leaf: int | None = None
        for draft in (
            Draft(Kind.RECORD, record("delegation", data=event)),
            Draft(Kind.MESSAGE, message("user", told)),
            Draft(Kind.MESSAGE, message("assistant", "so I go to the left")),
            Draft(Kind.MESSAGE, message("user", "to the left, says Bob"), author=BOB),
        ):
            leaf = tx.tree.append(below, draft, after=leaf).id
        post = tx.outbox.enqueue(
            OutboxDraft(GROUP, "post", {"body": {"text": f"✅ {NAME} answered: to the left"}})
        )
        tx.questions.add_post(asked.id, GROUP, post.id)
        tx.outbox.sent(post.id, "90")
        return below, post.id

    below, post = await store.run(decides)
    await forget(store)
    record_, told, reply, other = await entries_of(store, below)
    event = {"kind": "answered", "choice": "words", "name": FORGOTTEN, "words": FORGOTTEN}
    assert record_.body["data"] == event
    assert told.body["content"] == (
        f"This is the instruction of {FORGOTTEN}.\n\n<a>\n{FORGOTTEN}\n</a>"
    )
    assert reply.body["content"] == "so I go to the left", "answers of the bot in groups stay"
    assert other.body["content"] == "to the left, says Bob", "what others wrote stays"
    shown = await store.read(lambda tx: tx.outbox.get(post).payload)
    assert shown == {"body": {"text": f"✅ {FORGOTTEN} answered: {FORGOTTEN}"}}
    assert NAME not in dump(url)
    assert check(url) == []


async def test_what_another_process_is_just_indexing_is_forgotten_too(
    here: SqlStore, there: SqlStore, postgres_url: str
) -> None:
    await here.run(life)
    made = await here.run(lambda tx: tx.forgettings.begin(ADA, "cli", rights=False))
    indexed, begun = Event(), Event()

    def index(tx: Transaction) -> None:
        tx.search.follow(100)
        indexed.set()
        assert begun.wait(PATIENCE)
        time.sleep(0.2)  # the other one comes to what this one holds

    def forget_all(tx: Transaction) -> None:
        begun.set()
        while tx.forgettings.advance(tx.forgettings.get(made.id), 100):
            continue

    indexing = asyncio.create_task(here.run(index))
    assert await asyncio.to_thread(indexed.wait, PATIENCE)
    await there.run(forget_all)
    await indexing
    await go_on(there, made.id)
    assert MARK not in dump(postgres_url)


async def test_what_others_said_is_passed_by_many_at_once(store: Store) -> None:
    await store.run(life)

    def talk(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT, "others")).id
        leaf = None
        for number in range(1_000):
            said = Draft(Kind.MESSAGE, message("user", f"theirs {number}"), author=BOB)
            leaf = tx.tree.append(session, said, after=leaf).id

    await store.run(talk)
    one = await store.run(lambda tx: tx.forgettings.begin(ADA, "cli"))
    steps = 0
    while one.step is Step.ENTRIES:
        await store.run(partial(_four, now=one))
        one = await store.read(partial(_now, forgetting=one.id))
        steps += 1
    assert steps < 20


def _four(tx: Transaction, now: Forgetting) -> bool:
    return tx.forgettings.advance(now, 4)


def _now(tx: Transaction, forgetting: int) -> Forgetting:
    return tx.forgettings.get(forgetting)
