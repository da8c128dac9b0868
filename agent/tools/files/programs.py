"""Files that make programs run: what reads them, and runs what they say, by itself.

An agent that may write one of them, and may have a harmless command run, may have anything run. So
a person agrees before one is written, where commands run unasked, and what people send never gets
such a name. The list is no wall: a program that is run may read any file of the folder (`python
x.py`), so rules that allow commands are dangerous however long it is. Pure.
"""

import re
import unicodedata
from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "git": ".git head .gitattributes .gitmodules .gitconfig .lfsconfig config.worktree",
    "another version control": ".hgrc hgrc .hgsub .hgsubstate .bzr",
    "the shell": (
        ".envrc .env .env.* .profile .bashrc .bash_profile .bash_login .bash_logout "
        ".bash_aliases .bash_env .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc "
        ".tcshrc .login .inputrc .shrc .xinitrc .xprofile .xsession .direnvrc config.fish "
        "crontab .netrc .curlrc .wgetrc"
    ),
    "a version manager": (
        "mise.toml .mise.toml mise.*.toml .tool-versions .rtx.toml devbox.json flake.nix "
        "flake.lock shell.nix default.nix"
    ),
    "make, or what builds": (
        "makefile gnumakefile bsdmakefile *.mk *.mak cmakelists.txt *.cmake "
        "cmakepresets.json configure configure.ac meson.build meson_options.txt "
        "build.ninja sconstruct sconscript wscript justfile .justfile *.just taskfile.yml "
        "taskfile.yaml taskfile.dist.yml taskfile.dist.yaml earthfile tiltfile vagrantfile "
        "build build.bazel workspace workspace.bazel module.bazel .bazelrc .buckconfig "
        "buck build.xml pom.xml build.gradle build.gradle.kts settings.gradle "
        "settings.gradle.kts gradle.properties gradlew mvnw build.sbt build.sc build.zig "
        "package.swift cakefile magefile.go"
    ),
    "containers": (
        "dockerfile dockerfile.* *.dockerfile containerfile docker-compose*.yml "
        "docker-compose*.yaml compose.yml compose.yaml compose.*.yml compose.*.yaml "
        "procfile"
    ),
    "node": (
        "package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml "
        "pnpm-workspace.yaml .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.js .pnp.* "
        "lerna.json nx.json turbo.json deno.json deno.jsonc bunfig.toml bun.lock "
        "tsconfig.json jsconfig.json *.config.js *.config.cjs *.config.mjs *.config.ts "
        "*.config.mts *.config.cts *.setup.js *.setup.ts .babelrc* babel.config.json "
        ".eslintrc* .mocharc* .nycrc* .prettierrc* .stylelintrc* .lintstagedrc* .swcrc "
        "gulpfile.* gruntfile.* jakefile* .releaserc*"
    ),
    "python": (
        "conftest.py pyproject.toml setup.py setup.cfg tox.ini pytest.ini .pytest.ini "
        "pytest.toml .pytest.toml sitecustomize.py usercustomize.py *.pth *._pth "
        "*.egg-link *.pyc pyvenv.cfg pip.conf pip.ini requirements*.txt requirements*.in "
        "constraints*.txt pipfile pipfile.lock poetry.lock poetry.toml uv.toml uv.lock "
        "pdm.lock pdm.toml .pdm.toml hatch.toml .python-version noxfile.py fabfile.py "
        "dodo.py .coveragerc .pylintrc pylintrc mypy.ini .mypy.ini .flake8 .pdbrc "
        ".pythonrc .pythonrc.py .pypirc"
    ),
    "cargo or rustc": (
        "cargo.toml cargo.lock build.rs rust-toolchain rust-toolchain.toml clippy.toml"
    ),
    "go": (
        "go.mod go.sum go.work go.work.sum .air.toml .golangci.yml .golangci.yaml .goreleaser.yml"
    ),
    "ruby": (
        "gemfile gemfile.lock gems.rb *.gemspec rakefile .rspec .irbrc .pryrc .rubocop.yml "
        "guardfile"
    ),
    "another language": (
        "composer.json composer.lock makefile.pl build.pl cpanfile .perltidyrc .proverc "
        ".rprofile .renviron mix.exs rebar.config *.csproj *.fsproj *.vbproj *.sln *.props "
        "*.targets nuget.config global.json setup.hs *.cabal .ghci stack.yaml project.clj "
        "deps.edn .luarc .php.ini .user.ini phpunit.xml phpunit.xml.dist"
    ),
    "an editor or debugger": (
        ".vimrc _vimrc .exrc .nvimrc .nvim.lua .lvimrc .gdbinit .lldbinit .dir-locals.el "
        ".emacs *.code-workspace *.sublime-project .screenrc .tmux.conf"
    ),
    "a hook, or a service that tests": (
        ".pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml "
        "lefthook.yml lefthook.yaml .lefthook.yml .overcommit.yml .gitlab-ci.yml "
        ".travis.yml .drone.yml azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml "
        ".appveyor.yml jenkinsfile cloudbuild.yaml buildspec.yml skaffold.yaml"
    ),
    "another agent": ".mcp.json mcp.json .aider.conf.yml .cursorrules",
    "the system": (
        "*.desktop *.service *.timer *.socket *.path *.so *.so.* *.dylib *.dll *.pyd *.node"
    ),
}
"""By what reads them: names of files, in small letters; * stands for any characters."""

FOLDERS: Mapping[str, str] = {
    "git": ".git *.git .githooks",
    "another version control": ".hg .svn .jj .bzr",
    "the shell": ".ssh .config .local .direnv .bashrc.d .zshrc.d",
    "node": "node_modules .husky .yarn",
    "python": ".venv venv site-packages __pycache__ *.egg-info *.dist-info .tox .nox",
    "cargo or rustc": ".cargo",
    "make, or what builds": ".gradle .mvn .bazel gradle",
    "containers": ".devcontainer",
    "an editor or debugger": ".vscode .idea .zed .fleet .vim .nvim .emacs.d",
    "a hook, or a service that tests": (
        ".github .gitlab .circleci .buildkite .forgejo .gitea .woodpecker .lefthook"
    ),
    "another agent": ".claude .cursor .codex .gemini",
}
"""The same of folders: all that is in them."""


def _pattern(words: str) -> re.Pattern[str]:
    simple = [re.escape(word).replace(r"\*", "[^/]*") for word in words.split()]
    return re.compile("|".join(simple))


_NAMES = {reader: _pattern(words) for reader, words in NAMES.items()}
_TESTS = _pattern(
    "test*.py *_test.py *_test.go *_spec.rb *_test.rb *.test.js *.test.cjs *.test.mjs *.test.jsx "
    "*.test.ts *.test.tsx *.spec.js *.spec.cjs *.spec.mjs *.spec.jsx *.spec.ts *.spec.tsx"
)
_FOLDERS = {reader: _pattern(words) for reader, words in FOLDERS.items()}


def run_by(path: str) -> str | None:
    """What runs what a file says, in words that follow "read by"; None for other files. However it
    is written: file systems take capital letters, and characters that nobody sees, for the same."""
    parts = [_folded(part) for part in path.split("/") if part not in ("", ".")]
    for reader, pattern in _FOLDERS.items():
        if any(pattern.fullmatch(part) for part in parts[:-1]):
            return reader
    for reader, pattern in _NAMES.items():
        if parts and pattern.fullmatch(parts[-1]):
            return reader
    return None


def taken_up(name: str) -> bool:
    """Whether a program takes a file up by its name alone: one of those, or a test."""
    return run_by(name) is not None or _TESTS.fullmatch(_folded(name)) is not None


def _folded(part: str) -> str:
    """As the most forgiving of file systems compares it."""
    seen = "".join(one for one in part if unicodedata.category(one) != "Cf")
    plain = unicodedata.normalize("NFKC", seen).casefold().rstrip(". ")
    stream, _, _ = plain.partition(":")  # "Makefile::$DATA" is Makefile there
    return ".git" if re.fullmatch("git~[0-9]+", stream) else stream
