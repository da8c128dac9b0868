"""git_status, git_diff and git_log say what git says."""

import os
import time
from pathlib import Path

import pytest

from agent.tools.base import Effects, Setting, toolbox
from agent.tools.files.workspace import Workspace
from agent.tools.git.tools import git_kit
from tests.support.repositories import Repo, git, look


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "ws")


def test_they_only_read_and_ask_nobody(tmp_path: Path) -> None:
    tools = toolbox(*git_kit(lambda _: Workspace(tmp_path))(Setting(1, "terminal:1", True, None)))
    assert list(tools) == ["git_status", "git_diff", "git_log"]
    for tool in tools.values():
        assert tool.traits.effects is Effects.READS and not tool.traits.needs_approval
        assert tool.traits.toolset == "file_read" and tool.traits.repeatable


async def test_a_clean_repository_is_said_to_be_clean(repo: Repo) -> None:
    head = repo.git("rev-parse", "HEAD")[:12]
    expected = f"On branch main, at {head} Change 3\nNothing is changed.\n"
    assert await look(repo.folder, "git_status") == expected


async def test_a_status_names_what_git_names(repo: Repo) -> None:
    repo.put("a.txt", "one\nthree\n")
    repo.put("new.txt", "new\n")
    repo.put("added.txt", "added\n")
    repo.put("fresh/deep/file", "x")
    repo.put(".gitignore", "*.log\nbuild/\n!keep.log\n")
    repo.put("x.log", "x")
    repo.put("keep.log", "x")
    repo.put("build/out", "x")
    (repo.folder / "sub/file1.txt").unlink()
    (repo.folder / "sub/file2.txt").unlink()
    (repo.folder / "sub/file2.txt").symlink_to("/etc/passwd")
    repo.git("add", "added.txt", "sub/file1.txt")
    assert await look(repo.folder, "git_status") == (
        f"On branch main, at {repo.git('rev-parse', 'HEAD')[:12]} Change 3\n"
        "Staged:\n  new: added.txt\n  deleted: sub/file1.txt\n"
        "Changed, not staged:\n  modified: a.txt\n  another kind of file: sub/file2.txt\n"
        "Untracked:\n  .gitignore\n  fresh/\n  keep.log\n  new.txt\n"
    )


async def test_a_file_that_was_only_touched_is_not_changed(repo: Repo) -> None:
    later = time.time() + 100
    os.utime(repo.folder / "a.txt", (later, later))
    assert "Nothing is changed." in await look(repo.folder, "git_status")


async def test_a_conflict_is_named(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "other", "HEAD~1")
    repo.put("a.txt", "other\n")
    repo.git("commit", "-qam", "Other")
    with pytest.raises(Exception, match="merge"):
        repo.git("merge", "main")
    assert "In conflict:\n  a.txt\n" in await look(repo.folder, "git_status")


async def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "a").write_text("x")
    assert await look(tmp_path, "git_status") == (
        "On branch trunk, no commits yet\nUntracked:\n  a\n"
    )
    assert "there is no such" in await look(tmp_path, "git_log")


@pytest.mark.parametrize("packed", [False, True])
async def test_a_difference_is_the_one_that_git_shows(repo: Repo, packed: bool) -> None:
    if packed:
        repo.git("gc", "-q", "--aggressive")
        repo.git("pack-refs", "--all")
    repo.put("a.txt", "one\nthree\nno end")
    repo.git("add", "a.txt")
    repo.put("a.txt", "one\nfour\n")
    for given, asked in (
        ({}, []),
        ({"staged": True}, ["--cached"]),
        ({"base": "HEAD"}, ["HEAD"]),
        ({"base": "main~2", "to": "main"}, ["main~2", "main"]),
        ({"base": "main~2", "to": "main", "paths": ["sub"]}, ["main~2", "main", "--", "sub"]),
    ):
        said = await look(repo.folder, "git_diff", **given)
        expected = repo.git("diff", "--no-renames", *asked)
        assert _hunks(said) == _hunks(expected) != []


def _hunks(text: str) -> list[str]:
    """What both write alike."""
    return [
        line.split("@@")[1] if line.startswith("@@") else line
        for line in text.splitlines()
        if line.startswith(("+", "-", " ", "@@", "\\"))
    ]


async def test_what_is_no_text_is_told_by_its_size(repo: Repo) -> None:
    (repo.folder / "a.txt").write_bytes(b"\0" * 10)
    assert "[binary: 6 bytes → 10 bytes]" in await look(repo.folder, "git_diff")
    (repo.folder / "a.txt").write_bytes(b"x" * 2_000_000)
    assert "at most 1,000,000 can be read" in await look(repo.folder, "git_diff")


async def test_a_log_names_commits_newest_first(repo: Repo) -> None:
    said = await look(repo.folder, "git_log", count=2)
    ids = repo.git("log", "--format=%H").split()
    assert said == (
        f"commit {ids[0]}\nAuthor: Ada <ada@example.org>\nDate:   2026-11-01 12:00:00 +0100\n\n"
        "    Change 3\n\n    Its words.\n\n"
        f"commit {ids[1]}\nAuthor: Ada <ada@example.org>\nDate:   2026-11-01 12:00:00 +0100\n\n"
        "    Change 2\n\n    Its words.\n\n"
        f"[more; ask for those before {ids[2][:12]} with revision]\n"
    )
    touched = await look(repo.folder, "git_log", paths=["sub/file1.txt"])
    assert ids[2] in touched and ids[1] not in touched and ids[0] not in touched


async def test_revisions_are_those_of_git(repo: Repo) -> None:
    repo.git("tag", "-a", "v1", "-m", "first", "HEAD~2")
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.put("side.txt", "x")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Side")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "-m", "Both", "side")
    short = repo.git("rev-parse", "--short=7", "HEAD~1").strip()
    for name in ("HEAD", "@", "main", "v1", "HEAD^2", "HEAD^1", "main~2", "refs/heads/side", short):
        said = await look(repo.folder, "git_log", revision=name, count=1)
        assert said.split()[1] == repo.git("rev-parse", f"{name}^{{commit}}").strip(), name
    for name in (
        "nothing",
        "HEAD~50",
        "--all",
        "main..side",
        "HEAD@{1}",
        ":/Side",
        "../x",
        "HEAD^9",
    ):
        assert (await look(repo.folder, "git_log", revision=name)).startswith("Error:"), name


async def test_a_repository_below_the_workspace_is_named(repo: Repo, tmp_path: Path) -> None:
    assert "name the folder that has .git" in await look(tmp_path, "git_status")
    assert "On branch main" in await look(tmp_path, "git_status", path="ws")
    assert "On branch main" in await look(tmp_path, "git_status", path=str(repo.folder))
    for path in ("..", "/etc", "ws/../.."):
        assert (await look(tmp_path, "git_status", path=path)).startswith("Error:")


async def test_an_answer_is_cut_to_what_its_reader_takes(repo: Repo) -> None:
    repo.put("a.txt", "".join(f"line {number}\n" for number in range(20_000)))
    said = await look(repo.folder, "git_diff")
    assert said.endswith("[cut after 100,000 bytes; name paths, or fewer commits]")
    assert len(said) < 101_000
