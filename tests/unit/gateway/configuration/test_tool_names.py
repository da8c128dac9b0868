"""A rule or an address that names nothing is refused when the configuration is read."""

from pathlib import Path
from typing import Any

import pytest

from gateway.configuration.config import Config, checked, load
from gateway.configuration.tool_names import unknown_to_server, unknown_tools
from gateway.errors import ConfigError


def said(tool: str, mcp: dict[str, Any] | None = None) -> str:
    given = {"tools": {"rules": [{"tool": tool, "decision": "deny"}]}, "mcp": mcp or {}}
    config = Config.model_validate(given)
    return "\n".join(unknown_tools(config.tools.rules, config.mcp))


GIT = {"git": {"command": "x"}}
LISTED = {"git": {"command": "x", "tools": ["git_log"]}}


@pytest.mark.parametrize(
    ("tool", "mcp", "meant"),
    [
        ("fetch_ulr", {}, "Did you mean fetch_url?"),
        ("Run_Command", {}, "Did you mean run_command?"),
        ("gitstatus", {}, "Did you mean git_status?"),
        ("fecth*", {}, "Did you mean fetch_url?"),
        ("git__log", {}, "there is no [mcp.git]."),
        ("gti__*", {"git": {"command": "x"}}, "there is no [mcp.gti]."),
        ("tikets__*", {"tickets": {"command": "x"}}, "Did you mean tickets__?"),
        ("git__git_lgo", LISTED, "Did you mean git__git_log?"),
        ("git__?", LISTED, "is no tool."),
        ("delegate_task", {}, "no rule is tried on 'delegate_task'"),
        ("zzz", {}, "is no tool. Tools are think, clarify"),
    ],
)
def test_a_rule_for_no_tool_is_told_with_what_was_meant(
    tool: str, mcp: dict[str, Any], meant: str
) -> None:
    text = said(tool, mcp)
    assert text.startswith("tools.rules, rule 1: tool: ")
    assert meant in text


@pytest.mark.parametrize(
    ("tool", "mcp"),
    [
        ("fetch_url", {}),
        ("*", {}),
        ("*_file", {}),
        ("?et*", {}),
        ("git__anything", GIT),
        ("git__*", GIT),
        ("*__git_log", GIT),
        ("g*__x", GIT),
        ("?it_[_]*", GIT),
        ("git__git_log", LISTED),
    ],
)
def test_a_rule_that_can_match_is_taken(tool: str, mcp: dict[str, Any]) -> None:
    assert said(tool, mcp) == ""


def test_such_a_file_does_not_load(tmp_path: Path) -> None:
    path = tmp_path / "bough.toml"
    path.write_text('[[tools.rules]]\ntool = "fetch_ulr"\ndecision = "deny"\n')
    with pytest.raises(ConfigError, match="Did you mean fetch_url"):
        load(path, {})


def test_a_running_server_says_what_it_has() -> None:
    rules = Config.model_validate(
        {"tools": {"rules": [{"tool": t, "decision": "ask"} for t in ("*", "git__lgo", "git__l*")]}}
    ).tools.rules
    (line,) = unknown_to_server(rules, "git", ["git__log"])
    assert line.startswith("rule 2 of tools.rules") and line.endswith("Did you mean git__log?")


PLACES: tuple[dict[str, Any], ...] = (
    {"chats": {"{}": {"stream": False}}},
    {"tools": {"message_targets": ["{}"]}},
    {"escalation": {"levels": [{"to": ["{}"]}]}},
)
PEOPLE: tuple[dict[str, Any], ...] = (
    {"access": {"allow": ["{}"]}},
    {"access": {"owners": ["{}"]}},
    {"access": {"approvers": ["{}"]}},
    {"tools": {"approvers": ["{}"]}},
    {"escalation": {"levels": [{"approvers": ["{}"]}]}},
)


def with_(given: Any, value: str) -> Any:
    match given:
        case dict():
            return {key.replace("{}", value): with_(one, value) for key, one in given.items()}
        case list():
            return [with_(one, value) for one in given]
        case str():
            return given.replace("{}", value)
        case _:
            return given


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("telegram:-100123abc", "Did you mean telegram:-100123?"),
        ("telegram:-100/topic", "Did you mean telegram:-100?"),
        ("telegram: 7", "Did you mean telegram:7?"),
        ("telgram:-5", "Did you mean telegram:-5?"),
        ("discord:user:42x", "Did you mean discord:user:42?"),
        ("telegram:GROUP", "by number"),
    ],
)
def test_an_address_that_is_none_is_refused_wherever_it_stands(
    place: dict[str, Any], address: str, meant: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        checked(with_(place, address))
    assert meant in str(raised.value)


@pytest.mark.parametrize("place", PEOPLE)
@pytest.mark.parametrize(
    ("person", "meant"),
    [
        ("telegram:1001a", "Did you mean telegram:1001?"),
        ("telgram:5", "Did you mean telegram:5?"),
        ("1001", "Did you mean telegram:1001 or discord:1001?"),
        ("telegram:-100123", "is a group; people have numbers without -"),
        ("telegram:YOUR_NUMBER", "write to the bot, and it says who you are"),
    ],
)
def test_a_person_who_is_none_is_refused_wherever_they_stand(
    place: dict[str, Any], person: str, meant: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        checked(with_(place, person))
    assert meant in str(raised.value)


def test_messages_come_from_no_name() -> None:
    assert checked({"tools": {"message_targets": ["telegram:@news", "telegram:-100/7"]}})
    with pytest.raises(ConfigError, match="messages come from numbers"):
        checked({"chats": {"telegram:@news": {"stream": False}}})
