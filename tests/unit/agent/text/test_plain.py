"""Previews have the words of a text, and none of its marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.plain import plain

WORDS = st.text("abcXYZ 019äß中", min_size=1, max_size=20).map(str.strip).filter(bool)
WRAPS = ("**{}**", "*{}*", "_{}_", "__{}__", "`{}`", "~~{}~~", "||{}||", "***{}***")


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("**Rome** is _old_", "Rome is old"),
        (
            "# Rome\n\n- [the site](https://x.y/a_(b)) and ![a map](m.png)",
            "Rome\n\nthe site and a map",
        ),
        ("> quoted\n```python\nprint(1)\n```", "quoted\n\nprint(1)\n"),
        ("- [x] done\n* star\n+ plus", "done\nstar\nplus"),
        ("***\n**_`deep`_**", "\ndeep"),
        ("2 * 3 * 4 and snake_case_name and #12", "2 * 3 * 4 and snake_case_name and #12"),
        ("a \\*star\\*", "a *star*"),
        ("**", "**"),
        ("* ", ""),
    ],
)
def test_marks_go_and_words_stay(markdown: str, words: str) -> None:
    assert plain(markdown) == words


@given(WORDS, st.lists(st.sampled_from(WRAPS), max_size=3, unique=True))
def test_what_marks_stand_around_is_what_stays(words: str, wraps: list[str]) -> None:
    text = words
    for wrap in sorted(wraps, key=lambda one: "`" not in one):
        text = wrap.format(text)
    bare = plain(text)
    assert words in bare
    assert "`" not in bare


@given(st.text("a b*_`~|#>[]()!\\\n-+", max_size=200))
def test_nothing_is_added_whatever_it_is(text: str) -> None:
    bare = plain(text)
    assert len(bare) <= len(text)
    assert not set(bare) - set(text)


@given(st.text("abc 123,.?'äß中", max_size=100))
def test_text_without_marks_stays_as_it_is(text: str) -> None:
    assert plain(text) == text
