"""What of an entry can be found, and by which words."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from storage.records.entries import Entry, Json, Kind, message, record
from storage.search.query import (
    LONGEST_RESULT,
    LONGEST_WORD,
    MOST_WORDS,
    excerpt,
    parse,
    terms_of,
    text_of,
)

ANY_TEXT = st.text(st.characters(), max_size=60)
"""Lone surrogates, private use and unassigned characters among it."""


def entry(kind: Kind, body: Json) -> Entry:
    return Entry(1, 1, None, 1, 0, kind, body, "", 0, 0.0)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        (Kind.MESSAGE, message("user", "to the ferry"), "to the ferry"),
        (Kind.MESSAGE, message("assistant", None, tool_calls=[]), ""),
        (Kind.MESSAGE, message("system", "be kind"), ""),
        (Kind.COMPACTION, {"summary": "what was said"}, "what was said"),
        (Kind.BRANCH_SUMMARY, {"summary": "what was tried"}, "what was tried"),
        (Kind.LABEL, {"label": "the good one", "target": 3}, "the good one"),
        (Kind.MODEL_CHANGE, {"model": "big"}, ""),
        (Kind.RECORD, record("suspended", result="no"), ""),
        (Kind.LABEL, {"label": 7}, ""),
        (Kind.COMPACTION, {}, ""),
        (Kind.MESSAGE, {}, ""),
    ],
)
def test_what_was_said_summed_up_and_named_can_be_found(kind: Kind, body: Json, text: str) -> None:
    assert text_of(entry(kind, body)) == text


def test_a_message_in_parts_is_found_by_its_texts() -> None:
    parts = [
        {"type": "text", "text": "one"},
        {"type": "image"},
        "odd",
        {"text": 2},
        {"text": "two"},
    ]
    body: Json = {"role": "user", "content": parts}
    assert text_of(entry(Kind.MESSAGE, body)) == "one\ntwo"


def test_of_a_tools_result_only_the_beginning_can_be_found() -> None:
    body = message("tool", "x" * 9_000, tool_call_id="1")
    assert text_of(entry(Kind.MESSAGE, body)) == "x" * LONGEST_RESULT


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The Ferry, the FERRY!", {"the", "ferry"}),
        ("Überfahrt café naïve Ελλάς ёлка", {"uberfahrt", "cafe", "naive", "ελλασ", "елка"}),
        ("Straße ﬁn ＡＢＣ ½ №5", {"strasse", "fin", "abc", "1", "2", "no5"}),
        ("e\u0301te\u0301 soft\u00adware a\u200db", {"ete", "software", "ab"}),
        ("don't e-mail x_y a.b", {"don", "t", "e", "mail", "x", "y", "a", "b"}),
        ("❤️ 1️⃣ 🎉", {"1"}),
        ("東京都", {"東", "京", "都", "東京", "京都"}),
        ("iPhone手机 OK", {"iphone", "手", "机", "手机", "ok"}),
        ("ｶﾞ が か\u3099", {"ガ", "が"}),
        ("학교에", {"학", "교", "에", "학교", "교에"}),
        ("हिन्दी", {"हिन्दी"}),
        ("\ue0001 \ud800 \x00 \u200b", {"1"}),
        ("w" * 200, {"w" * LONGEST_WORD}),
        ("?! …", set()),
        ("", set()),
    ],
)
def test_a_text_is_found_by_its_words_and_pairs(text: str, terms: set[str]) -> None:
    assert terms_of(text) == terms


@given(ANY_TEXT)
def test_no_term_can_be_taken_for_anything_but_a_word(text: str) -> None:
    for term in terms_of(text):
        assert 0 < len(term) <= LONGEST_WORD
        assert not set(term) & set(" \"'*()^:-+\x00\n\t")
        assert not any("\ue000" <= character <= "\uf8ff" for character in term)
        term.encode()


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_a_text_is_found_by_any_part_that_stands_between_spaces(
    before: str, part: str, after: str
) -> None:
    query = parse(part)
    text = f"{before} {part} {after}"
    if query is not None:
        assert terms_of(text).issuperset(query.terms)
        assert any(term.startswith(query.beginning) for term in terms_of(text))
        assert query.runs_in(text)


@pytest.mark.parametrize("words", ["", "  ", "?!", '"" * ( ) -', "\x00", "🎉", "\ue000", "\ud800"])
def test_without_a_word_there_is_nothing_to_look_for(words: str) -> None:
    assert parse(words) is None


def test_the_last_word_may_be_the_beginning_of_one_if_it_is_not_too_short() -> None:
    query = parse("in the cab")
    assert query is not None
    assert (query.terms, query.beginning) == (("in", "the"), "cab")
    query = parse("cabin at")
    assert query is not None
    assert (query.terms, query.beginning) == (("cabin", "at"), "")


def test_a_run_must_stand_in_the_text_as_it_is() -> None:
    query = parse("東京都 OK")
    assert query is not None
    assert query.runs_in("東京都です")
    assert not query.runs_in("東京と京都")


def test_of_very_many_words_the_first_ones_are_looked_for() -> None:
    query = parse(" ".join(f"word{number}" for number in range(5_000)))
    assert query is not None
    assert len(query.terms) == MOST_WORDS - 1
    assert query.beginning == f"word{MOST_WORDS - 1}"


LONG = "The crossing takes eleven hours in winter. " * 5


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("a short\n one", "one", "a short one"),
        (LONG, "nothing", "The crossing takes eleven…"),
        (LONG + "And a CABIN is " + LONG, "cabin", "…And a CABIN is The crossing…"),
        (LONG + "the Straße ends", "strasse", "…in winter. the Straße ends"),
        (LONG + "scabs on a cab here", "cab", "…winter. scabs on a cab here"),
        ("x" * 90, "x", "x" * 29 + "…"),
        ("あ" * 50 + "京都" + "い" * 50, "京都", f"…{'あ' * 10}京都{'い' * 16}…"),
        (LONG, "", "The crossing takes eleven…"),
    ],
)
def test_an_excerpt_is_the_part_around_the_first_hit(text: str, words: str, shown: str) -> None:
    assert excerpt(text, words, 30) == shown


@given(ANY_TEXT, ANY_TEXT, st.integers(10, 40))
def test_an_excerpt_is_one_line_and_not_too_wide(text: str, words: str, width: int) -> None:
    shown = excerpt(text, words, width)
    assert len(shown) <= width
    assert len(shown.splitlines()) <= 1


@given(st.text("ab ", max_size=200), st.text("ab", min_size=4, max_size=6))
def test_an_excerpt_has_the_word_in_it(text: str, word: str) -> None:
    assert f" {word}" in f" {excerpt(f'{text} {word} {text}', word, 30).removeprefix('…')}"
