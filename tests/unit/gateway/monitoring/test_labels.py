"""The names that things are counted by are those that the program has."""

import ast
from pathlib import Path

from agent.tools.approval import answer
from agent.tools.clarify import KIND
from gateway.monitoring import labels

ROOT = Path(__file__).parents[4]


def tool_names() -> set[str]:
    """What the classes of tools below agent/tools are called, those of servers aside."""
    found = set()
    for path in (ROOT / "agent" / "tools").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            fields = {
                target.id: statement.value
                for statement in node.body
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                if isinstance(target, ast.Name)
            }
            name = fields.get("name")
            if {"traits", "description"} & fields.keys() and isinstance(name, ast.Constant):
                found.add(str(name.value))
    return found


def test_every_tool_of_ours_has_a_name_of_its_own() -> None:
    assert tool_names() == set(labels.TOOL) - {"mcp", labels.OTHER}


def test_every_kind_of_question_has_a_name_of_its_own() -> None:
    assert {KIND, answer.KIND} < set(labels.QUESTION)


def test_each_name_stands_once_and_is_short() -> None:
    groups = [value for name, value in vars(labels).items() if name.isupper()]
    for names in (group for group in groups if isinstance(group, tuple)):
        assert len(names) == len(set(names))
        assert all(len(name) <= 20 and name == name.lower() for name in names)
