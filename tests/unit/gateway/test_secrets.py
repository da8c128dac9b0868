"""What is secret, and that neither a log nor an export says it."""

import argparse
import logging
import sys
from io import StringIO

import pytest

from gateway.cli.main import FAILURE, run
from gateway.configuration.config import Config
from gateway.configuration.secret_values import all_secrets, environment_secrets, secrets_of
from gateway.logs import VERBOSE, WithoutSecrets, log_to_stderr
from storage.errors import StoreUnavailable
from storage.interchange.redaction import REDACTED, redactor
from storage.sql.dialect import database_of

LOGIN = "https://bob:pa%24s%2Fw0rd@files.example/bot"
BASE = "https://models.example/v1?key=qu3ry-key&api-version=2024-10-21"
CONFIG = Config.model_validate(
    {
        "storage": {"url": "postgresql://me:db-pass@host/x"},
        "telegram": {
            "token": "1:Tele-Token",
            "base_url": "http://t0ken-alone@proxy.example/bot",
            "base_file_url": LOGIN,
        },
        "discord": {"token": "disc", "gateway_url": "wss://g.example/?auth=gate-key"},
        "models": {"presets": {"p": {"model": "x", "api_base": BASE}}},
    }
)


def test_what_urls_of_a_configuration_carry_is_secret() -> None:
    found = secrets_of(CONFIG)
    assert {
        "pa%24s%2Fw0rd", "pa$s/w0rd", "qu3ry-key", "db-pass", "t0ken-alone", "gate-key", "disc",
        "Ym9iOnBhJHMvdzByZA==",
    } <= found  # fmt: skip
    assert found.isdisjoint({"bob", "me", "2024-10-21", "models.example"})


def test_what_telling_names_of_the_environment_hold_is_secret() -> None:
    environ = {
        "OPENAI_API_KEY": "from-openai",
        "AWS_SECRET_ACCESS_KEY": "from-amazon",
        "GITHUB_TOKEN": "from-github",
        "BOUGH_MODELS__PARENT__API_KEYS": "first-of-two, second-of-two",
        "DB_PASSWORD": "hunter2hunter2",
        "HTTPS_PROXY": "http://me:proxy-pass@proxy:3128",
        "MYSQL_PWD": "hunter3hunter3",
        "PWD": "/srv/where/it/runs",
        "MAX_TOKENS": "1234567890",
        "SSH_AUTH_SOCK": "/tmp/agent.socket",
        "MONKEY": "just a monkey",
        "SOME_KEY": "short",
        "PATH": "/usr/bin:/usr/local/bin",
    }
    assert environment_secrets(environ) == {
        "from-openai", "from-amazon", "from-github", "first-of-two", "second-of-two",
        "first-of-two, second-of-two", "hunter2hunter2", "hunter3hunter3", "proxy-pass",
        "bWU6cHJveHktcGFzcw==",
    }  # fmt: skip


@pytest.mark.parametrize(
    "form", ["Se cret/ü+1", "se cret/ü+1", "SE%20CRET/%C3%BC%2B1", "Se+cret%2F%c3%bc%2B1",
             "Se cret/\\u00fc+1", "Se cret/\\xc3\\xbc+1"],
)  # fmt: skip
def test_a_secret_is_known_in_every_form(form: str) -> None:
    assert redactor(["Se cret/ü+1"])(f"<{form}>") == f"<{REDACTED}>"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https://abcdefghij0123456789xyz@host/x", f"https://{REDACTED}@host/x"),
        ("GET https://host/x?key=abc123&n=1", f"GET https://host/x?key={REDACTED}&n=1"),
        ("'Authorization': 'Custom abc123def456'", f"'Authorization': 'Custom {REDACTED}'"),
        ("proxy-authorization: abc123def456", f"proxy-authorization: {REDACTED}"),
        ("Authorization: see the manual", "Authorization: see the manual"),
        ("https://host/x?keyboard=abcdef", "https://host/x?keyboard=abcdef"),
    ],
)
def test_headers_and_urls_that_look_like_it_are_taken_out(text: str, left: str) -> None:
    assert redactor(())(text) == left


def test_a_line_of_a_log_has_no_secret_in_its_words_values_or_traceback() -> None:
    out = StringIO()
    handler = logging.StreamHandler(out)
    environ = {"OPENAI_API_KEY": "from-environment"}
    handler.setFormatter(WithoutSecrets(all_secrets(CONFIG, environ)))
    logger = logging.Logger("library")
    logger.addHandler(handler)
    try:
        try:
            raise OSError(f"POST {BASE}")
        except OSError as error:
            raise ValueError("the key FROM-ENVIRONMENT is wrong") from error
    except ValueError:
        logger.exception("no answer of %s with %r", BASE, {"x-api-key": "1:Tele-Token"})
    logger.warning("stack", stack_info=True)
    shown = out.getvalue()
    assert "Traceback" in shown and "models.example" in shown and "OSError" in shown
    for secret in ("pa%24s", "qu3ry", "from-environment", "tele-token"):
        assert secret not in shown.casefold()


@pytest.mark.parametrize(("level", "warnings"), [(logging.DEBUG, 1), (logging.INFO, 0)])
def test_to_log_everything_is_said_once(
    level: int, warnings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = logging.getLogger(), StringIO()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(sys, "stderr", out)
    before = root.level
    try:
        log_to_stderr(level, {"hunter2"})
        logging.getLogger("x").error("hunter2 came")
    finally:
        root.setLevel(before)
    assert out.getvalue().count(VERBOSE) == warnings
    assert "hunter2" not in out.getvalue()


def test_a_fault_that_nobody_foresaw_goes_through_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert run(argparse.Namespace()) == FAILURE  # has no command
    assert "stopped by a fault of its own" in caplog.text


@pytest.mark.parametrize("url", ["mysql://host/bough", "bough.db"])
def test_how_to_write_the_url_of_a_database_is_shown_whole(url: str) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        database_of(url)
    assert "postgresql://" in str(refused.value)
    assert redactor(())(str(refused.value)) == str(refused.value)
