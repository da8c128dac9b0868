"""What the documents say of toolsets and of rules for calls, tried on calls."""

import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import agent.tools
from agent.settings import TOOLSETS, ToolRule
from agent.tools.approval.rules import Decision, Line, Rules
from agent.tools.base import Syntax, Toolset, Traits, is_parent_only
from gateway.cli.demo.workspace import ALLOWED
from gateway.cli.risky_rules import risky_rules
from gateway.configuration.tool_names import TOOLS

ROOT = Path(__file__).parents[3]
DOCUMENTS = "\n".join(
    (ROOT / folder / "README.md").read_text(encoding="utf-8")
    for folder in (".", "gateway", "agent", "adapters", "storage", "deploy")
)
TEXT = (ROOT / "gateway" / "README.md").read_text(encoding="utf-8")
SECTION = re.split(r"^### ", TEXT.split("### Approval of calls\n", 1)[1], flags=re.MULTILINE)[0]
WORDS = {"runs": Decision.ALLOW, "is denied": Decision.DENY, "asks": None}
SHOWN = re.findall(r"^\| `(\w+)` `(.*)` \| ([\w ]+) \|$", SECTION, re.MULTILINE)


def rules() -> Rules:
    block = re.findall(r"^```toml\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)[0]
    return Rules(ToolRule.model_validate(rule) for rule in tomllib.loads(block)["tools"]["rules"])


def decided(given: Rules, tool: str, text: str) -> Decision | None:
    syntax: Syntax = "shell" if tool == "run_command" else "json"
    found = given.decide_now(Line(tool, text, syntax))
    return None if found is None else found.decision


def test_calls_are_shown_for_every_decision() -> None:
    assert {outcome for _, _, outcome in SHOWN} == set(WORDS)


@pytest.mark.parametrize(("tool", "text", "outcome"), SHOWN)
def test_what_becomes_of_a_call_is_what_is_shown(tool: str, text: str, outcome: str) -> None:
    assert decided(rules(), tool, text.replace("\\|", "|")) is WORDS[outcome]


def test_doctor_has_nothing_to_say_of_a_rule_that_is_shown() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```$", DOCUMENTS, re.MULTILINE | re.DOTALL)
    given = [tomllib.loads(block).get("tools", {}).get("rules", []) for block in blocks]
    shown = [ToolRule.model_validate(rule) for rules in given for rule in rules]
    assert len(shown) >= 5
    assert list(risky_rules(shown)) == []


def test_what_an_allowed_line_is_shown_for_can_be_attacked_in_no_way_that_is_known() -> None:
    for attack in (
        "git log -1 --output=.git/config",
        "git -c core.fsmonitor=x status",
        "git diff --ext-diff",
        "ls --color=x",
        "ls -l -a; id",
        "ls -l\n./x",
        "ls -la /",
        "ls $(id)",
        "ls ~",
        "ls | wc -l x",
        "ls | wc -l; id",
        "X=1 ls",
        "./ls",
        "ls -l ",
    ):
        assert decided(rules(), "run_command", attack) is not Decision.ALLOW, attack


def test_the_tour_is_spared_questions_for_its_tests_and_no_chain() -> None:
    given = Rules(ToolRule(tool=tool, match=match, decision="allow") for tool, match in ALLOWED)
    for command in (
        "cd foo",
        "python3 -m unittest",
        "python3 -m unittest discover -s tests/auth -t .",
    ):
        assert decided(given, "run_command", command) is Decision.ALLOW
    for command in (
        "cd ..",
        "cd foo; rm x",
        "python3 -m unittest x",
        "python3 -m unittest && date >> tested.txt",
    ):
        assert decided(given, "run_command", command) is None


def known_tools() -> dict[str, set[str]]:
    """Toolset → the names of all tools in the code that come with it."""
    found: dict[str, set[str]] = {}
    for module in pkgutil.walk_packages(agent.tools.__path__, "agent.tools."):
        for one in vars(importlib.import_module(module.name)).values():
            name, traits = getattr(one, "name", None), getattr(one, "traits", None)
            if isinstance(one, type) and isinstance(name, str) and isinstance(traits, Traits):
                found.setdefault(traits.toolset or "", set()).add(name)
    return found


def test_the_table_of_toolsets_has_every_tool() -> None:
    section = TEXT.split("## Switching tools on\n", 1)[1].split("\n#", 1)[0]
    assert set().union(*known_tools().values()) == set(TOOLS)
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (yes|no) \| .* \|$", section, re.MULTILINE)
    shown = {toolset: set(re.findall(r"`(\w+)`", tools)) for toolset, tools, _ in rows}
    known = known_tools()
    assert shown == {toolset: names for toolset, names in known.items() if toolset in TOOLSETS}
    assert {toolset: children == "no" for toolset, _, children in rows} == {
        toolset: is_parent_only(toolset) for toolset in shown
    }
    assert set(shown) == set(TOOLSETS) <= set(Toolset)
