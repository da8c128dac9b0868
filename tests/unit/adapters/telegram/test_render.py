import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.base import Body, Button, Refused
from adapters.telegram import utf16
from adapters.telegram.markdown import convert
from adapters.telegram.render import caption, keyboard, render, shortened
from adapters.telegram.rich import Rich, Span, split
from tests.stand_ins.telegram_checks import checked_caption, checked_text, units

LIMIT, MOST = 4096, 100


def only(markdown: str) -> Body:
    (body,) = render(markdown)
    return body


def marked(body: Body) -> list[tuple[str, str]]:
    """Every entity's kind and the text that it covers."""
    text = body["text"].encode("utf-16-le")
    return [
        (e["type"], text[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le"))
        for e in body["entities"]
    ]


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("plain", "plain", []),
        ("**b** *i* ~~s~~ `c`", "b i s c", ["bold", "italic", "strikethrough", "code"]),
        ("# Title\n\ntext", "Title\n\ntext", ["bold"]),
        ("# Title\ntext", "Title\ntext", ["bold"]),
        ("> quoted\n> more\n\nafter", "quoted\nmore\n\nafter", ["blockquote"]),
        (">> deep", "deep", ["blockquote"]),
        ("- a\n- b\n  - c\n\nend", "• a\n• b\n  • c\n\nend", []),
        ("3. a\n3. b", "3. a\n4. b", []),
        ("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open", []),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
        ("```py\n  x = 1\n```", "  x = 1", ["pre"]),
        ("~~~\nnever closed\n  x", "never closed\n  x", ["pre"]),
        ("- a\n  ```\n    x\n  ```\n  b", "• a\n  x\n  b", ["pre"]),
        ("```npm install\n```", "npm install", ["pre"]),
        ("a  \nb\\\nc<br>d", "a\nb\nc\nd", []),
        ("[t](https://x.de/y)", "t", ["text_link"]),
        ("![a cat](https://x.de/c.png)", "a cat", ["text_link"]),
        ("[t](https://x.de/y)", "t", ["text_link"]),
        ("א **ב** 😀 *x*", "א ב 😀 x", ["bold", "italic"]),
        ("| a | b |\n|---|---|\n| 11 | 2 |", "a  | b\n---+--\n11 | 2", ["pre"]),
        ("| 好 | b |\n|---|---|\n| 1 | 2 |", "好 | b\n---+--\n1  | 2", ["pre"]),
    ],
)
def test_markdown_is_shown_as_telegram_shows_it(
    markdown: str, text: str, entities: list[str]
) -> None:
    body = only(markdown)
    assert (body["text"], [kind for kind, _ in marked(body)]) == (text, entities)


@pytest.mark.parametrize(
    "text",
    [
        "**not closed",
        "use List<String> and Vec<T>",
        "<thinking>plan</thinking>",
        "set $HOME/$PATH and $X",
        "if (a || b || c)",
        "about ~5 or ~6",
        "a ~b~ c",
        "[1]: https://x.de/source",
        "[x] [y] (z)",
        "C:\\dir\\file",
        "snake_case_name and 2 * 3 * 4",
        "<div>\n  inside\n</div>",
        "$\\frac{a}{b}$",
        "&unknown;",
    ],
)
def test_what_is_no_markup_stays_as_it_is(text: str) -> None:
    assert only(text) == {"text": text, "entities": []}


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("see [the file](./a.md)", "see the file (./a.md)"),
        ("[mail](mailto:a@x.de)", "mail (mailto:a@x.de)"),
        ("[local](http://localhost:8080/x)", "local (http://localhost:8080/x)"),
        ("![](https://x.de/c.png)", "https://x.de/c.png"),
        ("<https://x.de>", "https://x.de"),
        ("[![build](https://x.de/i)](https://x.de/l)", "build (https://x.de/i)"),
        ("| a |\n|---|\n| [t](https://x.de) |", "a\n----------------\nt (https://x.de)"),
        ("| a |\n|---|\n| 1 | left over |", "a\n--+----------\n1 | left over"),
    ],
)
def test_what_telegram_cannot_show_is_kept_as_words(markdown: str, text: str) -> None:
    assert only(markdown)["text"] == text


def test_a_link_definition_is_used_and_shown() -> None:
    body = only("see [1] here\n\n[1]: https://x.de\n[2]: https://y.de")
    assert body["text"] == "see 1 here\n\n[1]: https://x.de\n[2]: https://y.de"
    assert marked(body) == [("text_link", "1")]


def test_a_code_blocks_language_is_kept() -> None:
    (entity,) = only("```python title=x\nx\n```")["entities"]
    assert entity == {"type": "pre", "offset": 0, "length": 1, "language": "python"}


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t \n"])
def test_blank_text_is_no_message(blank: str) -> None:
    assert render(blank) == []


@pytest.mark.parametrize("markup", ["# ", "&nbsp;", "```\n```", "<!-- -->", "> "])
def test_markup_around_nothing_is_shown_itself(markup: str) -> None:
    assert render(markup) != []


def test_a_code_block_across_the_limit_is_one_on_both_sides() -> None:
    lines = [f"    indented_{i} = {i}" for i in range(400)]
    first, second, *_ = bodies = render("before\n\n```python\n" + "\n".join(lines) + "\n```")
    assert [e["language"] for body in bodies for e in body["entities"]] == ["python"] * len(bodies)
    assert second["text"].startswith("    indented_")
    assert second["entities"][0]["offset"] == 0
    code = [first["text"].removeprefix("before\n\n")] + [body["text"] for body in bodies[1:]]
    assert "\n".join(code).split("\n") == lines


def test_long_text_is_cut_at_blank_lines_then_lines_then_words() -> None:
    paragraph = "word " * 300
    cut_at_blank = render("\n\n".join([paragraph.strip()] * 4))
    assert all(body["text"].endswith("word") for body in cut_at_blank)
    assert len(cut_at_blank) == 2
    lines = render("\n".join(f"line {i}" for i in range(1000)))
    assert all(re.fullmatch(r"line \d+", body["text"].split("\n")[-1]) for body in lines)
    words = render("wordy " * 2000)
    assert all(body["text"].strip().endswith("wordy") for body in words)


def test_emoji_without_any_space_are_never_torn() -> None:
    bodies = render("😀" * 5000)
    assert "".join(body["text"] for body in bodies) == "😀" * 5000
    assert [units(body["text"]) for body in bodies] == [4096, 4096, 1808]


def test_more_formats_than_telegram_takes_make_more_messages() -> None:
    bodies = render(" ".join(f"`c{i}`" for i in range(250)))
    assert [len(body["entities"]) for body in bodies] == [100, 100, 50]
    covered = [text for body in bodies for _, text in marked(body)]
    assert covered == [f"c{i}" for i in range(250)]


words = st.text("abcxyz", min_size=1, max_size=8)
inline = st.one_of(
    words,
    words.map("**{}**".format),
    words.map("*{}*".format),
    words.map("`{}`".format),
    words.map("[{}](https://x.de/p)".format),
    words.map("<{}>".format),
    words.map("😀{}א".format),
    words.map("[{}](./p)".format),
)
line = st.lists(inline, min_size=1, max_size=6).map(" ".join)
block = st.one_of(
    line,
    line.map("# {}".format),
    line.map("> {}".format),
    st.lists(line, min_size=1, max_size=4).map(lambda lines: "\n".join(f"- {x}" for x in lines)),
    st.lists(line, min_size=1, max_size=4).map(lambda lines: "\n".join(f"  1. {x}" for x in lines)),
    st.lists(words, min_size=1, max_size=9).map(
        lambda lines: "```py\n" + "\n  ".join(lines) + "\n```"
    ),
    st.lists(words, min_size=2, max_size=2).map(
        lambda c: f"| {c[0]} | b |\n|---|---|\n| {c[1]} | |"
    ),
    words.map("[{0}]: https://x.de/{0}".format),
)
documents = st.lists(block, min_size=1, max_size=12).map("\n\n".join)
wild = st.text() | st.text("`*_~[]()<>#>-|\\\n !&;:1.ab😀א\t", max_size=300)


@given(wild | documents)
@example("*a " * 3000)
@example("> " * 3000)
@example("1. " * 3000)
@example("[a\n" * 3000)
@example("***a " * 3000)
def test_every_message_is_one_that_telegram_takes(markdown: str) -> None:
    bodies = render(markdown)
    assert bool(bodies) == bool(markdown.strip())
    for body in bodies:
        assert units(body["text"]) <= LIMIT
        assert len(body["entities"]) <= MOST
        checked_text(body["text"], body["entities"])


def said(text: str) -> list[str]:
    """The words of a document or a message, without addresses and languages."""
    return re.findall(r"[abcxyz]+", re.sub(r"https://x\.de/\w+|```py|\./p", " ", text))


@given(documents)
def test_every_word_arrives_once_and_in_order(markdown: str) -> None:
    assert said("\n".join(body["text"] for body in render(markdown))) == said(markdown)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1))
def test_code_arrives_to_the_letter(code: str) -> None:
    text = convert(f"``````\n{code}\n``````").text
    # The parser takes a fence inside for the end; every other text is untouched.
    if "``````" not in code:
        assert text == code


@given(
    st.text(" \n\tab😀א", max_size=200),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=12),
    st.integers(2, 40),
    st.integers(1, 5),
)
def test_pieces_are_within_limits_and_lose_no_letter(
    text: str, ranges: list[tuple[int, int]], limit: int, most: int
) -> None:
    spans = tuple(
        Span("bold", start, end)
        for start, end in (sorted(pair) for pair in ranges)
        if start < end <= len(text)
    )
    pieces = split(Rich(text, spans), limit, most)
    assert "".join("".join(p.text for p in pieces).split()) == "".join(text.split())
    for piece in pieces:
        assert piece.text.strip()
        assert utf16.length(piece.text) <= limit
        assert len(piece.spans) <= most
        assert all(0 <= span.start < span.end <= len(piece.text) for span in piece.spans)


@given(
    st.text(" \nab😀א", max_size=120),
    st.sets(st.integers(0, 119)),
    st.integers(2, 30),
)
def test_every_letter_keeps_its_format_across_cuts(text: str, bold: set[int], limit: int) -> None:
    spans = tuple(Span("bold", i, i + 1) for i in sorted(bold) if i < len(text))
    pieces = split(Rich(text, spans), limit, 120)
    formatted = [
        (letter, any(span.start <= i < span.end for span in piece.spans))
        for piece in pieces
        for i, letter in enumerate(piece.text)
        if not letter.isspace()
    ]
    assert formatted == [(c, i in bold) for i, c in enumerate(text) if not c.isspace()]


@given(st.text(), st.integers(1, 50))
def test_a_shortened_text_is_within_its_limit(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert utf16.length(short) <= limit
    assert short == text or short.endswith("…")


@given(st.text("a😀\n\ud800"))
def test_units_count_as_telegram_counts(text: str) -> None:
    table = utf16.offsets(text)
    assert utf16.length(text) == table[-1] == units(text)
    assert [utf16.index(table, offset) for offset in table] == list(range(len(text) + 1))


def test_a_button_is_a_row_with_its_token() -> None:
    markup = keyboard(
        [Button("Yes", "t1", "primary"), Button("No", "t2", "danger"), Button("?", "t3")]
    )
    assert markup is not None
    assert markup.to_dict() == {
        "inline_keyboard": [
            [{"text": "Yes", "callback_data": "t1", "style": "primary"}],
            [{"text": "No", "callback_data": "t2", "style": "danger"}],
            [{"text": "?", "callback_data": "t3"}],
        ]
    }


def test_a_long_label_is_cut_and_an_empty_one_is_not_refused() -> None:
    markup = keyboard([Button("long " * 40, "t1"), Button(" \n", "t2"), Button("two\nlines", "t3")])
    assert markup is not None
    labels = [row[0].text for row in markup.inline_keyboard]
    assert labels == ["long " * 12 + "lon…", "…", "two lines"]


@pytest.mark.parametrize(
    ("beside", "rows"),
    [
        ([False, True, True], ["012"]),
        ([True, True, False, True, False], ["01", "23", "4"]),
        ([True] * 17, ["01234567", "89abcdef", "g"]),
        ([False] * 3, ["0", "1", "2"]),
    ],
)
def test_a_button_beside_another_is_in_its_row_of_at_most_eight(
    beside: list[bool], rows: list[str]
) -> None:
    markup = keyboard(
        [
            Button(label, label, beside=b)
            for label, b in zip("0123456789abcdefg", beside, strict=False)
        ]
    )
    assert markup is not None
    assert ["".join(button.text for button in row) for row in markup.inline_keyboard] == rows


def test_a_short_body_is_its_own_caption() -> None:
    assert caption(only("**b** and `c`")) == only("**b** and `c`")


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_body_is_no_caption(text: str) -> None:
    assert caption({"text": text, "entities": [{"type": "bold", "offset": 0, "length": 1}]}) == {
        "text": "",
        "entities": [],
    }


@given(documents, st.integers(1, 30))
def test_every_caption_is_one_that_telegram_takes(markdown: str, times: int) -> None:
    for body in render("\n\n".join([markdown] * times)):
        short = caption(body)
        assert checked_caption(short["text"], short["entities"])[0]
        assert body["text"].startswith(short["text"].removesuffix("…"))
        assert (short == body) == (units(body["text"]) <= 1024)


def test_no_buttons_are_no_keyboard() -> None:
    assert keyboard([]) is None


def test_more_buttons_than_telegram_takes_are_refused() -> None:
    with pytest.raises(Refused, match="101 buttons"):
        keyboard([Button("x", str(i)) for i in range(101)])
