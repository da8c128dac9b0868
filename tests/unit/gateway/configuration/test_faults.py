"""What a wrong configuration is told: what may have been meant, nothing in a library's words."""

from pathlib import Path

import pytest

from gateway.configuration.config import load
from gateway.errors import ConfigError


def fault(tmp_path: Path, text: str, **environ: str) -> str:
    path = tmp_path / "bough.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(path, environ)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[telegram]\ntoken = '1:x'\ntokn = 'y'", "telegram.token?"),
        ("[telgram]\ntoken = '1:x'", "telegram?"),
        ("[telegram]\ntoken = '1:x'\nowners = ['telegram:1']", "access.owners?"),
        ("[models.paren]\nmodel = 'x'", "models.parent?"),
        ("[models.presets.p]\nmodel = 'x'\nmodl = 'x'", "models.presets.p.model?"),
        ("[escalation]\nlevels = [{afer = '5m'}]", "escalation.levels.0.after?"),
        ("[mcp.x]\ncomand = 'x'", "mcp.x.command?"),
        ("[chats.'telegram:1']\ntoolset = []", "chats.telegram:1.toolsets?"),
        ("[tools]\ntoolsets = ['termnal']", "terminal?"),
        ("[tools]\ntoolsets = ['mcp:githb']\n[mcp.github]\nurl = 'http://x'", "mcp:github?"),
        ("[session]\nsummary_model = 'scrbe'\n[models.presets.scribe]\nmodel = 'x'", "scribe?"),
    ],
)
def test_a_name_that_is_none_is_told_what_may_have_been_meant(
    tmp_path: Path, text: str, meant: str
) -> None:
    assert f"Did you mean {meant}" in fault(tmp_path, text)


def test_a_key_like_no_other_is_only_said_to_be_none(tmp_path: Path) -> None:
    said = fault(tmp_path, "[telegram]\ntoken = '1:x'\nfrobnicate = 1")
    assert "telegram.frobnicate: there is no such key. gateway/README.md lists them all." in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[telegram]\ntoken = ''", "telegram.token: must not be empty."),
        ("[telegram]\ntoken = 5", "telegram.token: must be text"),
        ("telegram = 5", "telegram: must be a section of its own"),
        ("[session]\nmax_depth = 'many'", "session.max_depth: must be a whole number."),
        ("[session]\nmax_depth = 1.5", "session.max_depth: must be a whole number."),
        ("[session]\nmax_depth = 0", "session.max_depth: must be at least 1."),
        ("[session]\ncompaction_threshold = 2", "session.compaction_threshold: must be at most 1."),
        ("[session]\nbusy = 'no'", "session.busy: must be 'interrupt', 'queue' or 'steer'."),
        ("[tools]\nnetwork = 3", "tools.network: must be true or false."),
        ("[tools]\nrules = 3", "tools.rules: must be a list"),
        ("[models.parent]\nmodel = 'x'\ntimeout = inf", "models.parent.timeout: must be a finite"),
        ("[budgets]\nday = 0", "budgets.day: must be more than 0"),
    ],
)
def test_a_bad_value_is_told_what_the_key_takes(tmp_path: Path, text: str, told: str) -> None:
    said = fault(tmp_path, text)
    assert told in said
    assert "should" not in said


def test_what_is_no_toml_is_told_where_and_not_shown(tmp_path: Path) -> None:
    said = fault(tmp_path, "[telegram]\ntoken = hush-secret")
    assert "is not valid TOML: look at line 2, column 9." in said
    assert "hush" not in said


def test_a_file_that_cannot_be_read_is_told_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it is a folder; name the file in it") as caught:
        load(tmp_path, {})
    assert "Errno" not in str(caught.value)
    path = tmp_path / "bough.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="it is not UTF-8 text"):
        load(path, {})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("BOUGH_TELEGRAM_TOKEN", "BOUGH_TELEGRAM__TOKEN"),
        ("BOUGH_TELEGRAM_TOKN", "BOUGH_TELEGRAM__TOKEN"),
        ("BOUGH_MODELS_PARENT_API_KEY", "BOUGH_MODELS__PARENT__API_KEY"),
        ("BOUGH_MODELS_PRESETS_CHEAP_MODEL", "BOUGH_MODELS__PRESETS__NAME__MODEL"),
        ("BOUGH_DELEGATION_MAX_ITERATIONS", "BOUGH_DELEGATION__MAX_ITERATIONS"),
    ],
)
def test_a_variable_with_one_underscore_is_told_the_one_that_was_meant(
    tmp_path: Path, name: str, meant: str
) -> None:
    said = fault(tmp_path, "", **{name: "1:hush"})
    assert f"{name}: sets nothing. Did you mean {meant}?" in said
    assert "hush" not in said


def test_a_variable_that_leads_into_a_list_of_sections_is_told_the_list(tmp_path: Path) -> None:
    said = fault(tmp_path, "", BOUGH_ESCALATION_LEVELS_0_TO="telegram:1")
    assert "write [[escalation.levels]] in bough.toml" in said
    assert "__" not in said.partition("sets nothing.")[2]


def test_a_variable_spelled_nearly_as_a_key_is_warned_of_and_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bough.toml").write_text("")
    load(tmp_path / "bough.toml", {"BOUGH_SESSION_BUS": "hush"})
    said = capsys.readouterr().err
    assert "BOUGH_SESSION_BUS: sets nothing. Did you mean BOUGH_SESSION__BUSY?" in said
    assert "hush" not in said


def test_a_variable_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bough.toml"
    path.write_text("")
    others = ("BOUGH_API_SPECS", "BOUGH_HOME", "BOUGH_TELEGRAM", "BOUGH_WEB_DIR", "BOUGH_TOKEN")
    load(path, dict.fromkeys(others, "x") | {"BOUGH_TELEGRAM_TOKEN": ""})


@pytest.mark.parametrize(
    "name", ["BOUGH_TELEGRAM_TOKEN2", "BOUGH_TELEGRAM_TOKEN_2", "BOUGH_DISCORD_TOKEN_B"]
)
def test_a_variable_with_a_key_and_more_behind_it_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "bough.toml").write_text("")
    load(tmp_path / "bough.toml", {name: "1:x"})


def test_one_underscore_is_no_fault_beside_the_right_variable(tmp_path: Path) -> None:
    (tmp_path / "bough.toml").write_text("")
    given = {"BOUGH_TELEGRAM__TOKEN": "1:x", "BOUGH_TELEGRAM_TOKEN": "1:x"}
    assert load(tmp_path / "bough.toml", given).telegram is not None


def test_a_misspelled_variable_with_two_underscores_is_told_the_key(tmp_path: Path) -> None:
    said = fault(tmp_path, "", BOUGH_TELEGRAM__TOKN="1:x", BOUGH_TELEGRAM__TOKEN="1:x")
    assert "telegram.tokn: there is no such key. Did you mean telegram.token?" in said
