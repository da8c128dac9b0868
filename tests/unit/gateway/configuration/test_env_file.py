"""KEY=VALUE files, read as systemd reads them."""

from pathlib import Path

import pytest

from gateway.configuration.env_file import take_over
from gateway.errors import ConfigError


def read(folder: Path, text: str) -> dict[str, str]:
    file = folder / "secrets.env"
    file.write_text(text, encoding="utf-8")
    found: dict[str, str] = {}
    assert take_over([file], found) == []
    return found


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=plain words ", "plain words"),
        (" A = spaced\t", "spaced"),
        ("A=", ""),
        ("A=sk-proj=abc==", "sk-proj=abc=="),
        ("A=#hash", "#hash"),
        ("A=it's", "it's"),
        (r"A=a\ \\b", r"a \b"),
        (r"A=ends\ ", "ends "),
        ("A=one\\\ntwo", "onetwo"),
        ("A='no # \\ escapes\nin here' ", "no # \\ escapes\nin here"),
        (r'A="\" \$ \\ \` \n"', r'" $ \ ` \n'),
        ('A="one\\\ntwo"', "onetwo"),
        ("""A="x"'y'z""", "xyz"),
        ("\ufeffA=after a mark", "after a mark"),
        ("A=first\nA=second", "second"),
        ("A=crlf\r\n", "crlf"),
    ],
)
def test_a_value_is_read_as_systemd_reads_it(tmp_path: Path, line: str, value: str) -> None:
    assert read(tmp_path, line) == {"A": value}


def test_comments_and_lines_without_a_value_say_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "# A=1\n; B=2\n\nno value\nC=3\n  # D=4\n") == {"C": "3"}


def test_a_line_that_sets_no_variable_is_named_without_its_text(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    file.write_text("A=1\nexport TOKEN=hush-hush\nB='x\ny'\nc2VjcmV0=\n1X=2\n", encoding="utf-8")
    found = {"A": "before"}
    told = take_over([file], found)
    assert found == {"A": "1", "B": "x\ny", "c2VjcmV0": ""}
    assert [line.partition(":")[0] for line in told] == [f"{file}, line 2", f"{file}, line 6"]
    assert not any(text in line for text in ("hush", "TOKEN") for line in told)


def test_of_several_files_the_last_one_wins_and_one_that_is_missing_changes_nothing(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "one.env", tmp_path / "two.env"
    one.write_text("A=1\nB=1\n")
    two.write_text("B=2\n")
    found: dict[str, str] = {}
    take_over([one, two], found)
    assert found == {"A": "1", "B": "2"}
    with pytest.raises(ConfigError, match=r"There is no file .*none\.env"):
        take_over([two, tmp_path / "none.env"], found)
    assert found == {"A": "1", "B": "2"}
    with pytest.raises(ConfigError, match="it is a folder"):
        take_over([tmp_path], found)
