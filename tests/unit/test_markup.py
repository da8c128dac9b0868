"""Untrusted text in Markdown shows as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.render import render
from agent.markup import bounded, escape, literal, visible


@pytest.mark.parametrize(
    "text",
    [
        "**bold** _and_ ~~so~~ `on`",
        "# no heading",
        "- no list",
        "12. no list either",
        "> no quote",
        "[no link](http://example.com)",
        "<b>no html</b>",
        "```no fence",
        "a | b",
        "back\\slash",
    ],
)
def test_escaped_text_shows_as_it_is_and_formats_nothing(text: str) -> None:
    [body] = render(escape(text))
    assert body == {"text": text, "entities": []}


def test_plain_words_are_left_as_they_are() -> None:
    for text in ("Is v2.0 (the new one) ready - or not? #12!", "1.5 times", "#12", "-5 degrees"):
        assert escape(text) == text


@given(st.text(alphabet="ab1 *_`~[]()<>#+-.!|\\\\@{}=:/", min_size=1, max_size=40))
def test_whatever_the_marks_nothing_is_formatted(text: str) -> None:
    for before in ("", "x "):
        for body in render(before + escape(text)):
            assert body["entities"] == []
            assert body["text"].rstrip() == f"{before}{' '.join(text.split())}".rstrip()


def test_a_literal_stands_in_code_whatever_it_holds() -> None:
    [body] = render(literal("a `tick` and ``` more", 100))
    assert [entity["type"] for entity in body["entities"]] == ["code"]
    assert body["text"] == "a ʼtickʼ and ʼʼʼ more"


def test_a_cut_is_visible() -> None:
    assert bounded("one\ntwo  three", 9) == "one two …"
    assert bounded("short", 9) == "short"


def test_what_turns_text_around_or_cannot_be_seen_is_dropped() -> None:
    foreign = "Ann\u202e\u2066 \u200bB\x1bo\x00b\ufeff\n\tعلی\u200c👩\u200d🚀"

    assert visible(foreign) == "Ann Bob\n\tعلی\u200c👩\u200d🚀"
