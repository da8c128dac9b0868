from pathlib import Path

import pytest

from gateway.configuration.config import load
from gateway.errors import ConfigError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bough.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_configured_is_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load(environ={})
    assert config.telegram is None
    assert config.storage.url == "sqlite:///bough.db"


def test_a_named_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no file .*missing\.toml"):
        load(tmp_path / "missing.toml", {})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[telegram]\ntoken = '1:x'\ntokn = 'y'", "telegram.tokn"),
        ("[telegramm]\ntoken = '1:x'", "telegramm"),
        ("[telegram]", "telegram.token"),
        ("[delegation]\nmax_escalation_depth = -1", "delegation.max_escalation_depth"),
        ("[access]\nallow = ['ana']", "access.allow"),
        ("[escalation]\ntimeout = 'soon'", "escalation.timeout"),
        ("[escalation]\nlevels = [{to = 'pigeon:1'}]", "escalation.levels.0.to"),
        ("[models.parent]\nmodel = ''", "models.parent.model"),
        ("[session]\nbusy = 'never'", "session.busy"),
        ("[chats.'telegram:-1x']\nmodel = 'a'", 'chats."telegram:-1x": '),
        ("[web]\nallow = ['http://wiki.local/']", "web.allow"),
        ("[telegram]\ntoken = '1:x'\nbase_url = 'localhost'", "telegram.base_url"),
    ],
)
def test_a_fault_names_its_key(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named.replace(".", r"\.")):
        load(written(tmp_path, text), {})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[models.parent]\nmodel = 'x'\napi_key = 'sk-…'", "models.parent.api_key"),
        ("[models.parent]\nmodel = 'x'\napi_key = \"sk-1\\n\"", "models.parent.api_key"),
        ("[models.parent]\nmodel = 'x'\napi_keys = ['sk-1', 'clé']", "models.parent.api_keys.1"),
        ("[models.presets.p]\nmodel = 'x'\napi_key = 'sk-…'", "models.presets.p.api_key"),
        ("[telegram]\ntoken = '123456:…'", "telegram.token"),
        ("[discord]\ntoken = '“token”'", "discord.token"),
    ],
)
def test_a_key_that_no_header_takes_is_refused_and_not_shown(
    tmp_path: Path, text: str, named: str
) -> None:
    """A placeholder that was left standing would be told as an answer that cannot be read."""
    with pytest.raises(ConfigError, match=f"{named}: has a character that no key") as caught:
        load(written(tmp_path, text), {})
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("login", ["me:hunter22@", "hunter22@", ":hunter22@"])
def test_a_login_in_api_base_is_refused_and_not_shown(tmp_path: Path, login: str) -> None:
    text = f"[models.presets.p]\nmodel = 'openai/x'\napi_base = 'https://{login}localhost/v1'"
    with pytest.raises(ConfigError, match=r"models\.presets\.p\.api_base: .*api_key") as caught:
        load(written(tmp_path, text), {})
    assert "hunter22" not in str(caught.value)


def test_an_at_sign_behind_the_host_is_no_login(tmp_path: Path) -> None:
    text = "[models.parent]\nmodel = 'openai/x'\napi_base = 'https://host/v1/@me?to=a//b@c'"
    config = load(written(tmp_path, text), {})
    assert config.models.parent is not None and config.models.parent.api_base is not None


def test_broken_toml_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not valid TOML"):
        load(written(tmp_path, "[telegram"), {})


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "[delegation]\nmax_iterations = 5\n")
    environ = {
        "BOUGH_DELEGATION__MAX_ITERATIONS": "7",
        "BOUGH_ACCESS__ALLOW": "telegram:1, discord:2",
        "BOUGH_MODELS__PARENT__MODEL": "openai/x",
        "BOUGH_TELEGRAM__TOKEN": "1:secret",
    }
    config = load(path, environ)
    assert config.delegation.max_iterations == 7
    assert config.access.allow == ("telegram:1", "discord:2")
    assert config.models.parent is not None
    assert config.models.parent.model == "openai/x"


@pytest.mark.parametrize(("written", "limit"), [("7", 7), ("1", 1), ("0", 1), ("-3", 1)])
def test_the_delegation_pages_own_variable_wins_and_has_a_floor(
    tmp_path: Path, written: str, limit: int
) -> None:
    path = tmp_path / "bough.toml"
    path.write_text("[delegation]\nmax_concurrent_children = 5\n")
    config = load(path, {"DELEGATION_MAX_CONCURRENT_CHILDREN": written})
    assert config.delegation.max_concurrent_children == limit
    assert load(path, {}).delegation.max_concurrent_children == 5


@pytest.mark.parametrize("written", ["many", "2.5", "1e3", "0x10", "-"])
def test_the_delegation_pages_own_variable_is_named_where_it_is_no_number(written: str) -> None:
    with pytest.raises(ConfigError, match="DELEGATION_MAX_CONCURRENT_CHILDREN: is not a whole"):
        load(environ={"DELEGATION_MAX_CONCURRENT_CHILDREN": written})


def test_an_unknown_key_in_the_environment_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"telegram\.tokn"):
        load(written(tmp_path, ""), {"BOUGH_TELEGRAM__TOKN": "x"})


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    config = load(written(tmp_path, "[telegram]\ntoken = '1:hush'"), {})
    assert "hush" not in repr(config)


def test_a_fault_does_not_show_the_value(tmp_path: Path) -> None:
    text = "[telegram]\ntoken = 12345678\n[discord]\ntoken = ['hush']"
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text), {})
    assert "hush" not in str(caught.value)


def test_a_model_that_writes_summaries_must_be_configured(tmp_path: Path) -> None:
    path = written(tmp_path, "[session]\nsummary_model = 'scribe'")
    with pytest.raises(ConfigError, match=r"session\.summary_model: 'scribe' is not configured"):
        load(path, {})
    more = "\n[models.presets.scribe]\nmodel = 'x/cheap'"
    for name in ("scribe", "worker", "x/cheap"):
        path = written(tmp_path, f"[session]\nsummary_model = '{name}'{more}")
        assert load(path, {}).session.summary_model == name


def test_a_price_of_cached_tokens_alone_is_refused(tmp_path: Path) -> None:
    text = "[models.parent]\nmodel = 'x'\ncached_input_cost = 1e-7"
    with pytest.raises(ConfigError, match="cached_input_cost needs input_cost"):
        load(written(tmp_path, text), {})


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("30s", 30), ("10m", 600), ("2d", 172800), ("1.5h", 5400)]
)
def test_durations_are_read_as_seconds(tmp_path: Path, text: str, seconds: float) -> None:
    path = written(tmp_path, f"[escalation]\ntimeout = '{text}'")
    assert load(path, {}).escalation.timeout == seconds


def test_a_level_takes_one_address_or_several(tmp_path: Path) -> None:
    text = "[escalation]\nlevels = [{to = 'telegram:1'}, {to = ['discord:2', 'discord:user:3']}]"
    levels = load(written(tmp_path, text), {}).escalation.levels
    assert levels[0].to == ("telegram:1",)
    assert levels[1].to == ("discord:2", "discord:user:3")


@pytest.mark.parametrize("zone", ["Europe/Berln", "", "../../etc/passwd", "europe/berlin"])
def test_a_time_zone_that_is_none_is_refused(tmp_path: Path, zone: str) -> None:
    with pytest.raises(ConfigError, match=r"tools\.timezone: there is no time zone"):
        load(written(tmp_path, f"[tools]\ntimezone = '{zone}'"), {})


def test_the_variables_of_an_mcp_server_keep_their_names() -> None:
    given = {"BOUGH_MCP__GIT__COMMAND": "x", "BOUGH_MCP__GIT__ENV__API__Key": "one"}
    server = load(environ=given).mcp["git"]
    assert {name: value.get_secret_value() for name, value in server.env.items()} == {
        "API__Key": "one"
    }


def test_keys_of_a_webhook_that_is_not_switched_on_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "[telegram]\ntoken = '1:x'\nwebhook_url = 'https://x.example/h'\nlisten = '[::1]:1'\n"
    assert load(written(tmp_path, text), {}).telegram is not None
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(" does nothing")[0] for line in said] == [
        "bough: telegram.listen",
        "bough: telegram.webhook_url",
    ]
    assert "mode" in said[0] and "x.example" not in said[1]
    load(written(tmp_path, f"{text}mode = 'webhook'\n"), {})
    load(written(tmp_path, "[telegram]\ntoken = '1:x'\n"), {})
    assert capsys.readouterr().err == ""
