"""Which files make programs run, however their names are written."""

import pytest

from agent.tools.files.programs import FOLDERS, NAMES, run_by, taken_up

RUN = [
    ".git/config",
    ".git",
    "a/.git/hooks/x",
    "bare.git/config",
    "HEAD",
    ".gitattributes",
    ".gitmodules",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "sub/rules.mk",
    "package.json",
    ".npmrc",
    "jest.config.js",
    "conftest.py",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "sitecustomize.py",
    "a.pth",
    ".envrc",
    ".bashrc",
    "Cargo.toml",
    "build.rs",
    ".cargo/config.toml",
    "justfile",
    ".vscode/settings.json",
    ".github/workflows/x.yml",
    ".pre-commit-config.yaml",
    "__pycache__/a.cpython-311.pyc",
    "node_modules/x/index.js",
    ".venv/bin/python",
    # The same to some file system or other.
    ".GIT/Config",
    "MAKEFILE",
    ".g\u200cit/config",
    ".git\u200d/config",
    "\uff2dakefile",
    "git~1/config",
    "GIT~1/hooks/x",
    ".git./config",
    ".git /config",
    ".git::$INDEX_ALLOCATION/config",
    "Makefile::$DATA",
    "./a/./Makefile",
]
OTHERS = [
    "a.py",
    "README.md",
    "src/hooks/use.ts",
    "gitlog.txt",
    "Makefile.txt",
    "my-package.json",
    "a/__init__.py",
    "docs/head/a",
    "config",
    ".gitignore",
    "data.json",
    "",
]


@pytest.mark.parametrize("path", RUN)
def test_it_makes_programs_run(path: str) -> None:
    assert run_by(path)


@pytest.mark.parametrize("path", OTHERS)
def test_others_do_not(path: str) -> None:
    assert run_by(path) is None


def test_the_table_is_written_in_the_form_in_which_names_are_compared() -> None:
    for words in (*NAMES.values(), *FOLDERS.values()):
        for word in words.split():
            assert word == word.casefold()
            made = word.replace("*", "x")
            assert run_by(made) or run_by(f"{made}/x"), word


@pytest.mark.parametrize("name", ["test_a.py", "a_test.go", "x.spec.ts", "TestA.py", "Makefile"])
def test_a_test_is_taken_up_by_its_name(name: str) -> None:
    assert taken_up(name)
    assert not taken_up(f"received-{name}.txt")
