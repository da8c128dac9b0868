"""Full-text search: what is found, and in which order."""

import asyncio
from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from storage.records.entries import Draft, Entry, ImportedEntry, Kind, message, record
from storage.search.query import MOST_ENDINGS
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.contract.naive import naive_find
from tests.support.postgres import PostgresServer
from tests.support.stores import Clock, append, compaction, fresh_url, new_session, said, texts


async def follow(store: Store) -> int:
    """Until all is indexed; how many entries that were."""
    count = 0
    while looked_at := await store.run(lambda t: t.search.follow(3)):
        count += looked_at
    return count


async def find(
    store: Store, words: str, *sessions: int, limit: int = 10, before: int | None = None
) -> list[Entry]:
    return await store.read(lambda t: t.search.find(words, sessions, limit=limit, before=before))


async def told(store: Store, *lines: str) -> int:
    """A new session with these messages in it, indexed; its id."""
    session = await new_session(store)
    await append(store, session.id, *map(said, lines))
    await follow(store)
    return session.id


async def found(store: Store, words: str, *lines: str) -> list[str]:
    """Which of the lines are found by the words, as they would stand in one session."""
    return texts(await find(store, words, await told(store, *lines)))


async def test_all_words_must_be_there_and_the_newest_comes_first(store: Store) -> None:
    lines = ("a cabin for two", "no ferry", "the ferry has a cabin", "CABIN? Ferry!")
    assert await found(store, "ferry cabin", *lines) == ["CABIN? Ferry!", "the ferry has a cabin"]


async def test_case_and_accents_make_no_difference(store: Store) -> None:
    lines = ("Die ÜBERFAHRT", "uberfahrten", "u\u0308berfahrt", "fahrt")
    assert await found(store, "überfahrt", *lines) == [*lines[2::-1]]


async def test_the_last_word_finds_longer_ones_and_the_others_do_not(store: Store) -> None:
    lines = ("ferry cabins", "ferries cabin", "cab ferry", "a cabin")
    assert await found(store, "ferry cab", *lines) == ["cab ferry", "ferry cabins"]
    assert await found(store, "fe", "ferry", "fe") == ["fe"]


async def test_a_beginning_of_very_many_words_finds_the_first_of_the_alphabet(store: Store) -> None:
    words = [f"ferry{number:04}" for number in range(MOST_ENDINGS + 1)]
    assert await found(store, "ferry", *words, " ".join(words[-2:])) == [
        " ".join(words[-2:]),
        *words[-2:-11:-1],
    ]


async def test_words_within_runs_without_spaces_are_found(store: Store) -> None:
    lines = ("東京都に住む", "京都の猫", "東京と京都", "黒猫", "iPhone手机", "학교에 갔다")
    for words, expected in {
        "東京都": ["東京都に住む"],
        "京都": ["東京と京都", "京都の猫", "東京都に住む"],
        "猫": ["黒猫", "京都の猫"],
        "住": ["東京都に住む"],
        "京都 猫": ["京都の猫"],
        "手机": ["iPhone手机"],
        "iphone": ["iPhone手机"],
        "학교": ["학교에 갔다"],
        "に住む東": [],
    }.items():
        assert await found(store, words, *lines) == expected


async def test_of_many_near_misses_only_the_hit_is_given(store: Store) -> None:
    near = ["東京と京都"] * 30
    assert await found(store, "東京都", "東京都", *near) == ["東京都"]


@pytest.mark.parametrize(
    "words",
    [
        "",
        '"',
        '"""',
        "* ^ - + : ( ) { }",
        "\x00",
        "🎉",
        "\ud800",
        "\ue0001",
        "x" * 10_000,
        "'; DROP TABLE entries; --",
        "ferry AND",
        "ferry NOT cabin",
        "NEAR(ferry cabin, 2)",
        "terms:ferry",
        "search_index : fer*",
        "word " * 5_000,
        "東" * 5_000,
        " ".join("東京都" + chr(0x4E00 + number) for number in range(100)),
    ],
)
async def test_words_are_never_syntax(store: Store, words: str) -> None:
    assert await found(store, words, "the ferry", "\ue000 a private cabin") == []


async def test_what_looks_like_syntax_is_words(store: Store) -> None:
    lines = ("ferry OR cabin", "ferry and cabin", "a ferry")
    assert await found(store, "ferry OR cabin", *lines) == ["ferry OR cabin"]
    assert await found(store, '"ferry" (and) cab*', *lines) == ["ferry and cabin"]


async def test_only_the_named_sessions_are_searched(store: Store) -> None:
    one, other, third = [await told(store, f"ferry {number}") for number in range(3)]
    assert texts(await find(store, "ferry", one, third)) == ["ferry 2", "ferry 0"]
    assert texts(await find(store, "ferry", other)) == ["ferry 1"]
    assert await find(store, "ferry") == []
    assert await find(store, "ferry", 999) == []


async def test_very_many_sessions_may_be_named(store: Store) -> None:
    session = await told(store, "a ferry")
    other = await told(store, "another ferry")
    assert texts(await find(store, "ferry", session, *range(1_000, 11_000))) == ["a ferry"]
    assert await find(store, "ferry", *range(1_000, 11_000)) == []
    assert len(await find(store, "ferry", *range(1, 11_000))) == 2
    assert other > session


async def test_hits_come_in_pages(store: Store) -> None:
    session = await told(store, *(f"ferry {number}" for number in range(5)))
    page = await find(store, "ferry", session, limit=2)
    assert texts(page) == ["ferry 4", "ferry 3"]
    page = await find(store, "ferry", session, limit=2, before=page[-1].id)
    assert texts(page) == ["ferry 2", "ferry 1"]
    page = await find(store, "ferry", session, limit=2, before=page[-1].id)
    assert texts(page) == ["ferry 0"]
    assert await find(store, "ferry", session, before=page[-1].id) == []
    assert await find(store, "ferry", session, limit=0) == []


async def test_results_summaries_and_labels_are_found_and_records_are_not(store: Store) -> None:
    session = await new_session(store)
    entries = await append(
        store,
        session.id,
        Draft(Kind.MESSAGE, message("assistant", "ferry")),
        Draft(Kind.MESSAGE, message("tool", "ferry" + " " * 2_000 + "bulk", tool_call_id="1")),
        compaction(None),
        Draft(Kind.BRANCH_SUMMARY, {"summary": "the ferry was missed", "from": 1}),
        Draft(Kind.LABEL, {"label": "good ferry", "target": 1}),
        Draft(Kind.RECORD, record("ferry", text="ferry")),
        Draft(Kind.MODEL_CHANGE, {"model": "ferry"}),
    )
    await follow(store)
    hits = [entries[number] for number in (4, 3, 1, 0)]
    assert await find(store, "ferry", session.id) == hits
    assert await find(store, "said", session.id) == [entries[2]]
    assert await find(store, "bulk", session.id) == []


async def test_an_entry_is_found_once_it_was_followed(store: Store) -> None:
    session = await new_session(store)
    await append(store, session.id, *[said(f"ferry {number}") for number in range(5)])
    assert await find(store, "ferry", session.id) == []
    assert await store.run(lambda t: t.search.follow(2)) == 2
    assert texts(await find(store, "ferry", session.id)) == ["ferry 1", "ferry 0"]
    assert await follow(store) == 3
    assert await follow(store) == 0
    assert len(await find(store, "ferry", session.id)) == 5
    await append(store, session.id, said("ferry 5"))
    assert await follow(store) == 1
    assert len(await find(store, "ferry", session.id)) == 6


async def test_following_that_is_taken_back_is_done_again(store: Store) -> None:
    session = await new_session(store)
    await append(store, session.id, said("a ferry"))

    def fail(t: Transaction) -> None:
        assert t.search.follow(10) == 1
        assert len(t.search.find("ferry", [session.id])) == 1
        raise ZeroDivisionError

    jobs = (store.run(fail), append(store, session.id, said("a cabin")), store.run(fail))
    failed, _, again = await asyncio.gather(*jobs, return_exceptions=True)
    assert (type(failed), type(again)) == (ZeroDivisionError, AssertionError)
    assert await find(store, "ferry", session.id) == []
    assert await follow(store) == 2
    assert texts(await find(store, "ferry", session.id)) == ["a ferry"]


async def test_what_is_found_may_be_changed_without_harm(store: Store) -> None:
    session = await told(store, "a ferry")
    (hit,) = await find(store, "ferry", session)
    hit.body["content"] = "gone"
    assert texts(await find(store, "ferry", session)) == ["a ferry"]


async def test_the_index_is_kept_when_the_store_is_closed(url: str) -> None:
    store = await SqlStore.open(url)
    session = await told(store, "a ferry")
    await store.close()
    again = await SqlStore.open(url)
    assert await follow(again) == 0
    assert texts(await find(again, "ferry", session)) == ["a ferry"]
    await again.close()


async def test_very_many_hits_are_found_however_old_they_are(store: Store) -> None:
    ferries, cabins = await new_session(store), await new_session(store)
    for session, text, count in ((ferries, "a ferry", 1_300), (cabins, "a cabin, no ferry", 600)):
        planted = [
            ImportedEntry(said(f"{text} {place}"), place - 1 if place else None)
            for place in range(count)
        ]
        await store.run(lambda t, s=session.id, p=planted: t.tree.plant(s, p, len(p) - 1))  # type: ignore[misc]
    while await store.run(lambda t: t.search.follow(500)):
        pass
    found = await find(store, "a ferry", ferries.id, limit=1_250)
    assert texts(found) == [f"a ferry {place}" for place in range(1_299, 49, -1)]
    found = await find(store, "ferry", ferries.id, cabins.id, limit=700)
    assert [entry.session for entry in found] == [cabins.id] * 600 + [ferries.id] * 100
    (found_one,) = await find(store, "ferry 7", ferries.id, cabins.id, before=found[-1].id)
    assert texts([found_one]) == ["a ferry 7"]


SOME_TEXT = st.text(
    st.one_of(st.sampled_from('aAbBéeé東京都猫が \u0301-"*'), st.characters()), max_size=12
)
LINES = st.lists(st.tuples(st.integers(0, 2), SOME_TEXT), max_size=12)


def _agree(find_in_store: Callable[[list[tuple[int, str]], list[str]], None]) -> None:
    @settings(suppress_health_check=list(HealthCheck))
    @given(lines=LINES, queries=st.lists(SOME_TEXT, min_size=1, max_size=8), data=st.data())
    def agree(lines: list[tuple[int, str]], queries: list[str], data: st.DataObject) -> None:
        cut = st.sampled_from([text for _, text in lines] or [""]).map(lambda text: text[1:])
        find_in_store(lines, [*queries, *data.draw(st.lists(cut, max_size=4))])

    agree()


def test_a_file_finds_what_looking_at_everything_finds() -> None:
    _agree(lambda lines, queries: asyncio.run(_compare(fresh_url(), lines, queries)))


def test_a_server_finds_what_looking_at_everything_finds(postgres_server: PostgresServer) -> None:
    def compare(lines: list[tuple[int, str]], queries: list[str]) -> None:
        url = postgres_server.create()
        asyncio.run(_compare(url, lines, queries))
        postgres_server.give_back(url)

    _agree(compare)


async def _compare(url: str, lines: list[tuple[int, str]], queries: list[str]) -> None:
    store = await SqlStore.open(url, Clock())
    sessions = [(await new_session(store)).id for _ in range(3)]
    entries: list[Entry] = []
    for number, text in lines:
        entries += await append(store, sessions[number], said(text))
    await follow(store)
    for words in queries:
        for some in (sessions, sessions[:1]):
            for before in (None, 6):
                found = await find(store, words, *some, limit=3, before=before)
                assert found == naive_find(entries, words, some, limit=3, before=before)
    await store.close()


async def test_an_entry_that_is_passed_over_is_not_found_and_those_after_it_are(
    store: Store,
) -> None:
    session = await new_session(store)
    await append(store, session.id, *map(said, ("ferry one", "ferry two", "ferry three")))
    assert await store.run(lambda t: t.search.follow(1)) == 1
    await store.run(lambda t: t.search.pass_over())
    assert await follow(store) == 1
    assert texts(await find(store, "ferry", session.id)) == ["ferry three", "ferry one"]
    await store.run(lambda t: t.search.pass_over())
    await append(store, session.id, said("ferry four"))
    assert await follow(store) == 1
