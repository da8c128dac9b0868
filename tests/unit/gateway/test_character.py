"""Who the bot is, as the configuration says: instructions, model and busy, of all chats and of
one."""

from pathlib import Path

import pytest

from agent.settings import MOST_INSTRUCTIONS
from gateway.chats.settings import ChatSettings
from gateway.configuration.config import Config, load
from gateway.configuration.current import Current
from gateway.errors import ConfigError

GROUP, TOPIC, OTHER = "telegram:-100", "telegram:-100/7", "telegram:5"


def loaded(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "bough.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, {})


def test_without_a_word_nothing_is_different(tmp_path: Path) -> None:
    config = loaded(tmp_path, "")
    assert ChatSettings(Current(config)).instructions_at(OTHER) == ""
    assert ChatSettings(Current(config)).model_at(OTHER) is None
    assert ChatSettings(Current(config)).busy_at(OTHER) == "interrupt"


def test_a_chat_has_its_own_and_its_topics_have_the_chats(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        f"""
        [agent]
        instructions = "Be kind."
        [session]
        busy = "queue"
        [models.presets.cheap]
        model = "openai/small"
        [chats."{GROUP}"]
        instructions = "Be brief."
        model = "cheap"
        [chats."{TOPIC}"]
        busy = "steer"
        """,
    )
    for address in (GROUP, TOPIC):
        assert ChatSettings(Current(config)).instructions_at(address) == "Be brief."
        assert ChatSettings(Current(config)).model_at(address) == "cheap"
    assert ChatSettings(Current(config)).busy_at(GROUP) == "queue"
    assert ChatSettings(Current(config)).busy_at(TOPIC) == "steer"
    assert ChatSettings(Current(config)).instructions_at(OTHER) == "Be kind."
    assert ChatSettings(Current(config)).model_at(OTHER) is None


def test_a_file_is_read_at_the_start_as_it_is_written(tmp_path: Path) -> None:
    told = tmp_path / "character.md"
    told.write_text("\ufeff# You are Ada\n\nSpeak plainly.\n", encoding="utf-8")
    config = loaded(tmp_path, f"[agent]\ninstructions = 'file:{told}'")
    told.unlink()
    assert ChatSettings(Current(config)).instructions_at(OTHER) == "# You are Ada\n\nSpeak plainly."


def test_the_environment_names_it_too(tmp_path: Path) -> None:
    (tmp_path / "bough.toml").write_text("")
    environ = {"BOUGH_AGENT__INSTRUCTIONS": "[Ada] is your name."}
    config = load(tmp_path / "bough.toml", environ)
    assert ChatSettings(Current(config)).instructions_at(OTHER) == "[Ada] is your name."


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("file:missing.md", "there is no file 'missing.md'"),
        ("file:", "cannot be read: Is a directory"),
        ("file:.", "cannot be read: Is a directory"),
        ("  ", "says nothing"),
        ("x" * (MOST_INSTRUCTIONS + 1), "is longer than 20,000 characters: shorten it"),
    ],
)
def test_instructions_that_cannot_be_used_are_a_fault_that_names_the_key(
    tmp_path: Path, value: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=f"agent.instructions: .*{said}"):
        loaded(tmp_path, f"[agent]\ninstructions = '{value}'")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\x00", "is no text in UTF-8: save it as such"),
        (b"\n\n", "says nothing"),
        (b"a\0b", "has a NUL character"),
        (b"y" * 10_000_000, "is longer than 20,000 characters"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_fault_too(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "character.md"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=f'chats."{GROUP}".instructions: .*{said}'):
        loaded(tmp_path, f"[chats.\"{GROUP}\"]\ninstructions = 'file:{path}'")


def test_a_file_with_a_name_that_no_system_takes_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"agent\.instructions: .*that is no name of a file"):
        loaded(tmp_path, '[agent]\ninstructions = "file:a\\u0000b"')


def test_a_chats_model_must_be_configured(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'chats\."telegram:5"\.model: .big. is not configured'):
        loaded(tmp_path, '[chats."telegram:5"]\nmodel = "big"')


def test_a_chats_busy_is_one_of_three(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'chats\."telegram:5"\.busy'):
        loaded(tmp_path, '[chats."telegram:5"]\nbusy = "never"')
