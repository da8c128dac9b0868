"""A fork has the files that its history names, and no others."""

from pathlib import Path

import pytest

from adapters.events import Conversation, Message, User
from adapters.recording import RecordingAdapter
from agent.tools.files import copying
from gateway.turns.requests import ForkRequest, request
from storage.records.entries import Json
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import bound, command, press, talk
from tests.flow.conftest import Gateway, gateway
from tests.flow.delegating import ANSWER, Rule, calls, delegates, says, tool_results

RULES: list[Rule] = [
    calls(
        "write_file",
        {"path": "{1}.txt", "content": "{2}"},
        tier="parent",
        last=r"^write (\S+) (.+)",
    ),
    calls("read_file", {"path": "{1}.txt"}, tier="parent", last=r"^read (\S+)"),
    delegates({"goal": "{1}"}, last=r"^have (\S+)"),
    calls("write_file", {"path": "{1}.txt", "content": "by a child"}, last=r"Task: (\S+)"),
    says("written", last="Wrote"),
    ANSWER,
]


def files(folder: Path) -> Json:
    return {"tools": {"toolsets": ["file"], "workspace": f"{folder}/{{session}}"}}


async def read(g: Gateway, name: str) -> str:
    await talk(g, f"read {name}")
    return tool_results(g.model.requests[-1])[-1]


async def test_a_fork_reads_what_its_history_names_and_goes_its_own_way(
    store: Store, tmp_path: Path
) -> None:
    async with gateway(RULES, store=store, config=files(tmp_path)) as g:
        await talk(g, "write mine first")
        await talk(g, "have child")
        (tmp_path / "1/elsewhere.txt").write_text("by nobody here")
        shown = await command(g, "/fork")
        fork = await bound(store)
        assert sorted(path.name for path in (tmp_path / str(fork)).iterdir()) == [
            "child.txt",
            "mine.txt",
        ]
        assert await read(g, "mine") == "first"
        assert await read(g, "child") == "by a child"
        assert "no such file" in await read(g, "elsewhere")
        await talk(g, "write mine second")
        await press(g, shown, "Back to write mine first")
        assert await read(g, "mine") == "first"
        await talk(g, "write mine third")
        assert (tmp_path / f"{fork}/mine.txt").read_text() == "second"


async def test_a_fork_has_nothing_from_behind_its_beginning(store: Store, tmp_path: Path) -> None:
    async with gateway(RULES, store=store, config=files(tmp_path)) as g:
        await talk(g, "hello")
        await talk(g, "write later x")
        await command(g, "/fork #2")
        assert await bound(store) != 1
        assert "no such file" in await read(g, "later")


async def test_a_fork_of_a_fork_has_them_too(store: Store, tmp_path: Path) -> None:
    async with gateway(RULES, store=store, config=files(tmp_path)) as g:
        await talk(g, "write mine first")
        await command(g, "/fork")
        await command(g, "/fork")
        assert await read(g, "mine") == "first"


async def test_what_is_too_much_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "MOST_BYTES", 10)
    async with gateway(RULES, store=store, config=files(tmp_path)) as g:
        await talk(g, f"write long {'x' * 20}")
        await talk(g, "write short y")
        await command(g, "/fork")
        told = await g.hears("Not all files came along")
        assert "`long.txt`" in told.text
        assert "short" not in told.text
        assert await read(g, "short") == "y"


async def test_nothing_is_copied_where_all_share_one_folder(store: Store, tmp_path: Path) -> None:
    config: Json = {"tools": {"toolsets": ["file"], "workspace": str(tmp_path)}}
    async with gateway(RULES, store=store, config=config) as g:
        await talk(g, "write mine first")
        await command(g, "/fork")
        assert await read(g, "mine") == "first"
        assert [path.name for path in tmp_path.iterdir() if path.suffix == ".txt"] == ["mine.txt"]


async def test_a_path_with_the_workspace_before_it_is_taken(store: Store, tmp_path: Path) -> None:
    """By the tools; and two that named a file in either way are told that it is one."""
    whole = str(tmp_path / "1/a.txt")
    rules = [
        delegates({"tasks": [{"goal": "one"}, {"goal": "two"}]}),
        calls("write_file", {"path": whole, "content": "1"}, last="Task: one"),
        calls("write_file", {"path": "a.txt", "content": "2"}, last="Task: two"),
        calls("read_file", {"path": whole}, last="^Wrote"),
        says("done"),
        calls(
            "search_files", {"pattern": "1|2", "path": str(tmp_path / "1")}, tier="parent", turn=1
        ),
        calls("list_files", {"path": str(tmp_path / "1")}, tier="parent", turn=2),
        calls("read_file", {"path": str(tmp_path / "2/a.txt")}, tier="parent", turn=3),
        says("the end", tier="parent"),
    ]
    (tmp_path / "2").mkdir()
    (tmp_path / "2/a.txt").write_text("another chat's")
    async with gateway(rules, store=store, config=files(tmp_path)) as g:
        await g.chat.say("go")
        await g.hears("the end")
        children, found, listed, refused = tool_results(g.model.of("parent")[-1])
        assert children.count("of this call wrote the same: a.txt") == 2
        assert found.startswith("a.txt:1: ")
        assert listed == "a.txt (1 bytes)"
        assert "give the path relative to the workspace" in refused


async def test_the_files_come_along_after_a_restart_too(database: str, tmp_path: Path) -> None:
    """Killed between the fork and its files: the job is in the inbox when it starts again."""
    chat = RecordingAdapter(name="telegram")
    config = files(tmp_path)
    store = await SqlStore.open(database)
    async with gateway(RULES, store=store, chat=chat, config=config) as g:
        await talk(g, "write mine first")
        await command(g, "/fork")
        fork = await bound(store)
    (tmp_path / f"{fork}/mine.txt").unlink()
    store = await SqlStore.open(database)
    rows = await store.read(lambda tx: [tx.inbox.get(number) for number in range(1, 4)])
    (job,) = [row for row in rows if row.kind is InboxKind.FORK]
    asked = Message(
        key="telegram:1:9",
        conversation=Conversation.parse(job.address),
        user=User("telegram", "1", "Ann"),
        text="/fork",
        message_id="9",
        private=True,
    )
    payload = request(ForkRequest, asked, source=1)
    again = Arrival("fork:again", job.kind, job.address, payload, job.session)
    await store.run(lambda tx: tx.inbox.receive(again))
    async with gateway(RULES, store=store, chat=chat, config=config) as g:
        assert await read(g, "mine") == "first"
