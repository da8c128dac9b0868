"""Untrusted text in Markdown shows as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.render import render
from agent.text.markdown import bounded, escape, literal
from agent.text.untrusted import visible


@pytest.mark.parametrize(
    "text",
    [
        "**bold** _and_ ~~so~~ `on`",
        "# no heading",
        "- no list",
        "12. no list either",
        "> no quote",
        "[no link](x)",
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
            assert {entity["type"] for entity in body["entities"]} <= {"code"}
            assert body["text"].rstrip() == f"{before}{' '.join(text.split())}".rstrip()


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.example/a_b",
        "www.evil.example",
        "t.me/evil?start=1",
        "evil.example",
        "ann@evil.example",
        "@everyone",
        "<@1>",
        "<https://evil.example>",
        "/stop",
        "#tag",
        "$CASH",
        "+491701234567",
        "[x](https://evil.example)",
        "tg://resolve?domain=evil",
        "10.0.0.1",
    ],
)
def test_what_clients_make_a_link_of_stands_in_code(text: str) -> None:
    for before, after in (("", ""), ("see ", ", yes"), ("*see* ", " `or` @not")):
        (body,) = render(escape(f"{before}{text}{after}"))
        assert body["text"] == f"{before}{text}{after}"
        assert body["entities"][0] == {
            "type": "code",
            "offset": len(before),
            "length": len(text),
        }


def test_text_from_right_to_left_does_not_move_what_stands_beside_it() -> None:
    assert escape("עלי") == "\u2068עלי\u2069"
    assert literal("עלי", 10) == "\u2068`עלי`\u2069"


@given(st.text(max_size=80))
def test_of_any_text_nothing_that_acts_is_left(text: str) -> None:
    for shown in (escape(text), literal(text, 200)):
        inner = shown.removeprefix("\u2068").removesuffix("\u2069")
        assert visible(inner) == inner
        assert "\n" not in inner
        for body in render(f"x {shown}"):
            assert {entity["type"] for entity in body["entities"]} <= {"code"}


def test_a_literal_stands_in_code_whatever_it_holds() -> None:
    [body] = render(literal("a `tick` and ``` more", 100))
    assert [entity["type"] for entity in body["entities"]] == ["code"]
    assert body["text"] == "a ʼtickʼ and ʼʼʼ more"


def test_a_cut_is_visible() -> None:
    assert bounded("one\ntwo  three", 9) == "one two …"
    assert bounded("short", 9) == "short"


def test_what_turns_text_around_or_cannot_be_seen_is_dropped() -> None:
    assert visible("a\r\nb\rc\u2028d") == "a\nb\nc\nd"
    assert visible("z" + "\u0301" * 50) == "z" + "\u0301" * 4
    foreign = "Ann\u202e\u2066 \u200bB\x1bo\x00b\ufeff\n\tعلی\u200c👩\u200d🚀"

    assert visible(foreign) == "Ann Bob\n\tعلی\u200c👩\u200d🚀"
