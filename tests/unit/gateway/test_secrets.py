"""What is secret, and that neither a log nor an export says it."""

import argparse
import json
import logging
import sys
from base64 import b64encode
from io import StringIO
from typing import Any

import pytest

from gateway.cli.main import FAILURE, run
from gateway.configuration.config import Config
from gateway.configuration.secret_values import (
    all_secrets,
    environment_secrets,
    secrets_of,
    too_short,
)
from gateway.logs import VERBOSE, Shape, WithoutSecrets, hide, log_to_stderr, shape_log
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
        "discord": {"token": "disco-token", "gateway_url": "wss://g.example/?auth=gate-key"},
        "models": {"presets": {"p": {"model": "x", "api_base": BASE}}},
    }
)


def test_what_urls_of_a_configuration_carry_is_secret() -> None:
    found = secrets_of(CONFIG)
    assert {
        "pa%24s%2Fw0rd", "pa$s/w0rd", "qu3ry-key", "db-pass", "t0ken-alone", "gate-key",
        "disco-token", "Ym9iOnBhJHMvdzByZA==",
    } <= found  # fmt: skip
    assert found.isdisjoint({"bob", "me", "2024-10-21", "models.example"})


def config(**sections: Any) -> Config:
    return Config.model_validate(sections)


@pytest.mark.parametrize("url", [
    "postgresql://bough@db.example/bough", "postgresql://bough@/bough?host=/run/postgresql",
    "postgresql://bough:bough@bough/bough", "postgresql+psycopg://gateway@db/gateway",
])  # fmt: skip
def test_the_user_of_a_database_is_no_secret(url: str) -> None:
    told = redactor(secrets_of(config(storage={"url": url})))
    line = "gateway.app: @bough_bot serves bough.toml, for bough at gateway"
    assert told(line) == line


def test_a_password_that_is_a_users_name_is_hidden_in_its_url() -> None:
    url = "postgresql://bough:bough@db/bough"
    assert redactor(secrets_of(config(storage={"url": url})))(url) == (
        f"postgresql://bough:{REDACTED}@db/bough"
    )


def preset(api_base: str) -> dict[str, Any]:
    return {"models": {"presets": {"p": {"model": "x", "api_base": api_base}}}}


SERVER = {"mcp": {"s": {"url": "https://mcp.example/u/4f9d0c1be27a4d5fa0b1/mcp?t=x"}}}
HEADERS = {
    "url": "https://mcp.example/",
    "headers": {"Authorization": "Basic Ym9iOnMzY3JldC1vbmU="},
}
PROGRAM = {
    "command": "serve",
    "args": ["--api-key", "argu-ment", "--token=equ-als", "--db", "redis://:rediss-pass@r/0"],
    "env": {"SERVICE_PAT": "plainword", "X": "a1b2c3d4e5", "MODE": "production", "ON": "true"},
}


@pytest.mark.parametrize(
    ("sections", "secret"),
    [
        (preset("https://m.example/v1?token=query-tok"), "query-tok"),
        (preset("https://m.example/v1?code=query-code"), "query-code"),
        (preset("https://m.example/v1?authToken=camel-tok"), "camel-tok"),
        (preset("https://m.example/v1?x=a1b2c3d4e5f6a7b8"), "a1b2c3d4e5f6a7b8"),
        (preset("https://m.example/v1#access_token=in-fragment"), "in-fragment"),
        ({"telegram": {"token": "12:ab-cdefg", "base_url": "http://h/bot7:per-path/"}}, "per-path"),
        ({"telegram": {"token": "12:ab-cdefg", "webhook_secret": "web-hook"}}, "web-hook"),
        ({"web": {"search_key": "search-key"}}, "search-key"),
        (SERVER, "4f9d0c1be27a4d5fa0b1"),
        ({"mcp": {"s": HEADERS}}, "s3cret-one"),
        ({"mcp": {"s": PROGRAM}}, "argu-ment"),
        ({"mcp": {"s": PROGRAM}}, "equ-als"),
        ({"mcp": {"s": PROGRAM}}, "rediss-pass"),
        ({"mcp": {"s": PROGRAM}}, "plainword"),
        ({"mcp": {"s": PROGRAM}}, "a1b2c3d4e5"),
        ({"otel": {"endpoint": "https://o.example/v1/traces?key=otel-key"}}, "otel-key"),
        ({"storage": {"url": "postgresql://u@db/x?password=in-query"}}, "in-query"),
    ],
)
def test_a_secret_is_found_wherever_it_stands(sections: dict[str, Any], secret: str) -> None:
    told = redactor(secrets_of(config(**sections)))
    forms = [secret, secret.upper(), json.dumps({"v": json.dumps(secret)})]
    forms.append(b64encode(secret.encode()).decode())
    for form in forms:
        assert not told(f"it said {form} there").count(form)


def test_what_a_server_is_told_besides_is_no_secret() -> None:
    line = "in production it is true that ollama/llama3 answers"
    sections = {"mcp": {"s": PROGRAM}, **preset("http://localhost/v1")}
    sections["models"]["presets"]["p"]["api_key"] = "ollama"
    assert redactor(secrets_of(config(**sections)))(line) == line


def test_a_short_secret_garbles_no_text_and_is_named() -> None:
    given = config(
        telegram={"token": "7:abc"},
        storage={"url": "postgresql://me:data@db/x"},
        discord={"token": "window"},
    )
    told = redactor(secrets_of(given))
    line = "abc of the database, some data, seen in windows"
    assert told(line) == line
    assert told("the token window is wrong") == f"the token {REDACTED} is wrong"
    assert told("postgresql://me:data@db/x") == f"postgresql://me:{REDACTED}@db/x"
    assert too_short(given) == ["storage.url"]


def test_what_was_secret_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    root, out = logging.getLogger(), StringIO()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(sys, "stderr", out)
    log_to_stderr(root.level, {"in-use-still"})
    shape_log({"in-the-file-now"}, Shape())
    hide({"third-one"})
    root.error("in-use-still, in-the-file-now, third-one")
    assert out.getvalue().rstrip().endswith(f"{REDACTED}, {REDACTED}, {REDACTED}")


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
