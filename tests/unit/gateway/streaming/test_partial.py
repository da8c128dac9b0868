"""Text that has not ended, made to show well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.render import render as discord
from adapters.telegram.render import render as telegram
from adapters.telegram.utf16 import length
from gateway.outbound.live_messages import CURSOR
from gateway.streaming.partial import ended, growing

PIECES = (
    *("```", "```py\n", "\n", "\n\n", "**", "*", "_", "~~", "`", "[a](http://x.y", ")", "word "),
    *("- ", "# ", "|a|b|\n|-|-|\n", "\\", "@everyone", "\u202e", "\u200d", "🌳", "~~~\n", "> "),
)
MARKUP = st.sampled_from(PIECES)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("plain", "plain"),
        ("**bold wor", "**bold wor**"),
        ("a **bold** and *it", "a **bold** and *it*"),
        ("*it **both", "*it **both***"),
        ("half **", "half"),
        ("`code", "`code`"),
        ("`a` and `` b ` c", "`a` and `` b ` c``"),
        ("~~gone", "~~gone~~"),
        ("snake_case_name", "snake_case_name"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("see [the page](http://exa", "see the page"),
        ("see [the pa", "see the pa"),
        ("an open **paragraph\n\nis over", "an open **paragraph\n\nis over"),
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("```py\nx = 1\n``", "```py\nx = 1\n```"),
        ("```\na\n```\nthen **b", "```\na\n```\nthen **b**"),
        ("~~~\na", "~~~\na\n~~~"),
        ("```py\nx = `", "```py\nx = `\n```"),
    ],
)
def test_what_is_open_is_closed(text: str, closed: str) -> None:
    assert ended(text) == closed


def test_the_sign_that_more_comes_stands_within_what_is_open() -> None:
    assert growing("**bold") == f"**bold {CURSOR}**"
    assert growing("```\ncode") == f"```\ncode {CURSOR}\n```"


@given(st.lists(MARKUP, max_size=60).map("".join))
def test_wherever_a_text_is_cut_it_renders_within_the_limits(text: str) -> None:
    for shown in (growing(text), ended(text)):
        assert all(0 < length(body["text"]) <= 4096 for body in telegram(shown))
        assert all(0 < length(body["text"]) <= 2000 for body in discord(shown))
    assert any(CURSOR in body["text"] for body in telegram(growing(text)))


@given(st.integers(0, 200))
def test_no_markup_shows_that_a_whole_text_would_not_show(cut: int) -> None:
    text = "Some **bold words** here, *more of them*, `code` and ~~gone~~ [a link](http://x.y/z)."
    (body,) = telegram(growing(text[:cut]) or "x")
    assert not set("*`~[") & set(body["text"])


@pytest.mark.parametrize(("fence", "sign"), [("```", "~"), ("~~~", "`")])
def test_a_long_run_of_fence_signs_within_code_stays_as_it_is(fence: str, sign: str) -> None:
    # It took the square of its length: 40,000 of them held everybody up for 20 seconds.
    text = f"{fence}\n{sign * 200_000}x"
    assert ended(text) == f"{text}\n{fence}"
