"""What has had its time goes, and nothing else does, in each database."""

import time

import pytest

from agent.settings import resolve_template
from agent.tools.files.workspace import Workspace
from gateway.chats.settings import ChatSettings
from gateway.configuration.config import Config
from gateway.configuration.current import Current
from gateway.retention.copies import Copies
from gateway.retention.pruning import Pruning
from storage.blobs.table import TableBlobs
from storage.records.buttons import ButtonRow, Decide, RunCommand
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, Usage, message
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft, StoredFile
from storage.records.ledger import LedgerLine
from storage.records.questions import Choice, QuestionDraft
from storage.records.retention.tombstones import EXPIRED, is_tombstone
from storage.store import Store, Transaction
from tests.support.stores import Clock

DAY = 86_400.0
CHAT, OTHER = "telegram:-100", "telegram:-200"


@pytest.fixture
def clock() -> Clock:
    """Rules are about the time that it is."""
    clock = Clock()
    clock.now = time.time() // DAY * DAY
    return clock


def pruning(store: Store, **rules: object) -> Pruning:
    config = Config.model_validate(rules)
    settings = ChatSettings(Current(config))
    copies = Copies(lambda one: Workspace(resolve_template(config.tools.workspace, one)))
    return Pruning(store, settings, TableBlobs(store), copies, lambda who: who == "telegram:1")


def talk(tx: Transaction) -> None:
    """A conversation with a message in it, its rows, a menu, an open question and a cost."""
    session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
    tx.directory.bind(CHAT, session)
    body = message("user", "long ago")
    entry = tx.tree.append(session, Draft(Kind.MESSAGE, body, author="telegram:2"), after=None)
    row = tx.inbox.receive(Arrival(f"k{session}", InboxKind.MESSAGE, CHAT, {"text": "x"}, session))
    assert row is not None
    tx.inbox.finish([row.id])
    for name in ("menu", "question"):
        file = StoredFile(name, b"data")
        sent = tx.outbox.enqueue(OutboxDraft(CHAT, "post", {"text": name}, entry.id, file=file))
        tx.outbox.sent(sent.id, f"{session}-{name}")
        action = RunCommand("help") if name == "menu" else Decide(1, "a")
        tx.buttons.put(ButtonRow(f"{name}{session}", CHAT, sent.id, name, action))
        if name == "question":
            asked = tx.questions.create(
                QuestionDraft("clarify", "?", (Choice("a", "A"),), session, CHAT, {})
            )
            tx.questions.add_post(asked.id, CHAT, sent.id)
    tx.outbox.enqueue(OutboxDraft(CHAT, "post", {"text": "pending"}))
    tx.directory.audit("looked", "telegram:2", {})
    tx.directory.greet("telegram:1", "Owner")
    tx.directory.greet("telegram:9", "Stranger")
    for dollars in (0.5, 0.25, None):
        line = LedgerLine("parent", "m", Usage(1, 2, 1, dollars), session, CHAT, "telegram:2")
        tx.ledger.add(line)


async def test_old_rows_go_and_what_is_open_stays(store: Store, clock: Clock) -> None:
    clock.now -= 400 * DAY
    await store.run(talk)
    clock.now += 400 * DAY
    await store.run(talk)
    done = await pruning(store).run()
    assert done == {
        "buttons": 1,
        "questions": 0,
        "outbox": 1,
        "inbox": 1,
        "audit": 1,
        "ledger": 2,
        "commands": 0,
        "schedules": 0,
        "delegations": 0,
        "moves": 0,
        "salts": 0,
        "strangers": 1,
        "imports": 0,
        "copies": 0,
        "messages": 0,
        "files": 0,
        "pages": done["pages"],
    }
    left = await store.read(
        lambda tx: (
            tx.buttons.get("menu1"),
            tx.buttons.get("question1"),
            tx.buttons.get("menu2"),
            len(tx.outbox.pending()),
            tx.outbox.linked_entry(CHAT, "1-menu"),
            len(tx.directory.audits()),
        )
    )
    assert left[0] is None
    assert left[1] is not None
    assert left[2] is not None
    assert left[3:] == (2, 1, 1)
    listed = await store.read(lambda tx: tx.people.listed())
    assert "telegram:1" in [one.identity for one in listed]
    assert not any((await pruning(store).run()).values())


async def test_sums_of_the_ledger_stay_what_they_were(store: Store, clock: Clock) -> None:
    clock.now -= 100 * DAY
    await store.run(talk)
    before = await store.read(lambda tx: tx.ledger.grouped("person", since=0))
    days = await store.read(lambda tx: tx.ledger.grouped("day", since=0))
    clock.now += 100 * DAY
    await pruning(store).run()
    assert await store.read(lambda tx: tx.ledger.grouped("person", since=0)) == before
    assert await store.read(lambda tx: tx.ledger.grouped("day", since=0)) == days


async def test_what_is_said_is_kept_for_ever_unless_a_chat_says_otherwise(
    store: Store, clock: Clock
) -> None:
    def one(tx: Transaction) -> None:
        for address in (CHAT, OTHER):
            session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            tx.directory.bind(address, session)
            draft = Draft(Kind.MESSAGE, message("user", f"said at {address}"), author="telegram:2")
            tx.blobs.use(tx.tree.append(session, draft, after=None).id, ["c" * 64])

    clock.now -= 40 * DAY
    await store.run(one)
    clock.now += 40 * DAY
    await store.run(lambda tx: tx.search.follow(10))
    assert (await pruning(store).run())["messages"] == 0
    rules = {CHAT: {"retention": {"messages": "30d"}}}
    assert (await pruning(store, chats=rules).run())["messages"] == 1
    entries = await store.read(lambda tx: [*tx.tree.entries(1), *tx.tree.entries(2)])
    assert [is_tombstone(entry.body) for entry in entries] == [True, False]
    assert entries[0].body["content"] == EXPIRED
    assert entries[0].author == "telegram:2"
    found = await store.read(lambda tx: tx.search.find("said", [1, 2]))
    assert [entry.session for entry in found] == [2]
    assert await store.read(lambda tx: tx.blobs.used(["c" * 64])) == {"c" * 64}
    assert (await pruning(store, chats=rules).run())["messages"] == 0
    kept = {"retention": {"messages": "30d"}, "chats": {OTHER: rules[CHAT]}}
    kept["chats"] = {OTHER: {"retention": {"messages": "forever", "files": "1d"}}}
    await pruning(store, **kept).run()
    assert await store.read(lambda tx: tx.blobs.used(["c" * 64])) == set()
    assert not is_tombstone((await store.read(lambda tx: tx.tree.entries(2)))[0].body)


async def test_a_conversation_in_which_something_goes_on_is_left(
    store: Store, clock: Clock
) -> None:
    clock.now -= 40 * DAY
    await store.run(talk)
    clock.now += 40 * DAY
    assert (await pruning(store, retention={"messages": "30d"}).run())["messages"] == 0


async def test_two_at_the_same_time_do_no_harm(store: Store, clock: Clock) -> None:
    import asyncio

    clock.now -= 400 * DAY
    await store.run(talk)
    clock.now += 400 * DAY
    one, two = await asyncio.gather(pruning(store).run(), pruning(store).run())
    assert one["inbox"] + two["inbox"] == 1
    total = await store.read(lambda tx: tx.ledger.total(since=0))
    assert (total.cost, total.unpriced) == (0.75, 1)
