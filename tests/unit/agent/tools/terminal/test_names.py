"""Which files a command line names, and what is said where that cannot be known."""

import os
from pathlib import Path

import pytest

from agent.tools.files.workspace import Workspace
from agent.tools.terminal.named_files import MOST_FILES, Written, named
from agent.tools.terminal.names import MOST_NAMES, names_in


def files(root: Path, line: str, directory: str = "", *, python: bool = False) -> list[str]:
    """The paths that a line is bound to, but for how it is confined and what variables hold."""
    return [path for path in digests(root, line, directory, python=python) if path]


def digests(root: Path, line: str, directory: str = "", *, python: bool = False) -> dict[str, str]:
    look = named(
        Workspace(root),
        1,
        directory,
        line,
        python=python,
        variables={"X": "b.sh"} if "X" in line else {},
        confined="sandboxed",
        written=Written(),
        mask=str,
    ).look
    return dict(look().digests)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "b.sh",
        "a b.sh",
        "x",
        "Makefile",
        "package.json",
        "conftest.py",
        "helper.py",
        "data.json",
        "sub/c.sh",
        "sub/Makefile",
        "sub/deep/d.sh",
        "pkg/__init__.py",
        "pkg/mod.py",
        "pkg/__main__.py",
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/hooks/pre-push.sample",
        "tests/test_a.py",
        "tests/notes.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sh b.sh", ["b.sh"]),
        ("sh ./b.sh; ./x", ["b.sh", "x"]),
        ("sh 'b'.sh", ["b.sh"]),
        ('sh b"."sh', ["b.sh"]),
        (r"sh b\.sh", ["b.sh"]),
        ("sh 'a b.sh'", ["a b.sh", "b.sh"]),
        ("bash -c 'sh \"b.sh\"'", ["b.sh"]),
        ("eval \"bash -c 'sh b.sh'\"", ["b.sh"]),
        ("sh<b.sh", ["b.sh"]),
        ("sh <> b.sh", ["b.sh"]),
        ("cat b.sh|sh", ["b.sh"]),
        ("(sh b.sh)", ["b.sh"]),
        ("sh $X", ["b.sh"]),
        ("sh ${X}", ["b.sh"]),
        ("F=b.sh; sh $F", ["b.sh"]),
        ("sh $PWD/b.sh", ["b.sh"]),
        ("env A=1 F=b.sh sh", ["b.sh"]),
        ("tool --script=b.sh -fx @data.json", ["b.sh", "x", "data.json"]),
        ("cd sub && sh c.sh", ["sub/c.sh"]),
        ("cd sub; cd deep; sh d.sh", ["sub/deep/d.sh"]),
        ("cd sub/deep && sh ../c.sh", ["sub/c.sh"]),
        ("sh su*/c.s?", ["sub/c.sh"]),
        ("sh *b.sh", ["b.sh", "a b.sh"]),
        ("make -C sub", ["Makefile", "sub/Makefile"]),
        ("/usr/bin/make", ["Makefile"]),
        ("npm test", ["package.json"]),
        ("git status", [".git/config", ".git/hooks/pre-commit"]),
        ("python3 -m pkg.mod", ["pkg/__init__.py", "pkg/mod.py"]),
        ("python3 -m pkg", ["pkg/__init__.py", "pkg/__main__.py", "pkg/mod.py"]),
        ("python3 -m helper", ["helper.py"]),
        ("python3 -c 'import helper'", ["helper.py"]),
        ("pytest tests", ["conftest.py", "tests/test_a.py"]),
        ("date >> b.sh", []),
        ("ls sub", []),
        ("tail -n 5 data.json | grep b.sh", []),
        ("cat b.sh; sh", ["b.sh"]),
        ("cat $(sh b.sh)", ["b.sh"]),
        ("cat <(sh b.sh)", ["b.sh"]),
        ("cat b.sh > x; ./x", ["b.sh", "x"]),
        ("cat ../b.sh /etc/passwd nothing", []),
    ],
)
def test_a_line_names_these_files(root: Path, line: str, found: list[str]) -> None:
    assert set(files(root, line)) == set(found)


def test_an_absolute_path_into_the_workspace_names_a_file(root: Path) -> None:
    assert "sub/c.sh" in files(root, f"sh {root}/sub/c.sh")


def test_a_program_names_what_it_imports_and_opens(root: Path) -> None:
    code = "import helper as h\nfrom pkg.mod import x\nopen('data.json')\nos.system('sh sub/c.sh')"
    found = files(root, code, python=True)
    assert {"helper.py", "pkg/mod.py", "data.json", "sub/c.sh"} <= set(found)


def test_a_script_brings_along_what_it_starts_but_no_data(root: Path) -> None:
    (root / "x").write_text("#!/bin/sh\n. sub/c.sh\ncat data.json; sh bare\n")
    (root / "bare").write_text("echo hello")
    (root / "sub" / "c.sh").write_text("cd deep && ./d.sh")
    found = set(files(root, "./x"))
    assert {"x", "sub/c.sh", "bare"} <= found and "data.json" not in found


def test_a_program_for_node_and_a_makefile_bring_along_what_they_load(root: Path) -> None:
    (root / "server.js").write_text("const l = require('./lib');")
    (root / "lib.js").touch()
    (root / "Makefile").write_text("include rules.mk\nall:\n\tpython3 helper.py\n")
    (root / "rules.mk").write_text("")
    assert {"server.js", "lib.js"} <= set(files(root, "node server"))
    assert {"Makefile", "rules.mk", "helper.py"} <= set(files(root, "make"))


def test_a_script_that_starts_python_is_read_as_a_script(root: Path) -> None:
    (root / "b.sh").write_text("#!/bin/bash\nsource sub/c.sh\npython3 helper.py\n")
    assert {"b.sh", "sub/c.sh", "helper.py"} <= set(files(root, "sh ~+/b.sh"))


@pytest.mark.parametrize(
    ("line", "script", "text"),
    [
        ("sh a.sh", "a.sh", ". ./b.txt"),
        ("sh a.sh", "a.sh", "bash -e -o pipefail b.txt"),
        ("sh a.sh", "a.sh", "cd . && python3 b.txt"),
        ("sh a.txt", "a.txt", ". ./b.txt"),
        ("sh a.txt", "a.txt", "sh c.txt"),
        ("sh < a.txt", "a.txt", "source b.txt"),
        ("cat a.txt | sh", "a.txt", ". ./b.txt"),
        ("sh a.py", "a.py", ". ./b.txt"),
        ("python3 a.py", "a.py", "exec(open('b.txt').read())"),
        ("python3 a.py", "a.py", "subprocess.run(['sh', 'b.txt'])"),
        ("python3 a.py", "a.py", "os.system('sh b.txt')"),
        ("perl a.pl", "a.pl", 'require "./b.txt";'),
        ("make", "Makefile", "include b.txt\nall:\n\ttrue"),
    ],
)
def test_what_a_program_runs_is_part_of_it_however_it_is_called(
    root: Path, line: str, script: str, text: str
) -> None:
    (root / script).write_text(text)
    (root / "b.txt").write_text("echo")
    (root / "c.txt").write_text(". ./b.txt")
    assert {script, "b.txt"} <= set(files(root, line))


def test_what_a_program_only_reads_is_no_part_of_it(root: Path) -> None:
    (root / "b.sh").write_text("sh x data.json; grep -f notes.txt x\n")
    (root / "helper.py").write_text("open('log.txt', 'a')\njson.load(open('data.json'))\n")
    for name in ("notes.txt", "log.txt"):
        (root / name).touch()
    assert set(files(root, "sh b.sh; python3 helper.py")) == {"b.sh", "x", "helper.py"}


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("print(1)", True),
        ("python3 helper.py", False),
        ("python3 -c 'print(1)'", False),
        ("env -i python3.11 -m helper", False),
        ("sh b.sh", False),
    ],
)
def test_a_module_in_place_of_pythons_own_is_part_of_it(
    root: Path, line: str, python: bool
) -> None:
    (root / "b.sh").write_text("python3 helper.py\n")
    before = set(files(root, line, python=python))
    assert not before & {"bisect.py", "json/__init__.py"}
    (root / "bisect.py").touch()
    (root / "json").mkdir()
    (root / "json" / "__init__.py").touch()
    (root / "mine.py").touch()
    after = set(files(root, line, python=python))
    assert after - before == {"bisect.py", "json/__init__.py"}


def test_it_is_looked_for_where_the_program_lies(root: Path) -> None:
    (root / "pkg" / "run.py").touch()
    (root / "pkg" / "random.py").touch()
    assert "pkg/random.py" in files(root, "python3 pkg/run.py")


def test_links_are_followed_and_are_part_of_it(root: Path) -> None:
    (root / "l").symlink_to("sub")
    (root / "sub" / "m.sh").symlink_to("../x")
    (root / "out").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    found = digests(root, "sh l/m.sh out loop")
    assert found["l"] == "link sub" and found["sub/m.sh"] == "link ../x" and "x" in found
    assert found["out"] == "link /etc/passwd"
    (root / "l").unlink()
    (root / "l").symlink_to("tests")
    assert digests(root, "sh l/m.sh out loop") != found


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "pipe" not in files(root, "sh pipe")


def test_a_change_of_one_letter_is_seen_whatever_the_times_say(root: Path) -> None:
    (root / "b.sh").write_text("good")
    before, times = digests(root, "sh b.sh"), (root / "b.sh").stat()
    (root / "b.sh").write_text("evil")
    os.utime(root / "b.sh", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digests(root, "sh b.sh") != before


def test_what_is_not_compared_is_said(root: Path) -> None:
    def notes(line: str) -> str:
        look = named(
            Workspace(root),
            1,
            "",
            line,
            python=False,
            variables={},
            confined="",
            written=Written(),
            mask=str,
        ).look
        return " ".join(look().notes)

    for number in range(MOST_FILES + 3):
        (root / f"f{number}.sh").touch()
    assert "3 of them are not compared" in notes("sh f*.sh")
    assert "works out by itself" in notes("sh $(cat y)") and "by itself" in notes("sh {a,b}.sh")
    assert "by itself" not in notes("awk '{print $1}' b.sh; echo $?")
    assert "more than I look through" in notes(" ".join(map(str, range(MOST_NAMES + 1))))
    assert notes("sh b.sh") == ""


def test_long_lines_are_bounded() -> None:
    assert len(names_in("a" * 100_000 + " b" * 100_000, "shell").words) <= MOST_NAMES
    assert len(names_in("'" * 50_001, "shell").words) <= MOST_NAMES
    assert len(names_in('"$(' * 20_000, "shell").words) <= MOST_NAMES
