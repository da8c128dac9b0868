"""What a command line that is none is told."""

import pytest

from gateway.cli.parser import parser


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("docter", "Did you mean doctor?"),
        ("sessions lst", "Did you mean list?"),
        ("run --confg x", "Did you mean --config?"),
        ("demo --hnds", "Did you mean --hands?"),
        ("chat --role worker", "--role belongs to bough run."),
        ("frobnicate", "There are: run, chat, init, demo, doctor"),
    ],
)
def test_a_wrong_command_line_is_told_what_may_have_been_meant(
    line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(line.split())
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_what_is_like_nothing_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["frobnicate"])
    assert "Did you mean" not in capsys.readouterr().err


def test_env_files_are_taken_before_and_after_every_command() -> None:
    given = parser().parse_args(["--env-file", "a", "doctor", "--env-file", "b", "--env-file", "c"])
    assert [str(file) for file in given.env_files_before] == ["a"]
    assert [str(file) for file in given.env_files] == ["b", "c"]
    for line in ("run", "people list", "db check", "sessions list", "init", "chat", "demo"):
        given = parser().parse_args([*line.split(), "--env-file", "x"])
        assert [str(file) for file in given.env_files] == ["x"]
