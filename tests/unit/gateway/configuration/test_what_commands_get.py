"""[tools] read_only and environment: what is refused before anything starts."""

from pathlib import Path

import pytest

from gateway.configuration.config import Config, load
from gateway.configuration.secret_values import secrets_of
from gateway.errors import ConfigError

TOKEN = "123456:AAbbCCddEEffGGhhIIjjKKllMM"
REST = f"""
[telegram]
token = "{TOKEN}"
[models.parent]
model = "demo"
api_key = "sk-key-of-the-model"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the gateway runs."""
    made = tmp_path / "gateway"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def loaded(folder: Path, tools: str, **environ: str) -> Config:
    file = folder / "bough.toml"
    file.write_text(f"[tools]\n{tools}\n{REST}")
    return load(file, environ)


def refused(folder: Path, tools: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as error:
        loaded(folder, tools, **environ)
    return str(error.value)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("toolchain", "no whole path"),
        ("~/.pyenv", "no whole path"),
        ("/opt/../etc", ".. or characters"),
        ("/etc/passwd", "configuration and keys"),
        ("/root", "never shown"),
        ("/", "never shown"),
    ],
)
def test_what_is_never_shown_stops_the_program_with_the_key(
    folder: Path, path: str, why: str
) -> None:
    said = refused(folder, f'read_only = ["{path}"]')
    assert "tools.read_only" in said and why in said


@pytest.mark.parametrize("name", ["bough.toml", "bough.db", "bough.db.blobs", "", "secrets.env"])
def test_what_is_the_gateways_own_is_refused(folder: Path, name: str) -> None:
    (folder / "bough.db.blobs").mkdir()
    for file in ("bough.db", "secrets.env"):
        (folder / file).touch()
    said = refused(folder, f'read_only = ["{folder / name}"]')
    assert "tools.read_only" in said and "never shown to commands" in said


def test_a_folder_of_the_working_folder_may_be_shown_and_no_workspace(folder: Path) -> None:
    (folder / "python").mkdir()
    (folder / "workspaces" / "7").mkdir(parents=True)
    assert loaded(folder, f'read_only = ["{folder}/python"]').tools.read_only
    for name in ("workspaces", "workspaces/7"):
        assert "workspace" in refused(folder, f'read_only = ["{folder / name}"]')


def test_a_path_that_another_machine_has_starts_nobody_less(folder: Path) -> None:
    """Of several processes with one configuration, only workers run commands."""
    assert loaded(folder, 'read_only = ["/opt/python-that-is-elsewhere"]').tools.read_only


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        ('"1A" = "x"', "no name of a variable"),
        ('"A B" = "x"', "no name of a variable"),
        ('LD_PRELOAD = "/x.so"', "before its limits hold"),
        ('LD_LIBRARY_PATH = "/x"', "before its limits hold"),
        ('BASH_ENV = "/x"', "before its limits hold"),
        ('PROMPT_COMMAND = "x"', "before its limits hold"),
        ('A = "x\\ny"', "cannot be seen"),
        ('PATH = ".:$PATH"', "no whole path"),
        ('PATH = "/opt/bin:"', "no whole path"),
        ('PATH = "bin"', "no whole path"),
    ],
)
def test_no_variable_is_set_that_would_change_more_than_programs(
    folder: Path, variable: str, why: str
) -> None:
    said = refused(folder, f"environment = {{ {variable} }}")
    assert "tools.environment" in said and why in said


def test_no_program_is_looked_for_where_an_agent_writes(folder: Path) -> None:
    said = refused(folder, f'environment = {{ PATH = "{folder}/workspaces/7/bin:$PATH" }}')
    assert "tools.environment.PATH" in said and "name of another" in said
    ours = ("/var/cache/agent/bin", "/tmp/bin", "/srv/.app.bough-cache/bin")
    for writable in (*ours, "/proc/self/cwd/bin", "/proc/1/cwd", "/dev/fd/3", "/dev/shm/bin"):
        assert "name of another" in refused(folder, f'environment = {{ PATH = "{writable}" }}')
    said = refused(
        folder, f'workspace = "{folder}/w"\nenvironment = {{ PATH = "{folder}/w/.venv/bin" }}'
    )
    assert "tools.environment.PATH" in said


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        TOKEN.partition(":")[2],
        f"https://bot:{TOKEN}@host/",
        "Bearer sk-key-of-the-model",
        "key-in-the-environment",
    ],
)
def test_no_secret_of_the_gateway_is_given_to_commands(folder: Path, value: str) -> None:
    tools = f'environment = {{ KEY = "{value}" }}'
    said = refused(folder, tools, OPENAI_API_KEY="key-in-the-environment")
    assert "tools.environment.KEY" in said and value not in said


def test_a_key_of_their_own_is_given_and_hidden_from_all_else(folder: Path) -> None:
    given = 'INDEX_TOKEN = "a-key-of-theirs", PIP_INDEX_URL = "https://u:pass-word@host/"'
    config = loaded(folder, f"environment = {{ {given} }}")
    assert config.tools.environment["INDEX_TOKEN"] == "a-key-of-theirs"
    assert {"a-key-of-theirs", "pass-word"} <= secrets_of(config)


def test_a_variable_may_be_set_by_one_of_the_gateways(folder: Path) -> None:
    config = loaded(folder, "", BOUGH_TOOLS__ENVIRONMENT__INDEX_TOKEN="a-key-of-theirs")
    assert config.tools.environment == {"INDEX_TOKEN": "a-key-of-theirs"}
    config = loaded(folder, "", BOUGH_TOOLS__READ_ONLY="/opt/a, /opt/b")
    assert config.tools.read_only == ("/opt/a", "/opt/b")
