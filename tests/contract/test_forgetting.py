"""Tombstones in the place of entries, and people who are forgotten, in each database."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from storage.records.attached import Attached, as_json
from storage.records.entries import (
    Draft,
    Entry,
    Kind,
    SessionDraft,
    SessionKind,
    Usage,
    message,
    record,
)
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft, StoredFile
from storage.records.ledger import LedgerLine
from storage.records.questions import Choice, QuestionDraft, QuestionState
from storage.records.retention.forgetting import Step
from storage.records.retention.tombstones import FORGOTTEN, KEY, hash_of, is_tombstone
from storage.records.speakers import spoken
from storage.records.tools.notes import NoteDraft, NoteScope
from storage.sql.dialect import database_of
from storage.store import Store, Transaction
from storage.transfer.checking import check
from storage.transfer.copying import back_up, copy, restore
from tests.support.stores import Clock, append, new_session

ADA, BOB = "telegram:2", "telegram:3"
PRIVATE, GROUP = "telegram:2", "telegram:-100"
NAME = "Ada Quuxname"
MARK = "zyxmarker"
DAY = 86_400.0


def user(identity: str, name: str) -> dict[str, str]:
    platform, _, id_ = identity.partition(":")
    return {"platform": platform, "id": id_, "name": name}


def life(tx: Transaction) -> None:
    """Ada talks in private and in a group with Bob, and leaves traces everywhere."""
    own = tx.tree.create(SessionDraft(SessionKind.CHAT, f"about {MARK}")).id
    tx.directory.bind(PRIVATE, own)
    tx.directory.set_private(PRIVATE, ADA)
    tx.directory.join(own, ADA)
    tx.directory.greet(ADA, NAME)
    tx.directory.greet(BOB, "Bob")
    file = Attached("document", f"{MARK}.txt", "text/plain", 3, blob="a" * 64, text=MARK)
    call = {"id": "c1", "type": "function", "function": {"name": "think", "arguments": f'"{MARK}"'}}
    path = [
        Draft(Kind.MESSAGE, message("user", f"I am {MARK}", files=[as_json(file)]), author=ADA),
        Draft(
            Kind.MESSAGE,
            message("assistant", f"so {MARK}", tool_calls=[call], raw={"thinking": MARK}),
            author="parent",
        ),
        Draft(Kind.MESSAGE, message("tool", MARK, tool_call_id="c1", name="think")),
        Draft(Kind.LABEL, {"label": MARK, "target": 1}, author=ADA),
        Draft(Kind.RECORD, record("delegation", data={"goal": MARK})),
        Draft(Kind.COMPACTION, {"summary": MARK, "first_kept": 2, "tokens_before": 9}),
        Draft(Kind.MESSAGE, message("assistant", f"bye {MARK}"), author="parent"),
    ]
    leaf: int | None = None
    for draft in path:
        leaf = tx.tree.append(own, draft, after=leaf).id
    tx.blobs.use(1, ["a" * 64])
    below = tx.tree.create(SessionDraft(SessionKind.SUBAGENT, MARK, own, leaf)).id
    tx.tree.append(below, Draft(Kind.MESSAGE, message("user", MARK)), after=None)
    group = tx.tree.create(SessionDraft(SessionKind.CHAT, "the group")).id
    tx.directory.bind(GROUP, group)
    for who in (ADA, BOB):
        tx.directory.join(group, who)
    said = [
        Draft(Kind.MESSAGE, {"role": "user", **spoken(ADA, NAME, "", f"{MARK} here")}, author=ADA),
        Draft(Kind.MESSAGE, message("assistant", "hello both"), author="parent"),
        Draft(
            Kind.MESSAGE,
            {
                "role": "user",
                **spoken(BOB, "Bob", f"In reply to {NAME}:\n> {MARK} here\n\n", "agreed, friend"),
            },
            author=BOB,
        ),
    ]
    leaf = None
    for draft in said:
        leaf = tx.tree.append(group, draft, after=leaf).id
    traces(tx, own, group)


def traces(tx: Transaction, own: int, group: int) -> None:
    payload = {"user": user(ADA, NAME), "text": MARK, "private": True}
    for at, session in ((PRIVATE, own), (GROUP, group)):
        row = tx.inbox.receive(Arrival(f"key {session}", InboxKind.MESSAGE, at, payload, session))
        assert row is not None
        tx.inbox.finish([row.id])
    quoting = {"user": user(BOB, "Bob"), "text": "x", "quoted": MARK, "quoted_from": NAME}
    row = tx.inbox.receive(Arrival("key of Bob's", InboxKind.MESSAGE, GROUP, quoting, group))
    assert row is not None
    tx.inbox.finish([row.id])
    posted = tx.outbox.enqueue(
        OutboxDraft(PRIVATE, "post", {"body": {"text": MARK}}, file=StoredFile(MARK, b"zyxmarker"))
    )
    tx.outbox.failed(posted.id, "no such chat")
    tx.outbox.link_message(PRIVATE, "77", 7)
    tx.outbox.link_message(PRIVATE, "78", 1)
    tx.notes.add(NoteDraft(NoteScope.PERSON, ADA, f"likes {MARK}", ADA, PRIVATE))
    tx.notes.add(NoteDraft(NoteScope.CHAT, GROUP, "bob's note", BOB, GROUP))
    asked = tx.questions.create(
        QuestionDraft("clarify", MARK, (Choice("a", MARK),), own, PRIVATE, {"person": ADA})
    )
    decided = tx.questions.create(QuestionDraft("escalation", "sure?", (), group, GROUP, {}))
    tx.questions.close(
        decided.id, QuestionState.DECIDED, choice="words", by=ADA, name=NAME, words=MARK
    )
    assert asked.id
    tx.directory.audit("decision", ADA, {"question": decided.id, "words": MARK})
    tx.directory.audit("right given", BOB, {"identity": ADA, "name": NAME})
    tx.directory.set_fact(f"limits:{ADA}", {"turns": [1.0]})
    tx.directory.set_fact("attach.misses", {ADA: {"times": 1}})
    line = LedgerLine("parent", "m", Usage(5, 7, 1, 0.25), own, PRIVATE, ADA)
    tx.ledger.add(line)


async def indexed(store: Store) -> None:
    while await store.run(lambda tx: tx.search.follow(100)):
        continue


async def forget(store: Store, identity: str = ADA, *, rights: bool = False) -> None:
    """As far as it goes today, in small steps."""
    made = await store.run(lambda tx: tx.forgettings.begin(identity, "cli", rights=rights))
    await go_on(store, made.id)


async def go_on(store: Store, forgetting: int, limit: int = 3) -> None:
    while await store.run(lambda tx: tx.forgettings.advance(tx.forgettings.get(forgetting), limit)):
        continue
    while await store.run(lambda tx: tx.pruning.tidy_index(100)):
        continue


def dump(url: str) -> str:
    """Every value of every table, those of the search index among them."""
    database = database_of(url)
    engine = database.reader_engine()
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        else:
            names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        found = []
        for name in connection.execute(text(names)).scalars().all():
            if name == "search_index" and connection.dialect.name == "sqlite":
                continue  # it gives nothing out; its rows stand in other tables
            for row in connection.execute(text(f'SELECT * FROM "{name}"')):
                found += [repr(value) if isinstance(value, bytes) else str(value) for value in row]
    engine.dispose()
    return "\n".join(found)


async def entries_of(store: Store, session: int) -> list[Entry]:
    return await store.read(lambda tx: tx.tree.entries(session))


async def test_no_byte_of_what_they_wrote_or_are_called_is_left(
    store: Store, url: str, clock: Clock
) -> None:
    await store.run(life)
    await indexed(store)
    assert MARK in dump(url)
    await forget(store)
    left = dump(url)
    assert MARK not in left
    assert NAME not in left
    clock.now += DAY
    (waiting,) = await store.read(lambda tx: tx.forgettings.open())
    assert waiting.step is Step.MONEY
    await go_on(store, waiting.id)
    assert not re.search(rf"(?<![\w:-]){ADA}(?!\d)", dump(url))
    assert check(url) == []


async def test_the_tree_stays_what_it_was_and_the_hash_shows_what_stood_there(
    store: Store,
) -> None:
    await store.run(life)
    before = [*await entries_of(store, 1), *await entries_of(store, 3)]
    moved = await store.read(lambda tx: (tx.tree.strands(1), tx.tree.strands(3)))
    made = await store.run(lambda tx: tx.forgettings.begin(ADA, "cli"))
    await go_on(store, made.id)
    after = [*await entries_of(store, 1), *await entries_of(store, 3)]
    assert await store.read(lambda tx: (tx.tree.strands(1), tx.tree.strands(3))) == moved
    for old, new in zip(before, after, strict=True):
        place = (old.id, old.session, old.parent, old.number, old.depth, old.kind, old.time)
        assert (new.id, new.session, new.parent, new.number, new.depth, new.kind, new.time) == place
        if is_tombstone(new.body):
            kept = new.body[KEY]["hash"]
            assert kept == hash_of(old.id, old.body, made.salt)
            assert kept != hash_of(old.id, {**old.body, "content": "other"}, made.salt)
        else:
            assert new == old
    group = after[-3:]
    assert group[0].body["content"] == FORGOTTEN
    assert group[0].author == made.pseudonym
    assert group[1].body["content"] == "hello both"
    assert group[2].author == BOB
    assert MARK not in str(group[2].body)
    assert group[2].body["content"].endswith("agreed, friend")


async def test_a_search_finds_others_as_before_and_nothing_of_theirs(store: Store) -> None:
    await store.run(life)
    await indexed(store)
    await forget(store)

    async def found(words: str) -> list[int]:
        hits = await store.read(lambda tx: tx.search.find(words, [1, 2, 3]))
        return [entry.number for entry in hits]

    assert await found(MARK) == await found("zyx") == []
    assert await found("agreed friend") == [3]
    assert await found("hello") == [2]


async def test_what_was_not_indexed_yet_is_not_found_later(store: Store) -> None:
    await store.run(life)
    await forget(store)
    await indexed(store)
    assert await store.read(lambda tx: tx.search.find(MARK, [1, 2, 3])) == []
    assert len(await store.read(lambda tx: tx.search.find("agreed", [1, 2, 3]))) == 1


async def test_sums_stay_and_limits_hold_until_the_day_is_over(store: Store, clock: Clock) -> None:
    await store.run(life)
    await forget(store)
    spent = await store.read(lambda tx: tx.ledger.total(since=0, person=ADA))
    assert spent.cost == 0.25
    assert await store.read(lambda tx: tx.directory.fact(f"limits:{ADA}")) is not None
    clock.now += DAY
    (waiting,) = await store.read(lambda tx: tx.forgettings.open())
    await go_on(store, waiting.id)
    assert (await store.read(lambda tx: tx.ledger.total(since=0, person=ADA))).calls == 0
    assert (await store.read(lambda tx: tx.ledger.total(since=0))).cost == 0.25
    assert await store.read(lambda tx: tx.directory.fact(f"limits:{ADA}")) is None
    assert await store.read(lambda tx: tx.forgettings.open()) == []


async def test_what_they_say_afterwards_is_not_forgotten(store: Store) -> None:
    await store.run(life)
    made = await store.run(lambda tx: tx.forgettings.begin(ADA, "cli"))
    assert await store.read(lambda tx: tx.directory.conversation(PRIVATE)) is None
    fresh = await new_session(store)
    later = Draft(Kind.MESSAGE, message("user", "again"), author=ADA)
    await append(store, fresh.id, later)

    def talks(tx: Transaction) -> None:
        tx.directory.bind(PRIVATE, fresh.id)
        tx.directory.join(fresh.id, ADA)

    await store.run(talks)
    await go_on(store, made.id)
    (entry,) = await entries_of(store, fresh.id)
    assert entry.body["content"] == "again"
    assert await store.read(lambda tx: tx.directory.members(fresh.id)) == [ADA]
    again = await store.run(lambda tx: tx.forgettings.begin(ADA, "cli"))
    assert again.id != made.id
    assert again.sessions == (fresh.id,)
    await go_on(store, again.id)
    (entry,) = await entries_of(store, fresh.id)
    assert entry.author == again.pseudonym


async def test_what_is_still_to_be_sent_is_waited_for(store: Store, clock: Clock) -> None:
    await store.run(life)
    parcel = OutboxDraft(PRIVATE, "post", {"body": {"text": MARK}})
    row = await store.run(lambda tx: tx.outbox.enqueue(parcel))
    await forget(store)
    (waiting,) = await store.read(lambda tx: tx.forgettings.open())
    assert waiting.step is Step.OUTBOX
    assert (await store.read(lambda tx: tx.outbox.get(row.id))).payload == parcel.payload
    await store.run(lambda tx: tx.outbox.sent(row.id, "99"))
    await go_on(store, waiting.id)
    (waiting,) = await store.read(lambda tx: tx.forgettings.open())
    assert waiting.step is Step.MONEY
    assert (await store.read(lambda tx: tx.outbox.get(row.id))).payload == {}


async def test_whoever_worked_there_can_write_nothing_more_and_is_woken(store: Store) -> None:
    await store.run(life)
    news: list[frozenset[int]] = []
    store.watch(lambda committed: news.append(committed.sessions))
    await store.run(
        lambda tx: tx.inbox.receive(Arrival("k", InboxKind.RESULT, GROUP, {"delegation": 1}, 3))
    )
    before = await store.read(lambda tx: tx.tree.session(3).epoch)
    news.clear()
    await forget(store)
    assert await store.read(lambda tx: tx.tree.session(3).epoch) > before
    assert frozenset({3}) in news


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}'",
        'UPDATE entries SET body = \'{"role":"user","content":"x"}\'',
        "UPDATE entries SET author = 'forgotten:1'",
        "UPDATE entries SET body = '{TOMB}', author = 'telegram:9'",
        "UPDATE entries SET body = '{TOMB}', time = 0",
        "UPDATE entries SET body = '{TOMB}', number = number + 100",
        "UPDATE entries SET body = '{TOMB}', tokens = 7",
        "UPDATE entries SET body = '{TOMB}', kind = 'label'",
        "DELETE FROM entries",
    ],
)
async def test_an_entry_can_become_a_tombstone_and_nothing_else(
    store: Store, url: str, statement: str
) -> None:
    await store.run(life)
    whole = statement.replace("{TOMB}", '{"tombstone":{"by":"x","hash":"y"},"role":"user"}')
    with (
        pytest.raises(DBAPIError, match="append-only"),
        database_of(url).migrating() as connection,
    ):
        connection.exec_driver_sql(whole)
    assert not any(KEY in entry.body for entry in await entries_of(store, 1))


async def test_a_database_with_tombstones_is_copied_backed_up_and_whole(
    store: Store, url: str, tmp_path: Path
) -> None:
    await store.run(life)
    await indexed(store)
    await forget(store)
    await store.close()
    target = f"sqlite:///{tmp_path}/target.db"
    copy(url, target)
    assert check(target) == []
    assert MARK not in dump(target)
    back_up(target, tmp_path / "saved.db")
    restored = f"sqlite:///{tmp_path}/restored.db"
    restore(tmp_path / "saved.db", restored)
    assert check(restored) == []
    assert MARK not in dump(restored)


async def test_the_data_of_a_person_is_all_that_is_theirs(store: Store) -> None:
    await store.run(life)
    data = await store.read(lambda tx: tx.people.data_of(ADA))
    assert data.digests == {"a" * 64: f"{MARK}.txt"}
    assert data.facts["names"] == [NAME]
    said = [(one["conversation"], one["number"]) for one in data.facts["messages"]]
    assert (1, 1) in said
    assert (3, 1) in said
    assert (3, 3) not in said
    assert [note["text"] for note in data.facts["notes"]] == [f"likes {MARK}"]
    assert data.facts["cost"][0]["dollars"] == 0.25
    listed = await store.read(lambda tx: tx.people.listed())
    assert [(one.identity, one.name, one.sessions) for one in listed] == [
        (ADA, NAME, 2),
        (BOB, "Bob", 1),
    ]
    extent = await store.read(lambda tx: tx.forgettings.extent(ADA))
    assert (extent.private_sessions, extent.own_messages, extent.notes) == (1, 1, 1)
    assert (extent.files, extent.questions) == (1, 1)


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(words)
def test_whatever_was_written_the_index_lets_go_of_it(said: str) -> None:
    from tests.support.stores import in_store

    def work(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        drafts = [
            Draft(Kind.MESSAGE, message("user", f"{said} aside"), author=ADA),
            Draft(Kind.MESSAGE, message("user", f"{said} others"), author=BOB),
        ]
        leaf = None
        for draft in drafts:
            leaf = tx.tree.append(session, draft, after=leaf).id
        for who in (ADA, BOB):
            tx.directory.join(session, who)
        tx.search.follow(10)
        made = tx.forgettings.begin(ADA, "")
        while tx.forgettings.advance(tx.forgettings.get(made.id), 5):
            continue
        assert tx.search.find("aside", [session]) == []
        assert [e.author for e in tx.search.find("others", [session])] == [BOB]

    in_store(work)
