"""What a hostile repository gets of git_status, git_diff and git_log: nothing runs, nothing outside
is read, nothing is written, and it ends."""

import os
import shutil
import struct
import subprocess
import sys
import zlib
from hashlib import sha1
from pathlib import Path

import pytest

from tests.support.repositories import Repo, git, look

SECRET = "the-secret-of-somebody-else"
NAMES = ("git_status", "git_diff", "git_log")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "ws")


@pytest.fixture
def other(tmp_path: Path) -> Repo:
    """Somebody else's, outside the workspace."""
    made = Repo(tmp_path / "other")
    made.put("a.txt", SECRET)
    made.git("commit", "-qam", SECRET)
    return made


async def everything(root: Path, **arguments: object) -> str:
    said = [await look(root, name, **arguments) for name in NAMES]
    said.append(await look(root, "git_diff", base="HEAD~1", **arguments))
    said.append(await look(root, "git_diff", staged=True, **arguments))
    return "\n".join(said)


def tree_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file, with its time and content."""
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


async def test_nothing_that_the_configuration_or_attributes_name_is_run(repo: Repo) -> None:
    mark = repo.folder.parent / "pwned"
    run = f"touch {mark}"
    with (repo.folder / ".git/config").open("a") as config:
        config.write(
            f'[core]\n\tfsmonitor = "{run}; false"\n\tpager = {run}\n\tsshCommand = {run}\n'
            f"\thooksPath = hooks\n\tgitProxy = {run}\n\talternateRefsCommand = {run}\n"
            f'[diff]\n\texternal = {run}\n[diff "x"]\n\ttextconv = {run}\n\tcommand = {run}\n'
            f'[filter "x"]\n\tclean = {run}\n\tsmudge = {run}\n\tprocess = {run}\n\trequired\n'
            f"[gpg]\n\tprogram = {run}\n[log]\n\tshowSignature = true\n[include]\n\tpath = {mark}\n"
            f'[alias]\n\tstatus = !{run}\n[remote "o"]\n\turl = ext::{run}\n\tpromisor = true\n'
        )
    repo.put(".gitattributes", "* diff=x filter=x\n")
    for hook in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"):
        file = repo.put(f".git/hooks/{hook}", f"#!/bin/sh\n{run}\n")
        file.chmod(0o755)
    repo.put("a.txt", "changed\n")
    before = tree_of(repo.folder)
    said = await everything(repo.folder)
    assert "modified: a.txt" in said and "+changed" in said
    assert not mark.exists()
    assert tree_of(repo.folder) == before
    subprocess.run(["git", "-C", str(repo.folder), "status"], capture_output=True, check=False)
    assert mark.exists(), "git itself would have run it"


async def test_a_git_file_that_leads_elsewhere_is_not_followed(repo: Repo, other: Repo) -> None:
    shutil.rmtree(repo.folder / ".git")
    repo.put(".git", f"gitdir: {other.folder}/.git\n")
    said = await everything(repo.folder)
    assert SECRET not in said and "is no folder (a worktree" in said


@pytest.mark.parametrize(
    "part",
    [".git", ".git/objects", ".git/refs", ".git/HEAD", ".git/index", ".git/refs/heads/main"],
)
async def test_no_link_of_a_repository_is_followed(repo: Repo, other: Repo, part: str) -> None:
    mine = repo.folder / part
    shutil.rmtree(mine) if mine.is_dir() else mine.unlink()
    mine.symlink_to(other.folder / part)
    assert SECRET not in await everything(repo.folder)


async def test_a_linked_object_or_pack_is_not_read(repo: Repo, other: Repo) -> None:
    other.git("gc", "-q", "--aggressive")
    head = other.git("rev-parse", "HEAD").strip()
    repo.put(".git/refs/heads/main", f"{head}\n")
    pack = repo.folder / ".git/objects/pack"
    pack.mkdir(exist_ok=True)
    for file in (other.folder / ".git/objects/pack").iterdir():
        (pack / file.name).symlink_to(file)
    said = await everything(repo.folder)
    assert SECRET not in said and "not in this repository" in said


async def test_alternates_and_commondir_are_not_followed(repo: Repo, other: Repo) -> None:
    head = other.git("rev-parse", "HEAD").strip()
    repo.put(".git/objects/info/alternates", f"{other.folder}/.git/objects\n")
    repo.put(".git/refs/heads/main", f"{head}\n")
    assert SECRET in repo.git("log", "-1"), "git itself follows them"
    said = await everything(repo.folder)
    assert SECRET not in said and "not in this repository" in said
    repo.put(".git/commondir", f"{other.folder}/.git\n")
    assert "it is a worktree of another repository" in await everything(repo.folder)


async def test_a_replaced_commit_is_shown_as_it_is(repo: Repo) -> None:
    repo.git("commit", "-q", "--allow-empty", "-m", "False")
    false = repo.git("rev-parse", "HEAD").strip()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("replace", "HEAD", false)
    assert "False" in repo.git("log", "-1")
    assert "Change 3" in await look(repo.folder, "git_log", count=1)


async def test_links_in_the_folder_are_named_and_not_followed(repo: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file1.txt").write_text(SECRET)
    shutil.rmtree(repo.folder / "sub")
    (repo.folder / "sub").symlink_to(outside)
    (repo.folder / "a.txt").unlink()
    (repo.folder / "a.txt").symlink_to(outside / "file1.txt")
    said = await everything(repo.folder)
    assert SECRET not in said
    assert f"+{outside}/file1.txt" in said, "where a link leads is its content"
    assert "deleted: sub/file1.txt" in said


@pytest.mark.parametrize(
    "name", [b"../../outside", b"/etc/passwd", b"a\0b", b".git/config", b"\xff\xfe", b"x\n\x1b[31m"]
)
async def test_names_in_trees_and_index_lead_nowhere(
    repo: Repo, tmp_path: Path, name: bytes
) -> None:
    (tmp_path / "outside").write_text(SECRET)
    blob = put_object(repo, b"blob", b"hello\n")
    tree = put_object(repo, b"tree", b"100644 " + name + b"\0" + bytes.fromhex(blob))
    commit_to(repo, tree)
    (repo.folder / ".git/index").write_bytes(index_of(name, blob))
    said = await everything(repo.folder)
    assert SECRET not in said and "root:" not in said and "\x1b" not in said


def put_object(repo: Repo, kind: bytes, content: bytes) -> str:
    data = kind + b" %d\0" % len(content) + content
    name = sha1(data, usedforsecurity=False).hexdigest()
    file = repo.folder / ".git/objects" / name[:2] / name[2:]
    file.parent.mkdir(exist_ok=True)
    if not file.exists():
        file.write_bytes(zlib.compress(data))
    return name


def commit_to(repo: Repo, tree: str, more: bytes = b"") -> str:
    person = b"A <a@example.org> 1 +0000"
    text = b"tree %s\n%sauthor %s\ncommitter %s\n\nx\n" % (tree.encode(), more, person, person)
    commit = put_object(repo, b"commit", text)
    repo.put(".git/refs/heads/main", f"{commit}\n")
    return commit


def index_of(name: bytes, blob: str) -> bytes:
    entry = struct.pack(">10L", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 6) + bytes.fromhex(blob)
    entry += struct.pack(">H", min(len(name), 0xFFF)) + name
    entry += b"\0" * (8 - len(entry) % 8)
    data = b"DIRC" + struct.pack(">LL", 2, 1) + entry
    return data + sha1(data, usedforsecurity=False).digest()


async def test_a_bomb_of_zeros_is_refused(repo: Repo) -> None:
    name = repo.git("rev-parse", "HEAD:a.txt").strip()
    packer = zlib.compressobj(9)
    file = repo.folder / ".git/objects" / name[:2] / name[2:]
    file.chmod(0o644)
    with file.open("wb") as out:
        out.write(packer.compress(b"blob 5000000000\0"))
        for _ in range(50):
            out.write(packer.compress(bytes(1_000_000)))
        out.write(packer.flush())
    repo.put("a.txt", "changed\n")
    said = await look(repo.folder, "git_diff")
    assert f"object {name} has more than 10,000,000 bytes" in said


async def test_a_pack_that_unpacks_to_too_much_is_refused(repo: Repo) -> None:
    big = repo.folder / "big"
    with big.open("wb") as file:
        file.truncate(800_000_000)
    repo.git("-c", "core.bigFileThreshold=10g", "add", "big")
    repo.git("commit", "-qm", "Big")
    repo.git("-c", "pack.window=0", "gc", "-q")
    big.write_text("small")
    said = await look(repo.folder, "git_diff")
    assert "diff big" in said or "too much" in said
    assert len(said) < 1_000


async def test_a_tree_that_holds_itself_many_times_over_ends(repo: Repo) -> None:
    tree = put_object(
        repo,
        b"tree",
        b"".join(
            b"100644 %02d\0" % n + bytes.fromhex(put_object(repo, b"blob", b"x")) for n in range(50)
        ),
    )
    for _ in range(8):
        content = b"".join(b"40000 %02d\0" % n + bytes.fromhex(tree) for n in range(50))
        tree = put_object(repo, b"tree", content)
    commit_to(repo, tree)
    assert "has more than 200,000 files" in await look(repo.folder, "git_status")


async def test_commits_that_have_no_end_are_cut(repo: Repo) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    commit = commit_to(repo, tree)
    for _ in range(300):
        commit = commit_to(repo, tree, b"parent %s\n" % commit.encode())
    said = await look(repo.folder, "git_log", count=100)
    assert said.count("commit ") == 100 and "[more; ask" in said


async def test_a_commit_with_too_many_parents_is_told_in_a_few_lines(repo: Repo) -> None:
    head = repo.git("rev-parse", "HEAD").strip().encode()
    commit_to(repo, repo.git("rev-parse", "HEAD^{tree}").strip(), b"parent %s\n" % head * 50_000)
    said = await look(repo.folder, "git_log", count=1)
    assert " and 49,980 more\n" in said and len(said) < 1_000


async def test_words_of_a_commit_turn_nothing_around_and_draw_nothing(repo: Repo) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    person = b"A\x1b[2J\x9b <a> 99999999999999999999 +9999"
    text = b"tree %s\nauthor %s\ncommitter %s\n\n\x1b]0;x\x07\n" % (tree.encode(), person, person)
    repo.put(".git/refs/heads/main", put_object(repo, b"commit", text) + "\n")
    said = await look(repo.folder, "git_log")
    assert "\\x1b]0;x\\x07" in said and "\x1b" not in said and "\x07" not in said


DAMAGE = [
    b"",
    b"\0" * 100,
    b"\xff" * 5_000,
    b"DIRC\0\0\0\2\xff\xff\xff\xff",
    b"ref: refs/heads/x\0",
]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize(
    "part", [".git/HEAD", ".git/index", ".git/refs/heads/main", ".git/packed-refs", ".git/shallow"]
)
async def test_damage_is_an_error_in_words(repo: Repo, part: str, damage: bytes) -> None:
    (repo.folder / part).write_bytes(damage)
    for name in NAMES:
        said = await look(repo.folder, name)
        assert "Traceback" not in said and said


async def test_references_that_refer_to_each_other_end(repo: Repo) -> None:
    repo.put(".git/refs/heads/main", "ref: refs/heads/b\n")
    repo.put(".git/refs/heads/b", "ref: refs/heads/main\n")
    assert "refers to others without end" in await look(repo.folder, "git_log")
    repo.put(".git/HEAD", "ref: ../../../../etc/passwd\n")
    assert "no name of a branch" in await look(repo.folder, "git_log")


async def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(repo: Repo) -> None:
    for part in (".git/index", "a.txt", ".gitignore", ".git/HEAD"):
        (repo.folder / part).unlink(missing_ok=True)
        os.mkfifo(repo.folder / part)
        assert await look(repo.folder, "git_status")


async def test_ignore_patterns_that_take_for_ever_are_given_up(repo: Repo) -> None:
    repo.put(".gitignore", "*a" * 60 + "b\n")
    repo.put("a" * 200, "x")
    said = await look(repo.folder, "git_status")
    assert said.startswith("On branch main") or "too much time" in said


REFUSED = """
import os, socket, subprocess, sys
from agent.tools.git.serving import Query, bind
bind(Query(sys.argv[1], "status", "."))
for attempt in (
    lambda: open("/etc/hostname"),
    lambda: open(sys.argv[1] + "/new", "w"),
    lambda: open(sys.argv[1] + "2/beside"),
    lambda: os.open("/etc/hostname", os.O_RDONLY),
    lambda: subprocess.run(["true"]),
    lambda: os.system("true"),
    lambda: os.fork(),
    lambda: os.execv("/bin/true", ["true"]),
    lambda: socket.socket(),
):
    try:
        attempt()
    except PermissionError:
        continue
    sys.exit("it was let through")
print(open(sys.argv[1] + "/inside").read())
"""


def test_the_process_that_reads_can_run_and_write_nothing(tmp_path: Path) -> None:
    """The second wall, should a parser be talked into something."""
    inside, beside = tmp_path / "ws", tmp_path / "ws2"
    for folder in (inside, beside):
        folder.mkdir()
    (inside / "inside").write_text("read")
    (beside / "beside").write_text(SECRET)
    command = [sys.executable, "-I", "-c", REFUSED, str(inside)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "read\n", "")


def test_the_way_in_that_was_shown_is_one(tmp_path: Path) -> None:
    """Why no rule for `git log` is shown: with it alone, a configuration is written and run."""
    repo = Repo(tmp_path)
    mark = tmp_path / "pwned"
    lines = f"--format=[core]%n\trepositoryformatversion = 0%n\tfsmonitor = touch {mark} #"
    git(repo.folder, "log", "-1", lines, "--output=.git/config")
    subprocess.run(["git", "-C", str(tmp_path), "status"], capture_output=True, check=False)
    assert mark.exists()
