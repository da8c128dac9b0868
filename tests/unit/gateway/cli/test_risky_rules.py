"""What doctor says of rules that let calls run unasked."""

from pathlib import Path
from typing import Any

import pytest

from agent.settings import ToolRule
from gateway.cli.doctor import findings
from gateway.cli.risky_rules import RUNNERS, risky_rules
from gateway.configuration.config import Config


def said(match: str | None, tool: str = "run_command", decision: Any = "allow") -> list[str]:
    ask = ToolRule(tool="run_command", match="x", decision="ask")
    return list(risky_rules([ask, ToolRule(tool=tool, match=match, decision=decision)]))


@pytest.mark.parametrize("program", sorted(RUNNERS))
def test_a_rule_that_names_such_a_program_is_told(program: str) -> None:
    (line,) = said(f"^{program} x$")
    assert line.startswith("rule 2 (") and f"allows {program}, which can " in line


@pytest.mark.parametrize(
    ("match", "part"),
    [
        (r"^git (status|diff|log)\b", "use git_status, git_diff and git_log instead"),
        (r"^git (status|diff|log)\b", "does not end in $"),
        (r"\bmake\b", "is not anchored"),
        (r"^cal 20", "does not end in $"),
        (r"cal$", "anywhere in it: begin it with ^"),
        (r"^(npm|yarn) test$", "allows npm, yarn, which can run what files of the workspace say"),
        (r"^ls$|pytest", "is not anchored"),
        (r"^\w+$", "git, hg, svn and"),
        (r"^\S+ x$", "which can run what their arguments or files of the workspace say"),
        (r"ls", "is not anchored"),
        (None, "lets every run_command run unasked"),
        (".*", "lets every run_command run unasked"),
    ],
)
def test_it_says_what_is_wrong(match: str | None, part: str) -> None:
    lines = said(match)
    assert any(part in line for line in lines), lines
    assert all(line.startswith("rule 2 ") and "\n" not in line for line in lines)


@pytest.mark.parametrize("match", [r"^ls( -la?)?$", r"^pwd$", r"^ls \| wc -l$", r"\Adate\Z"])
def test_a_rule_that_is_closed_and_only_looks_is_none(match: str) -> None:
    assert said(match) == []


def test_rules_that_ask_or_deny_and_those_of_other_tools_are_none() -> None:
    assert said("git", decision="deny") == said("git", decision="ask") == []
    assert said("git", tool="write_file") == said(None, tool="fetch_url") == []
    assert said("https://a.example", tool="fetch_url") != []
    assert said(r"https://a\.example/", tool="fetch_*") != []
    assert said(r"^https://a\.example/", tool="fetch_url") == []


def test_an_address_whose_host_may_go_on_is_told() -> None:
    (line,) = said(r"^https://a\.example", tool="fetch_url")
    assert "allows longer names of hosts too: write / behind the host" in line


async def test_doctor_warns_and_finds_no_fault(tmp_path: Path) -> None:
    rules = [{"tool": "run_command", "match": "^git", "decision": "allow"}]
    given = {"storage": {"url": f"sqlite:///{tmp_path}/bough.db"}, "tools": {"rules": rules}}
    found = [one async for one in findings(Config.model_validate(given))]
    warned = [one for one in found if one.warns]
    assert warned and all(one.subject == "tools.rules" and one.ok for one in warned)
