import pytest

from gateway.commands.registry import parse_command


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/new", ("new", "")),
        ("/NEW", ("new", "")),
        ("/agents  all ", ("agents", "all")),
        ("/start", ("help", "")),
        ("/label a b\nc", ("label", "a b\nc")),
        ("/nonsense", ("nonsense", "")),
    ],
)
def test_a_slash_and_a_word_is_a_command(text: str, parsed: tuple[str, str]) -> None:
    assert parse_command(text) == parsed


@pytest.mark.parametrize("text", ["", "new", "/", "/etc/hosts?", "//", "see /new", "/9lives"])
def test_everything_else_is_talk(text: str) -> None:
    assert parse_command(text) is None
