import pytest

from gateway.views.entries import (
    fenced,
    find_label,
    first_words,
    label_name,
    number_of,
    one_line,
    spot,
)
from storage.records.entries import Entry, Json, Kind, Label, message, record


def entry(kind: Kind, body: Json) -> Entry:
    return Entry(7, 1, None, 12, 0, kind, body, "", 0, 0.0)


@pytest.mark.parametrize(("text", "number"), [("#12", 12), ("12", 12), ("0", 0), ("#007", 7)])
def test_a_number_may_have_its_sign(text: str, number: int) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", "#", "x", "-1", "1.0", "²", "٣", "1 2", "1234567890", "##1"])
def test_what_is_no_number(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        (Kind.MESSAGE, message("user", " a *b*\nc "), "#12 👤 a b c"),
        (Kind.MESSAGE, message("assistant", "hi"), "#12 🤖 hi"),
        (Kind.MESSAGE, message("assistant", "Once", stop="cut"), "#12 🤖 Once (cut off)"),
        (
            Kind.MESSAGE,
            message("assistant", None, tool_calls=[{"function": {"name": "read_file"}}]),
            "#12 🔧 read\\_file",
        ),
        (Kind.MESSAGE, message("tool", "found"), "#12 🔩 found"),
        (Kind.MESSAGE, message("function", "?"), "#12 ⚙ ?"),
        (Kind.MESSAGE, message("user", None), "#12 👤"),
        (Kind.COMPACTION, {"summary": "long ago"}, "#12 📦 long ago"),
        (Kind.BRANCH_SUMMARY, {"summary": "elsewhere"}, "#12 🌿 elsewhere"),
        (Kind.LABEL, {"label": "", "target": 3}, "#12 🏷 a label removed"),
        (Kind.MODEL_CHANGE, {"model": "m"}, "#12 🔀 m"),
        (Kind.RECORD, record("stopped"), "#12 📎 stopped"),
    ],
)
def test_every_entry_has_a_mark_and_words(kind: Kind, body: Json, shown: str) -> None:
    assert spot(entry(kind, body)) == shown


def test_first_words_are_cut() -> None:
    assert first_words(entry(Kind.MESSAGE, message("user", "word " * 90)), 10) == "word word…"


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("🛶🛶🛶", 6, "🛶🛶🛶"),
        ("🛶🛶🛶🛶", 6, "🛶🛶…"),
        ("a\u202eb\x07c", 9, "abc"),
        ("漢字", 2, "漢字"),
        ("", 3, ""),
    ],
)
def test_a_line_is_as_long_as_platforms_count_it(text: str, limit: int, line: str) -> None:
    assert one_line(text, limit) == line


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("a\n b", "```\na\n b\n```"),
        ("a\u202eb\u200b\x07\n\tc", "```\nab\n\tc\n```"),
        ("```\nx\n```", "````\n```\nx\n```\n````"),
        ("x" * 9, "```\nxxxxx\n```\nCut: it has 9 characters."),
    ],
)
def test_a_block_ends_where_it_should(text: str, block: str) -> None:
    assert fenced(text, 5 if text.startswith("x") else 100) == block


def test_a_label_is_found_in_any_case_but_exactly_first() -> None:
    labels = [Label("Plan", 1, "", 0.0), Label("plan", 2, "", 0.0)]
    found = [find_label(labels, name) for name in ("Plan", "plan", "PLAN", "plans")]
    assert [label.target if label else None for label in found] == [1, 2, 2, None]
    assert label_name(" e\u0301 ") == "é"
