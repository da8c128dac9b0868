"""How long a file and a function may be, how full a folder, and that each package says what lives
there."""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = {
    str(path.relative_to(ROOT)): path
    for package in ("gateway", "adapters", "agent", "storage")
    for path in sorted((ROOT / package).rglob("*.py"))
}
LONGEST_FILE = 400
LONGEST_FUNCTION = 50
"""Lines."""
MOST_MODULES = 12
"""Of a folder, but for migrations: each is one more, for ever."""


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    )


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_one_idea_and_a_function_one_step(name: str) -> None:
    text = FILES[name].read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST_FILE
    lengths = {
        one.name: 1 + (one.end_lineno or 0) - one.lineno for one in functions(ast.parse(text))
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def test_a_folder_is_small_enough_to_be_looked_over() -> None:
    modules = Counter(path.parent for path in FILES.values() if not path.stem.startswith("__"))
    del modules[ROOT / "storage/sql/migrations/versions"]
    assert {folder: count for folder, count in modules.items() if count > MOST_MODULES} == {}


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("__init__.py")])
def test_a_package_says_what_lives_there_and_does_nothing_else(name: str) -> None:
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert len(tree.body) == 1


def test_no_module_hides_one_of_the_standard_library() -> None:
    stems = {path.stem for path in FILES.values()} - {"__init__", "__main__"}
    assert stems & sys.stdlib_module_names == set()
