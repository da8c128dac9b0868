import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.filenames import safe_name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("notes.txt", "notes.txt"),
        ("Größe 漢字.md", "Größe_漢字.md"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("C:\\talk.jsonl", "C_talk.jsonl"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ('a"\r\nb\0', "a_b_"),
        ("..", "file"),
        ("", "file"),
        ("x" * 100 + ".jsonl", "x" * 54 + ".jsonl"),
    ],
)
def test_a_name_keeps_what_is_safe_in_it(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_name_becomes_one_that_every_file_system_takes(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe.encode()) <= 255
    assert safe[0] not in ".-"
    assert not set(safe) & set('/\\\0"\r\n')
    assert safe_name(safe) == safe
