"""How long a file and a function may be, how full a folder, and that each package says what lives
there."""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = {
    str(path.relative_to(ROOT)): path
    for package in ("gateway", "adapters", "agent", "storage")
    for path in sorted((ROOT / package).rglob("*.py"))
}
LONGEST_FILE = 500
LONGEST_FUNCTION = 50
"""Lines."""
MOST_MODULES = 20
"""Of a folder, but for migrations: each is one more, for ever."""


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_a_file_is_one_idea_and_a_function_one_step() -> None:
    too_long = {}
    for name, path in FILES.items():
        text = path.read_text(encoding="utf-8")
        if (lines := text.count("\n")) > LONGEST_FILE:
            too_long[name] = lines
        for one in functions(ast.parse(text)):
            if (lines := 1 + (one.end_lineno or 0) - one.lineno) > LONGEST_FUNCTION:
                too_long[f"{name}: {one.name}"] = lines
    assert too_long == {}


def test_a_folder_is_small_enough_to_be_looked_over() -> None:
    modules = Counter(path.parent for path in FILES.values() if not path.stem.startswith("__"))
    del modules[ROOT / "storage/sql/migrations/versions"]
    assert {folder: count for folder, count in modules.items() if count > MOST_MODULES} == {}


def test_a_package_says_what_lives_there_and_does_nothing_else() -> None:
    packages = {n: ast.parse(p.read_text()) for n, p in FILES.items() if n.endswith("__init__.py")}
    wrong = [n for n, t in packages.items() if not ast.get_docstring(t) or len(t.body) != 1]
    assert wrong == []


def test_no_module_hides_one_of_the_standard_library() -> None:
    stems = {path.stem for path in FILES.values()} - {"__init__", "__main__"}
    assert stems & sys.stdlib_module_names == set()
