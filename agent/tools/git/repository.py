"""A hostile repository, read. Everything here blocks, and is run in the process of `child` alone.

git itself runs programs that a repository names (fsmonitor, diff.external, textconv, filters,
hooks), follows alternates, links and `.git` files out of the folder, fetches what is missing, and
writes files by an option of `git log`. dulwich parses objects, packs, the index and ignore files,
and opens no file here: the Workspace does, so nothing outside it is reached. Configuration,
attributes, replace refs and submodules are not read.
"""

import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO

from dulwich.diff_tree import tree_changes
from dulwich.ignore import IgnoreFilter, read_ignore_patterns
from dulwich.index import ConflictedIndexEntry, IndexEntry, read_index_dict
from dulwich.object_format import SHA1
from dulwich.object_store import BaseObjectStore
from dulwich.objects import Commit, ObjectID, RawObjectID, ShaFile, Tag, Tree
from dulwich.pack import Pack, PackData, load_pack_index_file

from agent.tools.files.workspace import (
    FileType,
    Item,
    Missing,
    Workspace,
    WorkspaceError,
    path_parts,
    shown,
)

OBJECT_LIMIT = 10_000_000
"""Bytes of an object's content."""
MOST_FILES = 200_000
"""Of one commit: trees may hold themselves many times over, and have more than there are atoms."""
_IGNORE_LIMIT = 100_000
_REF_LIMIT = 4_096
_SYMBOLIC = 5
_TAGS = 10
_STEPS = 10_000
_TYPES = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_HEX = re.compile("[0-9a-f]{40}")
_PREFIX = re.compile("[0-9a-f]{4,40}")
_REVISION = re.compile(
    r"(?P<name>[^~^:?*\[\\\s\x00-\x1f\x7f]{1,200})(?P<steps>(?:[~^]\d{0,5}){0,20})"
)
_PLACES = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
_SPECIAL = re.compile("[A-Z]+(?:_HEAD)?")
FOLDER, LINK, MODULE = 0o040000, 0o120000, 0o160000
"""Kinds of entries, as git writes them."""


class RepositoryError(WorkspaceError):
    """It cannot be read. The text says what and why, for a model."""


@dataclass(frozen=True, slots=True)
class Head:
    branch: str
    """"" where HEAD names a commit."""
    commit: str | None
    """None before the first one."""


def kind(mode: int) -> int:
    """What an entry is, without its permissions."""
    return mode & 0o170000


class Objects(BaseObjectStore):
    """What the repository itself has of its objects: no alternates, no fetching."""

    def __init__(self, workspace: Workspace, folder: str, kept: ExitStack) -> None:
        super().__init__(object_format=SHA1)
        self._workspace, self._folder, self._kept = workspace, folder, kept

    def get_raw(self, name: RawObjectID | ObjectID) -> tuple[int, bytes]:
        """KeyError where it is not there; RepositoryError where it is too large or damaged."""
        sha = ObjectID(name.hex().encode()) if len(name) == 20 else ObjectID(name)
        with suppress(Missing):
            return self._loose(sha.decode())
        for pack in self._packs:
            if sha in pack:
                kind_of, data = pack.get_raw(sha)
                if len(data) > OBJECT_LIMIT:
                    raise _too_large(sha.decode())
                return kind_of, data
        raise KeyError(sha)

    def prefixed(self, prefix: str) -> set[str]:
        """Ids that begin so; those of loose objects and of packs."""
        found: set[str] = set()
        with suppress(Missing):
            items = self._workspace.walk(f"{self._folder}/{prefix[:2]}", 1)
            names = (prefix[:2] + item.path.rpartition("/")[2] for item in items)
            found |= {name for name in names if _HEX.fullmatch(name) and name.startswith(prefix)}
        even = bytes.fromhex(prefix[: len(prefix) // 2 * 2])
        for pack in self._packs:
            every = (sha.hex() for sha in pack.index.iter_prefix(even))
            found |= {sha for sha in every if sha.startswith(prefix)}
        return found

    @property
    def packs(self) -> list[Pack]:
        return self._packs

    def contains_loose(self, sha: ObjectID | RawObjectID) -> bool:
        with suppress(KeyError):
            self.get_raw(sha)
            return True
        return False

    def contains_packed(self, sha: ObjectID | RawObjectID) -> bool:
        return any(sha in pack for pack in self._packs)

    def __iter__(self) -> Iterator[ObjectID]:
        raise NotImplementedError("nothing lists every object")

    def _loose(self, sha: str) -> tuple[int, bytes]:
        with self._workspace.open(f"{self._folder}/{sha[:2]}/{sha[2:]}") as file:
            packed = file.read(OBJECT_LIMIT + 1)
        most = OBJECT_LIMIT + 100
        try:
            data = zlib.decompressobj().decompress(packed, most)
        except zlib.error:
            raise RepositoryError(f"object {sha} is damaged") from None
        head, _, content = data.partition(b"\0")
        name, _, size = head.partition(b" ")
        if name not in _TYPES or not size.isdigit() or len(size) > 20:
            raise RepositoryError(f"object {sha} is damaged")
        if int(size) > OBJECT_LIMIT or len(packed) > OBJECT_LIMIT:
            raise _too_large(sha)
        if len(content) != int(size):
            raise RepositoryError(f"object {sha} is damaged")
        return _TYPES[name], content

    @cached_property
    def _packs(self) -> list[Pack]:
        found = []
        try:
            items = [*self._workspace.walk(f"{self._folder}/pack", 1)]
        except Missing:
            return []
        for item in items:
            if item.path.endswith(".pack") and item.type is FileType.FILE:
                with suppress(Missing):  # a pack without its index is one that is just written
                    found.append(self._pack(item.path))
        return found

    def _pack(self, path: str) -> Pack:
        name = f"{path.removesuffix('.pack')}.idx"
        index_file = self._kept.enter_context(self._workspace.open(name))
        file = self._kept.enter_context(self._workspace.open(path))
        index = load_pack_index_file(name, index_file, SHA1)
        return Pack.from_lazy_objects(lambda: PackData.from_file(file, SHA1), lambda: index)


class Repository:
    """The repository in a folder of the workspace, with its files. RepositoryError where it is of a
    kind that cannot be read from within the folder alone."""

    def __init__(self, workspace: Workspace, folder: str, kept: ExitStack) -> None:
        self.workspace = workspace
        self.folder = "/".join(path_parts(workspace.relative(folder)))
        self._refuse_unfit()
        self.objects = Objects(workspace, self.git("objects"), kept)

    def git(self, path: str) -> str:
        """A path below .git, as the workspace takes it."""
        return f"{self.path('.git')}/{path}"

    def path(self, path: str) -> str:
        """A path in the repository, as the workspace takes it."""
        return f"{self.folder}/{path}" if self.folder else path

    def _refuse_unfit(self) -> None:
        where = shown(self.folder) or "the workspace"
        try:
            found = self.workspace.stat(self.path(".git"))
        except Missing:
            raise RepositoryError(
                f"{where}: there is no repository; name the folder that has .git"
            ) from None
        if found.type is not FileType.FOLDER:
            raise RepositoryError(
                f"{where}: its .git is no folder (a worktree, a submodule or a link), so the "
                "repository lies elsewhere; that is not followed"
            )
        for name, why in (
            ("commondir", "it is a worktree of another repository"),
            ("reftable", "its branches are kept in the format reftable"),
        ):
            if self._has(self.git(name)):
                raise RepositoryError(f"{where}: {why}, which cannot be read here")

    def _has(self, path: str) -> bool:
        with suppress(Missing):
            self.workspace.stat(path)
            return True
        return False

    # References.

    def head(self) -> Head:
        text = self._text("HEAD")
        if text.startswith("ref: "):
            name = text.removeprefix("ref: ")
            return Head(name.removeprefix("refs/heads/"), self._reference(name))
        return Head("", self._id(text))

    def commit(self, revision: str) -> Commit:
        """What a revision names: a branch, a tag, HEAD, the beginning of an id, with ~ and ^."""
        found = _REVISION.fullmatch("HEAD" if revision == "@" else revision)
        if found is None or ".." in revision or "@{" in revision:
            raise RepositoryError(
                f"{shown(revision)}: no revision; give a branch, a tag, HEAD or an id, "
                "with ~2 or ^2 behind it for what was before"
            )
        commit = self.peeled(self._named(found["name"]))
        for step in re.findall(r"[~^]\d*", found["steps"]):
            count = int(step[1:] or 1)
            if step[0] == "~":
                for _ in range(min(count, _STEPS)):
                    commit = self._parent(commit, 1, revision)
            elif count:
                commit = self._parent(commit, count, revision)
        return commit

    def parents(self, commit: Commit) -> list[str]:
        if commit.id.decode() in self._shallow:
            return []
        return [parent.decode() for parent in commit.parents]

    def peeled(self, sha: str) -> Commit:
        """The commit that an id names, by itself or through tags."""
        found = self._any(sha)
        for _ in range(_TAGS):
            if not isinstance(found, Tag):
                break
            found = self._any(found.object[1].decode())
        if not isinstance(found, Commit):
            raise RepositoryError(f"{shown(sha)} is no commit")
        return found

    def tree(self, sha: bytes) -> Tree:
        found = self._any(sha.decode())
        if not isinstance(found, Tree):
            raise RepositoryError(f"{sha.decode()} is no tree")
        return found

    def _parent(self, commit: Commit, number: int, revision: str) -> Commit:
        parents = self.parents(commit)
        if number > len(parents):
            raise RepositoryError(f"{shown(revision)}: there is no such commit before it")
        return self.peeled(parents[number - 1])

    def _named(self, name: str) -> str:
        tries = ([name] if _SPECIAL.fullmatch(name) or name.startswith("refs/") else []) + [
            place.format(name) for place in _PLACES
        ]
        for each in tries:
            with suppress(Missing):
                if (found := self._reference(each)) is not None:
                    return found
        if _PREFIX.fullmatch(name):
            several = {name} if len(name) == 40 else self.objects.prefixed(name)
            if len(several) == 1:
                return several.pop()
            if several:
                raise RepositoryError(f"{name}: {len(several)} objects begin so; give more of it")
        raise RepositoryError(f"{shown(name)}: there is no such branch, tag or commit")

    def _reference(self, name: str) -> str | None:
        """The id that it stands for, over symbolic ones; None where there is none."""
        for _ in range(_SYMBOLIC):
            if not (_SPECIAL.fullmatch(name) or name.startswith("refs/")):
                raise RepositoryError(f"{shown(name)}: no name of a branch or tag")
            try:
                text = self._text(name)
            except Missing:
                return self._packed_refs.get(name)
            if not text.startswith("ref: "):
                return self._id(text)
            name = text.removeprefix("ref: ").strip()
        raise RepositoryError(f"{shown(name)}: it refers to others without end")

    def _text(self, name: str) -> str:
        data = self.workspace.read(self.git(name), _REF_LIMIT).data
        return data.decode("utf-8", "surrogateescape").strip()

    def _id(self, text: str) -> str:
        if not _HEX.fullmatch(text):
            long = re.fullmatch("[0-9a-f]{64}", text)
            why = "its ids are SHA-256, which cannot be read here" if long else "it is damaged"
            raise RepositoryError(f"a reference of the repository: {why}")
        return text

    @cached_property
    def _packed_refs(self) -> dict[str, str]:
        try:
            data = self.workspace.read(self.git("packed-refs")).data
        except Missing:
            return {}
        lines = (line.split(" ", 1) for line in data.decode("utf-8", "surrogateescape").split("\n"))
        return {
            parts[1].strip(): parts[0]
            for parts in lines
            if len(parts) == 2 and _HEX.fullmatch(parts[0])
        }

    @cached_property
    def _shallow(self) -> frozenset[str]:
        try:
            return frozenset(self.workspace.read(self.git("shallow")).data.decode("ascii").split())
        except (Missing, UnicodeDecodeError):
            return frozenset()

    def _any(self, sha: str) -> ShaFile:
        try:
            return self.objects[ObjectID(sha.encode())]
        except KeyError:
            raise RepositoryError(
                f"object {shown(sha)} is not in this repository (a shallow or partial clone, or "
                "one that borrows from another); nothing is fetched, and no other is read"
            ) from None

    # What is compared.

    @cached_property
    def index(self) -> dict[bytes, IndexEntry | ConflictedIndexEntry]:
        """Path → what is staged."""
        shared = "sharedindex."
        for item in self.workspace.walk(self.path(".git"), 1):
            if item.path.rpartition("/")[2].startswith(shared):
                raise RepositoryError(
                    "its index is split into two files, which cannot be read here"
                )
        try:
            data = self.workspace.read(self.git("index")).data
        except Missing:
            return {}
        return read_index_dict(BytesIO(data), SHA1)

    @cached_property
    def index_time(self) -> int:
        """Nanoseconds since 1970: what changed no earlier may have changed unseen."""
        try:
            return self.workspace.stat(self.git("index")).state.mtime_ns
        except Missing:
            return 0

    def files_of(self, tree: bytes | None) -> dict[bytes, tuple[int, bytes]]:
        """Path → mode and id, of all that a commit's tree has; none of no tree."""
        if tree is None:
            return {}
        found: dict[bytes, tuple[int, bytes]] = {}
        for change in tree_changes(self.objects, None, ObjectID(tree)):
            new = change.new
            if new is None or new.path is None or new.mode is None or new.sha is None:
                continue
            if len(found) == MOST_FILES:
                raise RepositoryError(f"a commit of it has more than {MOST_FILES:,} files")
            found[new.path] = new.mode, new.sha
        return found

    def blob(self, sha: bytes) -> bytes:
        """RepositoryError where it is too large or not there."""
        return self._any(sha.decode()).as_raw_string()

    def items(self, folder: str) -> Iterator[Item]:
        """What is in a folder of the repository ("" is its root), but no .git."""
        for item in self.workspace.walk(self.path(folder) or ".", 1):
            if item.path.rpartition("/")[2] != ".git" and item.type is not FileType.CLOSED:
                yield item

    def ignores(self, path: str) -> IgnoreFilter | None:
        """The patterns of an ignore file."""
        try:
            data = self.workspace.read(path, _IGNORE_LIMIT).data
        except WorkspaceError:
            return None
        return IgnoreFilter(read_ignore_patterns(BytesIO(data)))


def _too_large(sha: str) -> RepositoryError:
    return RepositoryError(f"object {sha} has more than {OBJECT_LIMIT:,} bytes")
