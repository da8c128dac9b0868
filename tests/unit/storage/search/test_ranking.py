"""Few texts held against a query: what is found, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from storage.search.query import parse, terms_of
from storage.search.ranking import ranked

NOTES = [
    "Ada drinks her coffee black",
    "the deploy key lies in the safe",
    "Ada's dog is called Coffee; she drinks tea",
    "東京タワーの近くに住んでいる",
    "東京に住んで、タワーは嫌い",
    "Café Größenwahn, Thursdays",
]


def found(words: str) -> list[int]:
    return list(ranked(words, NOTES).places)


def test_texts_with_all_words_are_found_in_their_own_order() -> None:
    assert found("coffee drinks") == [0, 2]
    assert ranked("coffee drinks", NOTES).whole
    assert found("deploy") == [1]


def test_where_no_text_has_all_words_those_with_most_come_first() -> None:
    got = ranked("which black coffee does Ada drink in the morning", NOTES)
    assert not got.whole
    assert got.places[0] == 0
    assert set(got.places) == {0, 1, 2}


def test_the_last_word_may_be_a_beginning() -> None:
    assert found("dep") == [1]
    assert found("de") == []


def test_a_run_without_spaces_is_found_where_it_stands_in_one_piece() -> None:
    assert found("東京タワー") == [3]
    assert set(found("東京")) == {3, 4}
    assert found("嫌い") == [4]


def test_accents_and_case_make_no_difference() -> None:
    assert found("CAFE grossenwahn") == [5]


def test_without_a_word_nothing_is_found() -> None:
    assert found("?! …") == []
    assert found("") == []


@given(words=st.text(max_size=60), texts=st.lists(st.text(max_size=80), max_size=12))
def test_what_is_found_is_a_choice_of_the_texts(words: str, texts: list[str]) -> None:
    got = ranked(words, texts)
    assert len(set(got.places)) == len(got.places)
    assert all(0 <= place < len(texts) for place in got.places)
    query = parse(words)
    if query is None:
        assert got.places == ()
        return
    if got.whole and got.places:
        for place in got.places:
            assert set(query.terms) <= terms_of(texts[place])
            assert query.runs_in(texts[place])


@given(texts=st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=8), data=st.data())
def test_a_text_is_found_by_what_it_says(texts: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(texts) - 1))
    if parse(texts[place]) is not None and len(texts[place].split()) <= 32:
        assert place in ranked(texts[place], texts).places
