"""What a command line or a program may name of the workspace: words that could be files, and the
files that well-known programs read by themselves. Pure.

No parser of the shell: it errs to the side of more names. A name that is no file costs a look. What
only the shell can work out is reported as unclear.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from agent.tools.base import Syntax

MOST_NAMES = 400
"""Of one line or file."""
LONGEST_NAME = 300
"""Characters."""
_DEPTH = 3
"""Commands within quoted words of commands."""
_GIT = (".git/config", ".git/hooks", ".gitattributes", ".gitmodules")
_MAKE = ("GNUmakefile", "makefile", "Makefile")
_NODE = ("package.json", ".npmrc", ".yarnrc.yml", "index.js", "index.mjs")
_PYTEST = ("conftest.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
KNOWN: Mapping[str, tuple[str, ...]] = {
    "git": _GIT,
    "make": _MAKE,
    "gmake": _MAKE,
    "cmake": ("CMakeLists.txt",),
    "ninja": ("build.ninja",),
    "just": ("justfile", "Justfile", ".justfile"),
    "rake": ("Rakefile", "rakefile"),
    "bundle": ("Gemfile",),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "node", "bun", "deno"), _NODE),
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "pip": ("setup.py", "setup.cfg", "pyproject.toml"),
    "uv": ("pyproject.toml", "uv.toml"),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml"),
    "go": ("go.mod",),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    "gradlew": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    "mvn": ("pom.xml",),
    "docker": ("Dockerfile", *_COMPOSE),
    "docker-compose": _COMPOSE,
    "direnv": (".envrc",),
}
"""Program → the files of its folder by which it decides what to run."""
_FOLDERS_ONLY = frozenset({"cd", "pushd", "ls", "mkdir", "rmdir", "-C"})
"""The word after one of them names a folder whose files are not run."""
READERS = frozenset(
    {
        *("cat", "tail", "head", "grep", "egrep", "fgrep", "wc", "ls", "uniq", "diff", "cmp"),
        *("cut", "tr", "file", "stat", "md5sum", "sha1sum", "sha256sum", "du", "df", "nl", "od"),
        *("xxd", "hexdump", "strings", "column", "date", "echo", "printf", "pwd", "true"),
        *("basename", "dirname", "readlink", "realpath", "tree"),
    }
)
"""Programs that run nothing that they read: a log may grow before it is looked at."""
_PIECES = re.compile(r"[;&|()\n\r]+")
_BREAKS = ";&|()\n\r \t"
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_IMPORT = re.compile(
    r"(?:^|[\n;])[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import|import[ \t]+([\w., \t]+))"
)
_TEXT = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_LOADS = re.compile(r"(?:python|pypy)[\d.]*t?|node|nodejs|bun|deno|tsx")
"""Programs that are given modules by their bare names."""
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?|pytest|py\.test")
_SHELL = re.compile(r"(?:ba|da|k|z|a)?sh|eval|xargs|parallel|source|\.")
_RUNS = re.compile(
    rf"{_LOADS.pattern}|{_SHELL.pattern}|fish|t?csh|busybox|perl|ruby|php|lua[\d.]*|Rscript"
    r"|[gm]?awk|tclsh|expect|-?s?include"
)
"""What runs the file that follows it, however that is called."""
_RUN_IN_CODE = re.compile(
    r"\b(?:exec\w*|eval|compile|system|[Pp]open|spawn\w*|run|run_path|call|check_\w+|require\w*"
    r"|include\w*|source)\b"
)
"""The same within a program in another language, for texts on its line."""
_UNCLEAR = re.compile(r"`|\$(?:[\w{@*'\"]|$)|\{[^{}]*(?:,|\.\.)[^{}]*\}|\{\}")
_SPLITS = re.compile(r"[=:,]")
_SCRIPT = re.compile(r"[\s;&|<>'\"`()]")


@dataclass(frozen=True, slots=True)
class Names:
    words: tuple[str, ...] = ()
    """What may name a file or a folder, each once, as relative or absolute paths, or patterns."""
    passed: frozenset[str] = frozenset()
    """Those of them that name a folder to go to or to list, and not one to run files of."""
    known: tuple[str, ...] = ()
    """Files and folders that the programs look for in their own folder."""
    run: frozenset[str] = frozenset()
    """Those of them that are run as programs, however they are called."""
    interprets: bool = False
    """There is a program that runs what it is told to."""
    python: bool = False
    """Python starts, and looks for its own modules in a folder of the workspace first."""
    unclear: bool = False
    """Some names only the shell knows: it substitutes a variable or a command first."""
    cut: bool = False
    """There were more than MOST_NAMES."""


def names_in(text: str, syntax: Syntax, variables: Mapping[str, str] | None = None) -> Names:
    """`variables`: those that are known to be set."""
    gathered = _Gathered(dict(variables or {}))
    if syntax != "python" and _only_reads(text, variables or {}):
        return Names()
    if syntax == "python":
        gathered.interprets = gathered.python = True
        gathered.program(text)
    else:
        gathered.line(text, 0)
    for value in (variables or {}).values():
        gathered.word(value, _DEPTH)
    words = [*islice(gathered.words, MOST_NAMES)]
    known = dict.fromkeys(name for word in words for name in _known(word))
    return Names(
        tuple(words),
        frozenset(gathered.passed),
        tuple(known),
        frozenset(gathered.run),
        gathered.interprets,
        gathered.python,
        gathered.unclear,
        len(gathered.words) > MOST_NAMES,
    )


def _only_reads(line: str, variables: Mapping[str, str]) -> bool:
    """Whether all commands of a line only read what they are given, and write no file. Quotes are
    not looked at, which can only make more commands of it."""
    if "PATH" in variables or any(one in line for one in "`$<>"):
        return False
    commands = [piece.split() for piece in _PIECES.split(line)]
    return all(command[0] in READERS for command in commands if command)


def module_files(word: str) -> tuple[str, ...]:
    """Where a Python or Node program may have a module of a name: relative to a folder."""
    if not _MODULE.fullmatch(word):
        return (f"{word}.js", f"{word}.mjs") if word and not word.endswith((".js", ".py")) else ()
    path, found = "", []
    for part in word.split("."):
        path = f"{path}/{part}" if path else part
        found += [f"{path}.py", f"{path}/__init__.py"]
    return (*found, f"{path}/__main__.py", f"{path}.js")


def _known(word: str) -> tuple[str, ...]:
    return KNOWN.get(PurePosixPath(word).name if word else "", ())


class _Gathered:
    def __init__(self, variables: dict[str, str]) -> None:
        self.words: dict[str, None] = {}
        self.passed: set[str] = set()
        self.run: set[str] = set()
        self.interprets = self.python = self.unclear = False
        self._variables = variables

    def line(self, text: str, depth: int, *, shell: bool = True) -> None:
        """`shell`: whether a shell reads it; else it may be a program in any language."""
        before, loads, runs_words, runs = "", False, False, False
        for word, is_output, plain in _shell_words(text):
            if not plain and shell and _UNCLEAR.search(self._filled(word)):
                self.unclear = True
            if is_output:
                continue
            name = PurePosixPath(word).name or word
            loads |= _LOADS.fullmatch(name) is not None
            self.python |= _PYTHON.fullmatch(name) is not None
            if before in _FOLDERS_ONLY:
                self.passed.add(word)
            runs_words = runs_words or _SHELL.fullmatch(name) is not None
            self.word(word, depth, modules=loads, shell=runs_words, run=runs)
            if _RUNS.fullmatch(name) is not None:
                runs = self.interprets = True
            elif not word.startswith("-"):
                runs = runs and before.startswith("-")  # it may have been the option's
            before = word

    def word(
        self,
        word: str,
        depth: int,
        *,
        modules: bool = False,
        shell: bool = False,
        run: bool = False,
    ) -> None:
        filled = self._filled(word)
        if (assigned := _ASSIGNED.fullmatch(filled)) is not None:
            self._variables.setdefault(assigned[1], assigned[2])
        for one in _parts(filled):
            self._add(one)
            if run:
                self.run.add(one)
            if modules:
                for file in module_files(one):
                    self._add(file)
        if depth < _DEPTH and _SCRIPT.search(filled):
            self.line(filled, depth + 1, shell=shell)
            if "import" in filled:
                self._imports(filled)

    def program(self, text: str) -> None:
        """In Python, or a language that looks like it: what it imports, and its texts."""
        self._imports(text)
        for line in text.split("\n"):
            run = _RUN_IN_CODE.search(line) is not None
            for one, other in _TEXT.findall(line):
                self.word(one or other, 0, modules=True, run=run)

    def _imports(self, text: str) -> None:
        for origin, several in _IMPORT.findall(text):
            for name in [origin] if origin else several.split(","):
                for file in module_files(name.split(" as ")[0].strip().lstrip(".")):
                    self._add(file)

    def _add(self, name: str) -> None:
        if name and len(name) <= LONGEST_NAME and len(self.words) <= MOST_NAMES:
            self.words[name] = None

    def _filled(self, word: str) -> str:
        """With the variables that are known."""

        def value(found: re.Match[str]) -> str:
            return self._variables.get(found[1] or found[2], found[0])

        return _VARIABLE.sub(value, word)


def _parts(word: str) -> Iterator[str]:
    """A word, and what stands in it behind an option, an @ or a =, and between : and ,."""
    yield word
    pieces = _SPLITS.split(word)
    if len(pieces) > 1:
        yield word.partition("=")[2]
        yield from pieces
    for one in pieces:
        if one.startswith("@"):
            yield one[1:]
        if one.startswith("-") and not one.startswith("--"):
            yield one[2:]


def _shell_words(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Each word without its quotes; whether output is written to it; whether the shell leaves it
    as it is, as far as can be seen."""
    word, begun, quote, plain, output = "", False, "", True, False
    characters, last = iter(text), ""
    for one in characters:
        before, last = last, one
        if quote == "'":
            quote, word = ("", word) if one == "'" else (quote, word + one)
            continue
        if one == "\\":
            following = next(characters, "")
            word, begun = word + ("" if following == "\n" else following), True
        elif quote:
            plain &= one not in "$`"
            quote, word = ("", word) if one == quote else (quote, word + one)
        elif one in "'\"":
            quote, begun = one, True
        elif one in _BREAKS or one in "<>":
            if begun or word:
                yield word, output, plain
                output = False
            word, begun, plain = "", False, True
            if one in "<>":
                output = one == ">" and before != "<"
            elif one not in " \t":
                output = False
        else:
            plain &= one not in "$`{"
            word += one
    if begun or word:
        yield word, output, plain
