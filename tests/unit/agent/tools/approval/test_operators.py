"""What is taken for one plain command is one for a real shell."""

import random
import shutil
import subprocess

import pytest

from agent.tools.approval.operators import SHELL, has_operators

BASH = shutil.which("bash") or ""
LINES = 400
SCRIPT = """
exec 2>/dev/null
while IFS= read -r -d '' line; do
    n=0
    trap 'n=$((n+1))' DEBUG
    eval "$line"
    trap - DEBUG
    printf '%s ' "$n"
done
"""
"""How many simple commands each line is for the shell, the `eval` and the `trap` at its end
among them."""


@pytest.mark.skipif(not BASH, reason="there is no bash")
def test_a_shell_runs_one_command_where_no_operator_is_found() -> None:
    chance = random.Random(7)
    alphabet = "aab  '\"'\"\\\\#=-~*{}!" + SHELL
    lines: list[str] = []
    while len(lines) < LINES:
        line = "z" + "".join(chance.choice(alphabet) for _ in range(chance.randint(1, 25)))
        if not has_operators(line, "shell"):
            lines.append(line)
    given = "".join(f"{line}\0" for line in lines)
    ran = subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", SCRIPT],
        input=given.encode(),
        capture_output=True,
        env={"PATH": "/nonexistent"},
        check=True,
    )
    counts = [int(count) for count in ran.stdout.split()]
    assert len(counts) == len(lines)
    found = {line: count for line, count in zip(lines, counts, strict=True) if count > 3}
    assert found == {}
