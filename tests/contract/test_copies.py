"""Copies in workspaces go with what they are copies of, in each database."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from agent.tools.files.workspace import Workspace
from gateway.retention.copies import Copies
from gateway.retention.forgetting import Forgetters
from storage.records.attached import Attached, as_json
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.records.tools.commands import CommandDraft, CommandState
from storage.store import Store, Transaction
from tests.contract.test_pruning import CHAT, DAY, pruning
from tests.support.stores import Clock

ADA, BOB = "telegram:2", "telegram:3"
PRIVATE = "telegram:2"


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = time.time()
    return clock


def put(root: Path, path: str) -> Path:
    """A file of a workspace. When it changed last cannot be set: the store's clock is moved."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(path)
    return file


def sends(tx: Transaction, session: int, path: str, author: str = ADA) -> None:
    leaf = tx.tree.session(session).leaf
    digest = f"{len(path):064x}"
    file = as_json(Attached("document", path, blob=digest, path=path))
    body = message("user", "look") | {"files": [file]}
    entry = tx.tree.append(session, Draft(Kind.MESSAGE, body, author=author), after=leaf)
    tx.blobs.put(digest, b"x")
    tx.blobs.use(entry.id, [digest])


def conversation(tx: Transaction, *, address: str = CHAT, parent: int | None = None) -> int:
    draft = SessionDraft(SessionKind.CHAT, parent_session=parent)
    session = tx.tree.create(draft).id
    tx.directory.bind(address, session)
    return session


def ran(tx: Transaction, session: int, path: str, person: str, address: str = CHAT) -> None:
    draft = CommandDraft(
        session, session, address, person, False, False, "run_command", "ls", "", False
    )
    command = tx.commands.start(draft)
    tx.commands.end(command.id, CommandState.ENDED, status=0, output=path)


async def test_a_copy_goes_with_its_file_in_forks_too(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    async def run() -> dict[str, int]:
        template = {"workspace": f"{tmp_path}/{{session}}"}
        return await pruning(store, tools=template, retention={"files": "7d"}).run()

    session = await store.run(conversation)
    fork = await store.run(lambda tx: conversation(tx, address="telegram:-1", parent=session))
    other = await store.run(lambda tx: conversation(tx, address="telegram:-2"))
    for one in (session, fork, other):
        for name in ("inbox/old.pdf", "inbox/again.pdf", "inbox/sub/unpacked.txt", "own.txt"):
            put(tmp_path / str(one), name)
    await store.run(lambda tx: sends(tx, session, "inbox/old.pdf"))
    await store.run(lambda tx: sends(tx, session, "inbox/again.pdf"))
    await store.run(lambda tx: sends(tx, session, "own.txt"))
    clock.now += 6 * DAY
    assert "copies" in (done := await run()) and not done["copies"]
    await store.run(lambda tx: sends(tx, session, "inbox/again.pdf"))
    clock.now += 2 * DAY
    assert (await run())["copies"]
    for one in (session, fork):
        there = {str(p.relative_to(tmp_path / str(one))) for p in (tmp_path / str(one)).rglob("*")}
        assert there == {"inbox", "inbox/again.pdf", "inbox/sub", "own.txt"}
    assert not (tmp_path / str(other) / "inbox" / "old.pdf").exists()  # by its age
    assert (tmp_path / str(other) / "own.txt").exists()


async def test_what_tools_said_goes_by_its_age(store: Store, clock: Clock, tmp_path: Path) -> None:
    session = await store.run(conversation)
    names = (".outputs/command-1.txt", "mcp/page.txt", "inbox/a.txt", "work.txt")
    for name in names:
        put(tmp_path / str(session), name)

    async def left(**retention: str) -> list[str]:
        tools = {"workspace": f"{tmp_path}/{{session}}"}
        await pruning(store, tools=tools, retention=retention).run()
        return [name for name in names if (tmp_path / str(session) / name).exists()]

    clock.now += 80 * DAY
    assert await left() == list(names)
    clock.now += 20 * DAY
    assert await left() == ["mcp/page.txt", "inbox/a.txt", "work.txt"]  # retention.work
    assert await left(messages="120d") == ["mcp/page.txt", "inbox/a.txt", "work.txt"]
    assert await left(messages="30d") == ["work.txt"]


async def test_nothing_outside_is_removed_through_a_link(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    outside = put(tmp_path, "outside/inbox/precious.txt")
    session = await store.run(conversation)
    root = tmp_path / "w" / str(session)
    root.mkdir(parents=True)
    (root / "inbox").symlink_to(outside.parent)
    (root / "mcp").mkdir()
    (root / "mcp" / "in").symlink_to(outside.parent)
    (root / "mcp" / "precious.txt").hardlink_to(outside)
    await store.run(lambda tx: sends(tx, session, "inbox/precious.txt"))
    await store.run(lambda tx: sends(tx, session, "inbox/../../../outside/inbox/precious.txt"))
    clock.now += 30 * DAY
    tools = {"workspace": f"{tmp_path}/w/{{session}}"}
    await pruning(store, tools=tools, retention={"files": "1d"}).run()
    assert outside.read_text() == "outside/inbox/precious.txt"
    assert list((root / "mcp").iterdir()) == []


async def test_in_one_workspace_for_all_a_file_is_kept_as_long_as_anybody_keeps_it(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    session = await store.run(conversation)
    other = await store.run(lambda tx: conversation(tx, address="telegram:-2"))
    put(tmp_path, "inbox/both.txt")
    put(tmp_path, "inbox/one.txt")
    await store.run(lambda tx: sends(tx, session, "inbox/both.txt"))
    await store.run(lambda tx: sends(tx, session, "inbox/one.txt"))
    clock.now += 30 * DAY
    await store.run(lambda tx: sends(tx, other, "inbox/both.txt"))
    await pruning(store, tools={"workspace": str(tmp_path)}, retention={"files": "7d"}).run()
    assert [p.name for p in (tmp_path / "inbox").iterdir()] == ["both.txt"]


async def test_who_is_forgotten_leaves_no_copies(store: Store, tmp_path: Path) -> None:
    def work(tx: Transaction) -> tuple[int, int, int]:
        mine = conversation(tx, address=PRIVATE)
        tx.directory.set_private(PRIVATE, ADA)
        tx.directory.join(mine, ADA)
        group = conversation(tx)
        tx.directory.join(group, ADA)
        tx.directory.join(group, BOB)
        fork = conversation(tx, address="telegram:-1", parent=group)
        tx.directory.join(fork, BOB)
        sends(tx, mine, "inbox/mine.txt")
        sends(tx, group, "inbox/mine.txt")
        sends(tx, group, "inbox/bobs.txt", BOB)
        ran(tx, group, ".outputs/command-1.txt", ADA)
        ran(tx, group, ".outputs/command-2.txt", BOB)
        return mine, group, fork

    mine, group, fork = await store.run(work)
    for one in (mine, group, fork):
        for name in ("inbox/mine.txt", "inbox/bobs.txt", "inbox/sub/x", "mcp/page", "own.txt"):
            put(tmp_path / str(one), name)
        for number in (1, 2):
            put(tmp_path / str(one), f".outputs/command-{number}.txt")
    await store.run(lambda tx: tx.forgettings.begin(ADA, "test"))
    copies = Copies(lambda session: Workspace(tmp_path / str(session)))
    await Forgetters(store, copies).run()

    def left(session: int) -> set[str]:
        root = tmp_path / str(session)
        return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}

    assert left(mine) == {"own.txt"}
    others = {"inbox/bobs.txt", "inbox/sub/x", "mcp/page", "own.txt", ".outputs/command-2.txt"}
    assert left(group) == others
    assert left(fork) == others | {".outputs/command-1.txt"}


async def test_folders_that_are_very_deep_do_not_stop_the_rest(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    session = await store.run(conversation)
    file = put(tmp_path / str(session), "inbox/a.txt")
    folder = os.open(file.parent, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    clock.now += 30 * DAY
    tools = {"workspace": f"{tmp_path}/{{session}}"}
    done = await pruning(store, tools=tools, retention={"files": "1d"}).run()
    assert done["copies"] == 1 and not file.exists()
    # More levels than pytest can remove.
    subprocess.run(["rm", "-r", tmp_path / str(session)], check=True)
