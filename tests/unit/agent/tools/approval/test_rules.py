"""Rules for calls: the first that matches counts, and none lets a chain through by accident."""

import asyncio
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.settings import ToolRule
from agent.tools.approval.operators import SHELL, has_operators
from agent.tools.approval.patterns import guarded, means_anything
from agent.tools.approval.rules import Decided, Decision, Line, Rules
from agent.tools.base import Syntax

Word = Literal["allow", "ask", "deny"]
GIT = r"^git (status|diff|log)\b"
SLOW = r"^(.*?,){25}P"
"""Takes longer than anybody lives on a hundred numbers with commas."""


def rule(decision: Word, match: str | None = None, tool: str = "run_command") -> ToolRule:
    return ToolRule(tool=tool, match=match, decision=decision)


async def decide(
    text: str, *rules: ToolRule, tool: str = "run_command", syntax: Syntax = "shell"
) -> str:
    decided = await Rules(rules).decide(Line(tool, text, syntax))
    return decided.decision if decided is not None else "none"


CHAINS = [
    "git status; rm -rf x",
    "git status && rm -rf x",
    "git status || rm -rf x",
    "git status & rm -rf x",
    "git status | sh",
    "git status\nrm -rf x",
    "git status\r\nrm -rf x",
    "git log > /etc/passwd",
    "git log < /dev/sda",
    "git log `rm -rf x`",
    "git log $(rm -rf x)",
    'git log "$(rm -rf x)"',
    'git log "`rm -rf x`"',
    "git log <(rm -rf x)",
    "git diff $HOME",
    "git log 'a' ; rm 'b'",
    'git log "a\\"" ; rm "b"',
    "git log \\' ; rm \\'",
    "git log it's; rm -rf x",
    "git log # ' \n rm -rf x #'",
    "git log 'a\n' b",
    "git log \\",
    "git log \\\nrm",
    "git log \\; rm",
    "git log 'open",
    'git log "open',
]


@pytest.mark.parametrize("line", CHAINS)
@pytest.mark.parametrize(
    "pattern", [GIT, "^git .*", "^git .+$", r"^git [^x]*", r"^git [\s\S]+", "git"]
)
async def test_a_rule_for_one_command_allows_no_chain(line: str, pattern: str) -> None:
    assert await decide(line, rule("allow", pattern)) == "none"


@pytest.mark.parametrize(
    "line",
    [
        "git status",
        "git log --format='%h; %s | $x'",
        'git log --grep="a; b & c > d"',
        "git diff -- 'it is (here)'",
        'git log --author="Ann \\"A\\" B"',
    ],
)
async def test_a_plain_command_is_allowed_whatever_it_quotes(line: str) -> None:
    assert await decide(line, rule("allow", GIT)) == "allow"


@pytest.mark.parametrize(
    ("pattern", "allowed", "not_allowed"),
    [
        (r"^git log \| head$", "git log | head", "git log | head; rm x"),
        (r"^git log .*\| head -\d+$", "git log -p | head -3", "git log; rm x | head -3"),
        (r"^cd \w+ && make .*", "cd src && make all", "cd src && make all && rm x"),
        (r"^(true|false)[;&] ls$", "true; ls", "true| ls"),
        (r"^ls\x3b pwd$", "ls; pwd", "ls; pwd; rm"),
        (r"^echo .* > \S+\.txt$", "echo a b > c.txt", "echo a > b > c.txt"),
        (r"^(?!.*rm).* \| sort$", "cat x | sort", "cat x | rm | sort"),
        ("^a\nb$", "a\nb", "a\nb\nc"),
    ],
)
async def test_what_a_pattern_names_is_allowed_and_nothing_else(
    pattern: str, allowed: str, not_allowed: str
) -> None:
    assert await decide(allowed, rule("allow", pattern)) == "allow"
    assert await decide(not_allowed, rule("allow", pattern)) == "none"


@pytest.mark.parametrize("pattern", [None, "", "^", ".*", "^.*$", ".+", "^.+$", "(?s).*", "(.*)"])
async def test_a_rule_that_says_anything_allows_anything(pattern: str | None) -> None:
    for line in CHAINS:
        assert await decide(line, rule("allow", pattern)) == "allow"


@pytest.mark.parametrize("decision", ["ask", "deny"])
async def test_what_is_forbidden_is_found_anywhere_in_a_chain(decision: Word) -> None:
    for line in ("rm -rf x", "true; rm -rf x", "echo $(rm x)", "a && ( rm x )", "cat x |rm y"):
        assert await decide(line, rule(decision, r"^rm\b"), rule("allow")) == decision
    assert await decide("echo form", rule(decision, r"^rm\b"), rule("allow")) == "allow"


async def test_the_first_rule_that_matches_counts() -> None:
    rules = (rule("deny", "push"), rule("allow", "^git"), rule("deny"))
    assert await decide("git push", *rules) == "deny"
    assert await decide("git log", *rules) == "allow"
    assert await decide("ls", *rules) == "deny"
    assert await decide("ls", *rules, tool="read_file") == "none"


async def test_a_rule_names_tools_by_a_glob() -> None:
    docs = rule("allow", tool="docs__*")
    assert await decide("{}", docs, tool="docs__find", syntax="") == "allow"
    assert await decide("{}", docs, tool="other__docs__find", syntax="") == "none"
    assert await decide("{}", docs, tool="Docs__find", syntax="") == "none"


async def test_lines_of_other_tools_have_no_operators() -> None:
    line = '{"text":"a; b | c"}'
    assert await decide(line, rule("allow", '"text":"a'), syntax="") == "allow"


async def test_code_is_chained_by_lines_and_semicolons() -> None:
    pattern = r"^print\([\w ]*\)"
    for chain in ("print(a); rm()", "print(a)\nrm()", "print(a)\rrm()"):
        assert await decide(chain, rule("allow", pattern), syntax="python") == "none"
    assert await decide("print(a)", rule("allow", pattern), syntax="python") == "allow"


@pytest.mark.parametrize(
    "pattern",
    [r"^ls (?x) .*", r"^(ls|.*)(?R)", r"^(?=(.*))\1$", r"^\p{Any}+$", r"^ls [[:punct:]]+"],
)
async def test_a_pattern_that_is_not_understood_allows_no_chain(pattern: str) -> None:
    assert guarded(pattern, SHELL) is None


async def test_a_search_that_takes_too_long_asks_and_holds_nobody_up() -> None:
    line = Line("run_command", "1,2,3," * 30, "shell")
    rules = Rules([rule("allow", SLOW), rule("allow")], seconds=1.0)
    deciding = asyncio.create_task(rules.decide(line))
    turns = 0
    while not deciding.done():
        await asyncio.sleep(0.005)
        turns += 1
    assert await deciding == Decided(Decision.ASK, 0)
    assert turns > 2
    for more, decision in ((rule("deny"), "deny"), (rule("ask"), "ask")):
        decided = await Rules([rule("deny", SLOW), more], seconds=0.1).decide(line)
        assert decided is not None and decided.decision == decision


async def test_a_line_too_long_to_be_looked_through_is_asked_for() -> None:
    line = "ls " + "x" * 60_000
    assert await decide(line, rule("allow", "^ls")) == "ask"
    assert await decide(line, rule("deny", "^rm"), rule("allow")) == "ask"
    assert await decide(line, rule("allow")) == "allow"


WILD = st.sampled_from(
    [
        ".",
        r"\S",
        r"\W",
        r"\D",
        r"\s",
        "[^a]",
        "[!-~]",
        r"[\W]",
        "(?s:.)",
        "(?:.)",
        r"[\s\S]",
        "[^\\n]",
    ]
)
PIECES = st.lists(
    st.tuples(
        WILD | st.sampled_from(["a", " ", "git", r"\w"]),
        st.sampled_from(["", "*", "+", "?", "{1,9}"]),
    ),
    min_size=1,
    max_size=6,
)
LINES = st.text(st.sampled_from("ab 'git\\\"-/x" + SHELL + "#"), max_size=30)


@given(PIECES, LINES)
async def test_wildcards_never_match_a_chain(parts: list[tuple[str, str]], line: str) -> None:
    pattern = "^" + "".join(f"{part}{times}" for part, times in parts) + "$"
    if not means_anything(pattern) and has_operators(line, "shell"):
        found = await decide(line, rule("allow", pattern))
        assert found == "none"


@given(LINES)
async def test_a_line_named_in_full_is_allowed_and_no_longer_one(line: str) -> None:
    exact = "".join(f"\\x{ord(one):02x}" for one in line)
    nameless = has_operators(line, "shell") and not any(one in line for one in SHELL)
    if line:
        wanted = "none" if nameless else "allow"
        assert await decide(line, rule("allow", f"^{exact}$")) == wanted
        assert await decide(f"{line};x", rule("allow", f"^{exact}$")) == "none"


@given(st.text(max_size=30))
def test_any_pattern_is_guarded_or_refused(pattern: str) -> None:
    found = guarded(pattern, SHELL)
    assert found is None or len(found) >= len(pattern)


HIDDEN = [
    '{"options": {"path": "docs/a"}, "path": "keys/a"}',
    '{"items": [{"path": "docs/a"}], "path": "keys/a"}',
    '{"items": [[{"path": "docs/a"}]], "path": "keys/a"}',
    '{"note": "\\"path\\": \\"docs/a", "path": "keys/a"}',
    '{"x\\", \\"path\\": \\"docs/": 1, "path": "keys/a"}',
]


@pytest.mark.parametrize("line", HIDDEN)
async def test_no_argument_is_taken_for_another(line: str) -> None:
    allow, deny = rule("allow", '"path": "docs/', "t"), rule("deny", '"path": "keys/', "t")
    assert await decide(line, allow, tool="t", syntax="json") == "none"
    assert await decide(line, allow, deny, tool="t", syntax="json") == "deny"


async def test_an_argument_of_the_call_itself_is_matched_as_before() -> None:
    allow = rule("allow", '"path": "docs/', "t")
    for line in ('{"path": "docs/a"}', '{"list": ["a", 1], "path": "docs/a"}'):
        assert await decide(line, allow, tool="t", syntax="json") == "allow"
    whole = rule("allow", r'^\{"labels": \["a", "b"\]\}$', "t")
    assert await decide('{"labels": ["a", "b"]}', whole, tool="t", syntax="json") == "allow"


@pytest.mark.parametrize(
    "match",
    [r'^\{"path": "keys/', r'^\{"path": "keys/a"\}$', r'^(?!.*"path": "docs/)', '"path": "keys/'],
)
async def test_nothing_that_is_sent_along_evades_a_rule_that_forbids(match: str) -> None:
    for line in ('{"path": "keys/a"}', '{"a": 1, "path": "keys/a", "z": 2}', HIDDEN[0]):
        found = await decide(line, rule("deny", match, "t"), tool="t", syntax="json")
        assert found == "deny", line
    nested = '{"options": {"path": "keys/a"}}'
    deny = rule("deny", '"path": "keys/', "t")
    assert await decide(nested, deny, tool="t", syntax="json") == "deny"
