"""What bough doctor says of rules that let calls run unasked: which allow more than they seem to.

A rule that allows a command line allows what that program can be made to do: by its options, and by
files of the workspace, which an agent may write. Pure.
"""

import re
from collections.abc import Iterator, Sequence

from agent.settings import ToolRule
from agent.tools.approval.patterns import means_anything
from agent.tools.approval.rules import Decision, Line, Rules

_LINES = ("run_command", "execute_code", "fetch_url")
"""Tools whose rules match a line as it will run."""
_BY_FILES = "run what files of the workspace say"
_ANYTHING = "run any program"
_CODE = "run any code"


def _each(programs: str, why: str) -> dict[str, str]:
    return dict.fromkeys(programs.split(), why)


RUNNERS = {
    **_each(
        "git hg svn",
        "run programs that the repository names, and write any file; use git_status, git_diff and "
        "git_log instead",
    ),
    **_each(
        "make gmake cmake ninja just task rake ant mvn gradle bazel scons meson tox "
        "nox invoke fab pre-commit direnv",
        _BY_FILES,
    ),
    **_each(
        "npm npx pnpm yarn bun bunx deno tsc eslint jest vitest pytest py.test "
        "unittest mypy pylint flake8 cargo rustc go bundle gem rspec composer mix "
        "dotnet swift cabal stack",
        _BY_FILES,
    ),
    **_each(
        "pip pip3 pipx uv uvx poetry pdm hatch conda apt apt-get",
        "install packages and run their code",
    ),
    **_each(
        "python python3 python2 pypy pypy3 node nodejs ruby perl php lua Rscript java "
        "sh bash dash zsh ksh fish busybox awk gawk mawk sed ed ex vi vim nvim emacs "
        "sqlite3 psql mysql gdb jq bc dc tclsh expect pwsh",
        _CODE,
    ),
    **_each(
        "env xargs find fd parallel nohup nice time timeout watch setsid stdbuf strace "
        "sudo doas su exec eval source command xdg-open script flock chroot unshare "
        "entr rg less more man",
        _ANYTHING,
    ),
    **_each(
        "tar zip unzip 7z cpio rsync cp mv ln tee dd install",
        "write any file of the workspace, and run programs by some options",
    ),
    **_each(
        "ssh scp sftp docker podman kubectl systemctl systemd-run curl wget nc ncat socat",
        "reach beyond the workspace, or run programs by some options",
    ),
}
"""Program → why a rule that allows it allows more than it says."""
_SAMPLES = ("{}", "{} x", "{} -c x", "{} status", "{} test", "{} -m x", "{} run x", "{} x.sh")
_ESCAPES = re.compile(r"\\[A-Za-z]")
_WORD = re.compile(r"[A-Za-z0-9][\w.+-]*")
_OPEN_HOST = re.compile(r"://[^/]*(?<![$/])\Z")
"""A pattern of addresses that ends within the host."""
_FEW = 3


def risky_rules(rules: Sequence[ToolRule]) -> Iterator[str]:
    """A line for each thing to know, with the number of the rule."""
    for number, rule in enumerate(rules, 1):
        about = [tool for tool in _LINES if Rules([rule]).of(tool)]
        if rule.decision != "allow" or not about:
            continue
        if means_anything(rule.match or ""):
            if what := [tool for tool in about if tool != "fetch_url"]:
                yield f"rule {number} lets every {' and '.join(what)} run unasked"
            continue
        pattern = rule.match or ""
        open_end = about != ["fetch_url"] and not _ends(pattern)
        if not _begins(pattern):
            fix = "begin it with ^ and end it with $" if open_end else "begin it with ^"
            yield (
                f"rule {number} ({pattern}) is not anchored, so it allows every line that has "
                f"this anywhere in it: {fix}"
            )
        elif open_end:
            yield (
                f"rule {number} ({pattern}) does not end in $, so any options and arguments may "
                "follow"
            )
        elif about == ["fetch_url"] and any(_OPEN_HOST.search(way) for way in _ways(pattern)):
            yield (
                f"rule {number} ({pattern}) allows longer names of hosts too: write / behind the "
                "host"
            )
        if "run_command" in about:
            yield from _programs(number, pattern)


def _programs(number: int, pattern: str) -> Iterator[str]:
    """Those that it lets run, of which each runs others."""
    words = set(_WORD.findall(_ESCAPES.sub(" ", pattern)))
    named = [name for name in RUNNERS if name in words]
    if not named and _begins(pattern):
        rules = Rules([ToolRule(tool="run_command", match=pattern, decision="allow")])
        if any_of := [name for name in RUNNERS if _allows(rules, name)]:
            yield (
                f"rule {number} ({pattern}) allows {_listed(any_of)}, which can run what their "
                "arguments or files of the workspace say"
            )
    for why in dict.fromkeys(RUNNERS[name] for name in named):
        same = [name for name in named if RUNNERS[name] == why]
        yield f"rule {number} ({pattern}) allows {_listed(same)}, which can {why}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_FEW])
    return f"{shown} and {len(names) - _FEW} more" if len(names) > _FEW else shown


def _allows(rules: Rules, program: str) -> bool:
    lines = (Line("run_command", sample.format(program), "shell") for sample in _SAMPLES)
    decided = (rules.decide_now(line) for line in lines)
    return any(one is not None and one.decision is Decision.ALLOW for one in decided)


def _begins(pattern: str) -> bool:
    """Whether each way through it begins at the beginning of a line."""
    return all(way.startswith(("^", r"\A")) for way in _ways(pattern))


def _ends(pattern: str) -> bool:
    return all(way.endswith(("$", r"\Z", r"\z")) for way in _ways(pattern))


def _ways(pattern: str) -> list[str]:
    """The alternatives at the top of a pattern."""
    depth, start, ways, in_class, at = 0, 0, [], False, 0
    while at < len(pattern):
        match pattern[at]:
            case "\\":
                at += 1
            case "[" if not in_class:
                in_class = True
            case "]" if in_class:
                in_class = False
            case "(" if not in_class:
                depth += 1
            case ")" if not in_class:
                depth -= 1
            case "|" if not in_class and depth == 0:
                ways.append(pattern[start:at])
                start = at + 1
        at += 1
    return [*ways, pattern[start:]]
