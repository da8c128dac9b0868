import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.cleaning import clean
from adapters.discord.render import render
from adapters.discord.segments import LIMIT, characters, fit, hard_cut, units


def shown(markdown: str) -> list[str]:
    return [body["text"] for body in render(markdown)]


def code_of(messages: list[str]) -> list[str]:
    """The lines inside the code blocks of messages."""
    blocks = re.findall(r"```[\w+#.-]*\n(.*?)\n```", "\n\n".join(messages), re.DOTALL)
    return [line for block in blocks for line in block.split("\n")]


def significant(text: str) -> str:
    """Every character that shows, but for backticks, tildes and the names of languages."""
    visible = "".join(c for c in text if not c.isspace() and c not in "`~\u200b")
    return re.sub("py|rust", "", visible)


def test_a_short_text_stays_as_it_is() -> None:
    text = "# Title\n\nSome **bold** text:\n\n- one\n  - two\n\n```py\nif x:\n    y()\n```\n\nEnd."
    assert shown(text) == [text]


def test_blank_text_is_no_message() -> None:
    assert shown(" \n\t\n ") == []


def test_empty_code_blocks_alone_are_still_a_message() -> None:
    [message] = shown("```\n```")
    assert message.strip("`\u200b\n") == ""
    assert "```" not in message


def test_a_long_text_is_split_at_blank_lines_first() -> None:
    first, second = "a" * 1200, "b" * 1200
    assert shown(f"{first}\n\n{second}") == [first, second]


def test_a_long_paragraph_is_split_at_lines() -> None:
    first, second = "a" * 1200, "b" * 1200
    assert shown(f"{first}\n{second}") == [first, second]


def test_a_long_line_is_split_at_words() -> None:
    text = "word " * 1000
    messages = shown(text)
    assert " ".join(messages) == text.strip()
    assert all(message.startswith("word") and message.endswith("word") for message in messages)


def test_a_long_word_is_split_anywhere_but_inside_a_character() -> None:
    family = "👨‍👩‍👧"
    messages = shown(family * 1000)
    assert "".join(messages) == family * 1000
    assert all(len(message) % len(family) == 0 for message in messages)


def test_a_code_block_that_fits_into_one_message_is_not_torn_apart() -> None:
    code = "```py\n" + "x = 1\n" * 200 + "```"
    assert shown("words " * 200 + "\n" + code + "\nafter") == [
        ("words " * 200).strip(),
        code + "\nafter",
    ]


def test_a_long_code_block_is_closed_and_opened_again_with_its_language() -> None:
    lines = [f"    value_{number} = {number}" for number in range(300)]
    messages = shown("Look:\n```py\n" + "\n".join(lines) + "\n```\nDone.")
    assert len(messages) > 2
    assert code_of(messages) == lines
    assert messages[0].startswith("Look:\n```py\n")
    assert all(message.startswith("```py\n") for message in messages[1:])
    assert messages[-1].endswith("```\nDone.")


def test_a_code_line_longer_than_a_message_is_split() -> None:
    messages = shown("```\n" + "x" * 5000 + "\n```")
    assert "".join(code_of(messages)) == "x" * 5000


def test_fences_of_tildes_and_longer_fences_become_fences_that_discord_knows() -> None:
    assert shown("~~~py\nx\n~~~") == ["```py\nx\n```"]
    inner = "`\u200b`\u200b`"
    assert shown("````md\n```py\nx\n```\n````") == [f"```md\n{inner}py\nx\n{inner}\n```"]


def test_an_unclosed_fence_is_closed_at_the_end() -> None:
    assert shown("So:\n```py\nx = 1") == ["So:\n```py\nx = 1\n```"]


def test_unclosed_tildes_are_text() -> None:
    assert shown("~~~ so so ~~~\nand on") == ["~~~ so so ~~~\nand on"]


def test_a_block_that_begins_in_the_middle_of_a_line_is_a_block() -> None:
    assert shown("Run ```sh\nls\n\npwd``` now") == ["Run \n```sh\nls\n\npwd\n```\nnow"]


def test_stray_backticks_do_not_open_a_block() -> None:
    assert shown("use ``` to quote\n\nand on") == ["use `\u200b`\u200b` to quote\n\nand on"]


def test_what_is_not_a_language_stays_as_a_line() -> None:
    assert shown("```see the docs, please\nx\n```") == ["```\nsee the docs, please\nx\n```"]
    assert shown("```{r echo=1}\nx\n```") == ["```\n{r echo=1}\nx\n```"]


def test_a_table_becomes_a_block() -> None:
    table = "| a | b |\n|---|:-:|\n| 1 | 2 |"
    assert shown(f"Here:\n\n{table}\n\nEnd | of it") == [
        f"Here:\n\n```\n{table}\n```\n\nEnd | of it"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "~~~x\n" * 20_000,
        "```a b\nfoo```\n" * 7_000,
        "a ``` b\n\n" * 11_000,
        "|" * 100_000,
        "x| y\n" * 20_000,
        "-" * 50_000 + "|\n" + "-" * 50_000,
        "`" * 100_000,
        "\n \n" * 33_000 + "x",
        "".join("`" * count + " " for count in range(3, 440)),
        " " * 100_000 + "x",
    ],
)
def test_texts_made_to_be_slow_are_not(text: str) -> None:
    # Each takes a tenth of a second; with a quadratic step in the way it would be minutes.
    assert all(units(message) <= LIMIT for message in shown(text))


ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=5000)
FENCES = ["```py\n", "```\n", "\n```\n", "~~~rust\n", "~~~\n", "````\n", "`", "``", "```"]
BLANKS = ["\n", "\n\n", "\t", "\r\n", "    "]
MARKUP = ["- item\n", "| a | b |\n|--|--|\n", "**", "# ", "  indented = 1\n" * 100]
WORDS = ["word ", "👩‍🚀", "é", "שלום ", "漢字" * 300, "x" * 1990, "lorem ipsum " * 50]
PIECES = st.sampled_from([*FENCES, *BLANKS, *MARKUP, *WORDS])
MARKDOWN = st.lists(PIECES, max_size=40).map("".join)


@given(ANY_TEXT | MARKDOWN)
def test_any_text_fits_and_is_never_blank(text: str) -> None:
    messages = shown(text)
    assert all(units(message) <= LIMIT and message.strip() for message in messages)
    assert bool(messages) == bool(clean(text).strip())


@given(ANY_TEXT | MARKDOWN)
def test_fences_are_balanced_in_every_message(text: str) -> None:
    for message in shown(text):
        assert message.count("```") % 2 == 0
        assert "````" not in message


@given(ANY_TEXT.filter(lambda text: "```" not in text and "~~~" not in text) | MARKDOWN)
def test_no_character_that_shows_is_lost(text: str) -> None:
    assert significant("\n".join(shown(text))) == significant(clean(text))


@given(
    st.lists(st.from_regex(r"[ \t]{0,12}[a-z(){}`~=]{1,60}", fullmatch=True), min_size=1),
    st.integers(0, 2100),
    st.integers(1, 40),
)
def test_code_keeps_every_line_and_its_indentation(lines: list[str], lead: int, times: int) -> None:
    code = lines * times
    messages = shown("p" * lead + "\n`````py\n" + "\n".join(code) + "\n`````\nend")
    assert [line.replace("\u200b", "") for line in code_of(messages)] == code


@given(st.text(max_size=300), st.integers(70, 200))
def test_cutting_loses_nothing(text: str, room: int) -> None:
    pieces = hard_cut(text, room)
    assert "".join(pieces) == text == "".join(characters(text))
    assert all(0 < units(piece) <= room for piece in pieces)
    assert units(fit(text, room)) <= room


def test_a_flag_is_one_character() -> None:
    assert characters("🇩🇪🇫🇷") == ["🇩🇪", "🇫🇷"]
