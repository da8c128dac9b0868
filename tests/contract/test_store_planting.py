"""Sessions that are taken in whole."""

import pytest

from storage.errors import NotFound
from storage.interchange.api import prepared, take_in
from storage.interchange.arriving import at_hand
from storage.interchange.pi.read import Imported
from storage.records.entries import (
    Draft,
    Entry,
    Growth,
    ImportedEntry,
    Kind,
    SessionDraft,
    SessionKind,
    message,
)
from storage.store import Store, Transaction
from tests.support.stores import Clock, append, new_session, path_of, said, texts

LABEL = Draft(Kind.LABEL, {"label": "here", "target": 1})
COMPACTION = Draft(Kind.COMPACTION, {"summary": "s", "first_kept": 1, "tokens_before": 9})
RESULT = Draft(Kind.MESSAGE, message("tool", "seen", tool_call_id="c", call_entry=2))
LEFT = Draft(Kind.BRANCH_SUMMARY, {"summary": "s", "from": 4})
ELSEWHERE = Draft(Kind.BRANCH_SUMMARY, {"summary": "s", "from": "root"})

TREE = [
    ImportedEntry(Draft(Kind.MESSAGE, message("user", "a"), "ann", 3, 5.0), None, "first"),
    ImportedEntry(said("b"), 0, "b"),
    ImportedEntry(said("c"), 1),
    ImportedEntry(RESULT, 2),
    ImportedEntry(said("d"), 1, "d"),
    ImportedEntry(LEFT, 1),
    ImportedEntry(ELSEWHERE, 5),
    ImportedEntry(LABEL, 6),
    ImportedEntry(COMPACTION, 7, "last"),
    ImportedEntry(said("another root"), None),
]


async def planted(store: Store, leaf: int | None = 8) -> tuple[int, list[int]]:
    """A session with the tree in it, and its ids. It is not the first in its database."""
    await append(store, (await new_session(store)).id, said("before"), said("before"))
    session = (await new_session(store)).id
    return session, await store.run(lambda tx: tx.tree.plant(session, TREE, leaf))


async def test_planted_entries_are_where_they_were_said_to_be(store: Store) -> None:
    session, ids = await planted(store)
    entries = await store.read(lambda tx: tx.tree.entries(session))
    assert [entry.id for entry in entries] == ids
    assert [entry.number for entry in entries] == list(range(1, 11))
    assert [entry.depth for entry in entries] == [0, 1, 2, 3, 2, 2, 3, 4, 5, 0]
    parents = [None if each.parent is None else ids[each.parent] for each in TREE]
    assert [entry.parent for entry in entries] == parents
    assert entries[0] == Entry(
        ids[0], session, None, 1, 0, Kind.MESSAGE, message("user", "a"), "ann", 3, 5.0
    )


async def test_what_has_no_time_gets_the_stores(store: Store, clock: Clock) -> None:
    session, _ = await planted(store)
    entries = await store.read(lambda tx: tx.tree.entries(session))
    assert {entry.time for entry in entries[1:]} == {clock.now}


async def test_places_in_bodies_become_ids_and_text_stays(store: Store) -> None:
    session, ids = await planted(store)
    bodies = [entry.body for entry in await store.read(lambda tx: tx.tree.entries(session))]
    assert bodies[3]["call_entry"] == ids[2]
    assert bodies[5]["from"] == ids[4]
    assert bodies[6]["from"] == "root"
    assert bodies[7]["target"] == ids[1]
    assert bodies[8]["first_kept"] == ids[1]


async def test_the_leaf_stands_where_it_was_put_and_the_session_goes_on(store: Store) -> None:
    session, ids = await planted(store)
    context_path = await store.read(lambda tx: tx.tree.context_path(ids[8]))
    assert [entry.id for entry in context_path] == [ids[n] for n in (1, 5, 6, 7, 8)]
    (entry,) = await append(store, session, said("next"))
    assert (entry.parent, entry.number, entry.depth) == (ids[8], 11, 6)
    empty, _ = await planted(store, leaf=None)
    assert await path_of(store, empty) == ()


async def test_strands_labels_and_sorts_are_as_after_single_appends(store: Store) -> None:
    session, ids = await planted(store)

    def appended(tx: Transaction) -> int:
        other = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        made: list[int] = []
        for each in TREE:
            parent = None if each.parent is None else made[each.parent]
            body = dict(each.draft.body)
            for key in ("call_entry", "from", "target", "first_kept"):
                if isinstance(body.get(key), int):
                    body[key] = made[body[key]]
            draft = Draft(each.draft.kind, body)
            made.append(tx.tree.append(other, draft, after=parent, aside=True).id)
        return other

    def woven(tx: Transaction, of: int) -> object:
        strands = [(s.number, s.depth, s.tip_number, s.tip_depth) for s in tx.tree.strands(of)]
        along = [
            [e.number for e in tx.tree.along(s.first, 1, 99, sorts=("user", "label"), limit=99)]
            for s in tx.tree.strands(of)
        ]
        return strands, along, [label.name for label in tx.tree.labels(of)]

    other = await store.run(appended)
    here = await store.read(lambda tx: woven(tx, session))
    assert here == await store.read(lambda tx: woven(tx, other))
    route = await store.read(lambda tx: tx.tree.route(ids[8]))
    assert [part.last for part in route] == [ids[1], ids[8]]


async def test_an_entry_is_found_by_what_it_was_called_in_forks_too(store: Store) -> None:
    session, ids = await planted(store)
    draft = SessionDraft(SessionKind.CHAT, "fork", session, ids[2])
    fork = await store.run(lambda tx: tx.tree.create(draft).id)

    def names(tx: Transaction, of: int) -> list[int | None]:
        found = [tx.tree.original(of, name) for name in ("first", "b", "d", "last", "", "x")]
        return [entry.id if entry is not None else None for entry in found]

    assert await store.read(lambda tx: names(tx, session)) == [
        *(ids[n] for n in (0, 1, 4, 8)),
        None,
        None,
    ]
    assert await store.read(lambda tx: names(tx, fork)) == [ids[0], ids[1], *[None] * 4]
    originals = await store.read(lambda tx: tx.tree.originals(session))
    assert originals == {ids[0]: "first", ids[1]: "b", ids[4]: "d", ids[8]: "last"}
    assert await store.read(lambda tx: tx.tree.originals(fork)) == {}


async def test_a_parent_after_its_child_plants_nothing(store: Store) -> None:
    session = (await new_session(store)).id
    wrong = [ImportedEntry(said("a"), None, "a"), ImportedEntry(said("b"), 1)]
    with pytest.raises(ValueError, match="entry 1 stands before its parent 1"):
        await store.run(lambda tx: tx.tree.plant(session, wrong, 0))
    assert await store.read(lambda tx: tx.tree.entries(session)) == []
    assert await store.read(lambda tx: tx.tree.originals(session)) == {}
    with pytest.raises(NotFound):
        await store.run(lambda tx: tx.tree.plant(99, TREE, 0))


async def test_sessions_are_listed_by_kind_newest_first_with_their_sizes(store: Store) -> None:
    session, _ = await planted(store)
    draft = SessionDraft(SessionKind.SUBAGENT, "worker", session)
    child = await store.run(lambda tx: tx.tree.create(draft).id)

    def listed(tx: Transaction, kind: SessionKind) -> list[tuple[int, int]]:
        return [(one.id, count) for one, count in tx.tree.sessions(kind)]

    chats = await store.read(lambda tx: listed(tx, SessionKind.CHAT))
    assert chats == [(session, 10), (session - 1, 2)]
    assert await store.read(lambda tx: listed(tx, SessionKind.SUBAGENT)) == [(child, 0)]


async def test_a_long_session_is_planted_and_read_in_parts(store: Store) -> None:
    session = (await new_session(store)).id
    row = [ImportedEntry(said(str(n)), n - 1 if n else None, f"id{n}") for n in range(4_500)]
    await store.run(lambda tx: tx.tree.plant(session, row, 4_499))
    assert texts(await path_of(store, session)) == [str(n) for n in range(4_500)]
    assert len(await store.read(lambda tx: tx.tree.originals(session))) == 4_500


@pytest.mark.parametrize("first", range(1, len(TREE)))
async def test_what_is_planted_in_two_parts_is_as_planted_at_once(store: Store, first: int) -> None:
    whole, _ = await planted(store)
    session, growth = (await new_session(store)).id, Growth()

    def begin(tx: Transaction) -> None:
        growth.cut(0)
        tx.tree.plant(session, TREE[:first], None, growth)

    def end(tx: Transaction) -> list[int]:
        growth.cut(first)
        tx.tree.plant(session, TREE[first:], 8, growth)
        return list(growth.ids)

    await store.run(begin)
    with pytest.raises(ZeroDivisionError):  # a transaction that is done again
        await store.run(lambda tx: end(tx)[0] // 0)
    ids = await store.run(end)

    def shape(tx: Transaction, of: int) -> list[tuple[object, ...]]:
        entries = tx.tree.entries(of)
        numbers = {entry.id: entry.number for entry in entries}
        strands = [(numbers[s.first], s.depth, s.tip_number) for s in tx.tree.strands(of)]
        return [*((e.number, e.depth, numbers.get(e.parent or 0)) for e in entries), *strands]

    assert await store.read(lambda tx: shape(tx, session)) == await store.read(
        lambda tx: shape(tx, whole)
    )
    assert (await store.read(lambda tx: tx.tree.session(session))).leaf == ids[8]
    assert len(await store.read(lambda tx: tx.tree.entries(session))) == len(TREE)


async def test_a_long_session_is_taken_in_part_by_part_as_at_once(store: Store) -> None:
    entries = [ImportedEntry(said("a"), None)]
    entries += [ImportedEntry(said(str(n)), n - 2 if n % 7 == 2 else n - 1) for n in range(1, 600)]
    # It names an entry that comes long after it.
    entries[100] = ImportedEntry(Draft(Kind.BRANCH_SUMMARY, {"summary": "s", "from": 500}), 99)
    imported = Imported("long", tuple(entries), 599, None, ())
    at_once = await store.run(lambda tx: take_in(tx, imported).id)
    take = await prepared(store, at_hand(imported))
    session = await store.run(take)
    assert session.title == "long"

    def told(tx: Transaction, of: int) -> list[object]:
        found = tx.tree.entries(of)
        numbers = {entry.id: entry.number for entry in found}
        bodies = [
            {k: numbers[v] if k == "from" else v for k, v in entry.body.items()} for entry in found
        ]
        places = [(e.number, e.depth, numbers.get(e.parent or 0), e.kind) for e in found]
        strands = [(numbers[s.first], s.depth, s.tip_number) for s in tx.tree.strands(of)]
        return [bodies, places, strands, numbers[tx.tree.session(of).leaf or 0]]

    in_parts = await store.read(lambda tx: told(tx, session.id))
    assert in_parts == await store.read(lambda tx: told(tx, at_once))
