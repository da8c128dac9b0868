"""`bough sessions …`, as people and programs run it."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.runtime.context import context
from gateway.__main__ import main
from gateway.cli.parser import parser
from gateway.cli.sessions import manage
from gateway.configuration.config import Config
from gateway.configuration.secret_values import secrets_of
from storage.records.entries import Draft, Json, Kind, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.flow.conftest import gateway
from tests.support.gateway_process import ROOT, write_config
from tests.support.session_files import (
    HEADER,
    assistant,
    call,
    compaction,
    file_of,
    line,
    lines_of,
    result,
    said,
    user,
)
from tests.support.stores import make_database

BRANCHED = [
    user("a", None, "start"),
    assistant("b", "a", said("r1"), call("c")),
    result("d", "b", "c"),
    user("e", "d", "one way"),
    compaction("f", "e", "d"),
    user("7", "b", "other way"),
    line("label", "h", "7", targetId="e", label="mark 🚩"),
]


@dataclass
class Place:
    """A folder with a database, and commands on it in this process."""

    folder: Path
    url: str
    output: pytest.CaptureFixture[bytes]

    async def bough(self, *arguments: str) -> bytes:
        """What a command prints."""
        config = Config.model_validate({"storage": {"url": self.url}})
        self.output.readouterr()
        assert await manage(parser().parse_args(["sessions", *arguments]), config) == 0
        return self.output.readouterr().out

    async def json(self, *arguments: str) -> Any:
        return json.loads(await self.bough(*arguments, "--json"))

    async def taken(self, *lines: Json) -> int:
        """A file with these entries, imported: the session's id."""
        file = self.folder / "given.jsonl"
        file.write_bytes(file_of(HEADER, *lines))
        taken = await self.json("import", str(file))
        assert (taken["entries"], taken["notes"]) == (len(lines), [])
        session: int = taken["session"]
        return session


@pytest.fixture
def place(tmp_path: Path, database: str, capsysbinary: pytest.CaptureFixture[bytes]) -> Place:
    return Place(tmp_path, database, capsysbinary)


async def test_a_file_is_imported_and_its_tree_and_contexts_are_shown(place: Place) -> None:
    session = await place.taken(*BRANCHED)
    tree = await place.json("tree", str(session))
    assert (tree["session"], tree["leaf"], tree["roots"]) == (session, "h", ["a"])
    entries = {entry["id"]: entry for entry in tree["entries"]}
    assert list(entries) == ["a", "b", "d", "e", "f", "7", "h"]
    assert [entry["number"] for entry in entries.values()] == [1, 2, 3, 4, 5, 6, 7]
    assert entries["b"] == {
        "id": "b",
        "number": 2,
        "parent": "a",
        "children": ["d", "7"],
        "type": "message",
        "role": "assistant",
        "text": "r1",
        "label": None,
        "timestamp": "2025-01-01T00:00:00.000Z",
        "on_path": True,
    }
    assert entries["e"]["label"] == "mark 🚩"
    assert {id_ for id_, entry in entries.items() if entry["on_path"]} == {"a", "b", "7", "h"}
    at_leaf = await place.json("context", str(session))
    assert [each["content"] for each in at_leaf][-1] == "other way"
    assert [each["role"] for each in at_leaf] == ["user", "assistant", "tool", "user"]
    compacted = await place.json("context", str(session), "--at", "f")
    assert [each["role"] for each in compacted] == ["user", "user", "user"]
    assert "one way" in compacted[-1]["content"]


async def test_an_entry_is_named_by_its_original_id_or_its_number(place: Place) -> None:
    session = str(await place.taken(*BRANCHED))
    by_id = await place.json("context", session, "--at", "7")
    assert by_id[-1]["content"] == "other way"
    assert await place.json("context", session, "--at", "6") == by_id
    assert await place.json("context", session, "--at", "#7") == by_id


async def test_an_export_is_the_file_that_was_imported(place: Place) -> None:
    session = await place.taken(*BRANCHED)
    file = place.folder / "out.jsonl"
    assert await place.bough("export", str(session), "--output", str(file)) == b""
    assert lines_of(file.read_bytes()) == [HEADER, *BRANCHED]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in place.folder.glob(".bough-*")] == []
    again = await place.json("import", str(file))
    assert await place.bough("export", str(again["session"]), "--output", "-") == file.read_bytes()


async def test_a_session_that_the_gateway_made_is_carried_along(place: Place, store: Store) -> None:
    rules = [{"reply": {"text": "The ferry leaves at nine."}}]
    async with gateway(rules, store=store) as bough:
        await bough.chat.say("When?")
        await bough.hears("The ferry leaves at nine.")
        await bough.settled()
        listed = await place.json("list")  # beside the running gateway
        session = listed[0]["session"]
        file = place.folder / "out.jsonl"
        await place.bough("export", str(session), "--output", str(file))
        taken = await place.json("import", str(file))
        before = await place.json("tree", str(session))
        after = await place.json("tree", str(taken["session"]))
        told = await place.json("context", str(session))
        assert await place.json("context", str(taken["session"])) == told
        await bough.chat.say("And back?")
        await bough.hears("The ferry leaves at nine.", count=2)
    assert listed[0]["conversations"] == ["telegram:1"]
    kept = ("type", "role", "text", "timestamp", "on_path")
    shown = [[{key: e[key] for key in kept} for e in t["entries"]] for t in (before, after)]
    assert shown[0] == shown[1]
    assert [each["content"].split("\n<received_at>")[0] for each in told] == [
        *("When?", "The ferry leaves at nine.")
    ]


async def test_a_fork_is_shown_and_exported_with_what_it_begins_with(place: Place) -> None:
    source = await place.taken(*BRANCHED)
    store = await SqlStore.open(place.url)

    def fork(tx: Transaction) -> int:
        start = tx.tree.original(source, "e")
        assert start is not None
        draft = SessionDraft(SessionKind.CHAT, "Fork", source, start.id)
        made = tx.tree.create(draft).id
        tx.tree.move_leaf(made, start.id, after=None, by="", why="fork")
        tx.tree.append(made, Draft(Kind.MESSAGE, message("user", "forked")), after=start.id)
        return made

    made = await store.run(fork)
    await store.close()
    tree = await place.json("tree", str(made))
    assert [entry["id"] for entry in tree["entries"]] == ["a", "b", "d", "e", "5"]
    assert tree["leaf"] == "5"
    assert (await place.json("context", str(made), "--at", "d"))[-1]["content"] == "seen"
    file = place.folder / "fork.jsonl"
    await place.bough("export", str(made), "--output", str(file))
    taken = await place.json("import", str(file))
    assert taken["entries"] == 6  # the label that it began with is an entry of its own
    assert await place.json("context", str(taken["session"])) == await place.json(
        "context", str(made)
    )
    marks = [e["label"] for e in (await place.json("tree", str(taken["session"])))["entries"]]
    assert marks.count("mark 🚩") == 1
    assert (await place.json("list"))[0]["title"] == "Fork"


async def test_secrets_are_taken_out_on_request(place: Place) -> None:
    secrets = [
        "sk-ant-api03-abcdefghijklmnopqrst",
        "1234567890:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawQ",
        "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
        "xyzzy-plugh",
        "s3cr3t-pass",
        "abcdef.0123456789",
    ]
    text = (
        f"{secrets[0]} {secrets[1]} {secrets[2]} {secrets[3]} "
        f"postgres://bob:{secrets[4]}@db/x Authorization: Bearer {secrets[5]}"
    )
    lines = [
        user("a", None, text),
        assistant("b", "a", said(text), call("c", key=text)),
        result("d", "b", "c", text),
        line("custom", "e", "d", customType="mine", data={text: [text]}),
        line("session_info", "f", "e", name=text),
    ]
    session = await place.taken(*lines)
    config = Config.model_validate(
        {
            "storage": {"url": place.url},
            "models": {"presets": {"cheap": {"model": "x/y", "api_keys": [secrets[3]]}}},
        }
    )
    file = place.folder / "out.jsonl"
    arguments = ["sessions", "export", str(session), "--output", str(file), "--redact"]
    assert await manage(parser().parse_args(arguments), config) == 0
    written = file.read_text()
    for secret in secrets:
        assert secret not in written
        assert json.dumps(secret)[1:-1] not in written
    assert "postgres://bob:[redacted]@db/x" in written
    assert [each.get("id") for each in lines_of(file.read_bytes())[1:6]] == list("abdef")
    await place.json("import", str(file))


def test_every_secret_value_of_a_configuration_is_known() -> None:
    config = Config.model_validate(
        {
            "telegram": {"token": "123:abcdef"},
            "discord": {"token": "xyz-uvw"},
            "models": {
                "parent": {"model": "m", "api_key": "first-key"},
                "presets": {"p": {"model": "m", "api_keys": ["second-key", "third-key"]}},
            },
        }
    )
    assert secrets_of(config) - {""} == {
        "123:abcdef",
        "abcdef",
        "xyz-uvw",
        "first-key",
        "second-key",
        "third-key",
    }


async def test_transcripts_of_delegations_are_listed_on_request_and_not_exported(
    place: Place, store: Store
) -> None:
    def made(tx: Transaction) -> tuple[int, int]:
        chat = tx.tree.create(SessionDraft(SessionKind.CHAT, "Talk")).id
        return chat, tx.tree.create(SessionDraft(SessionKind.SUBAGENT, "worker", chat)).id

    chat, worker = await store.run(made)
    assert [one["session"] for one in await place.json("list")] == [chat]
    assert [one["session"] for one in await place.json("list", "--all")] == [worker, chat]
    config = Config.model_validate({"storage": {"url": place.url}})
    arguments = parser().parse_args(["sessions", "export", str(chat), "--output", "-"])
    place.output.readouterr()
    await manage(arguments, config)
    said_so = place.output.readouterr()
    assert b"left out: the transcripts of delegations (1)" in said_so.err
    assert len(lines_of(said_so.out)) == 3


async def test_people_read_text_that_no_terminal_obeys(place: Place) -> None:
    nasty = "\x1b[31mred\x07\nnext"
    lines = [
        user("a", None, nasty),
        user("b", "a", "left"),
        user("d", "a", "right"),
        line("label", "e", "d", targetId="a", label=nasty),
        line("session_info", "f", "e", name=nasty),
    ]
    session = str(await place.taken(*lines))
    for action in (["tree", session], ["context", session], ["list"]):
        text = (await place.bough(*action)).decode()
        assert "red" in text
        assert not set(text) & {"\x1b", "\x07"}
    tree = (await place.bough("tree", session)).decode().splitlines()
    assert tree[1:4] == [
        "│ #1 (a) user: �[31mred� next  [�[31mred� next]",
        "    #2 (b) user: left",
        "│   #3 (d) user: right",
    ]


async def test_a_tree_of_any_depth_is_shown(place: Place) -> None:
    deep = [user(f"e{n}", f"e{n - 1}" if n else None) for n in range(5_000)]
    session = str(await place.taken(*deep))
    assert len((await place.json("tree", session))["entries"]) == 5_000
    assert len((await place.bough("tree", session)).splitlines()) == 5_001
    assert len(await place.json("context", session)) == 5_000


async def run(*arguments: str, cwd: Path, given: bytes = b"") -> tuple[int, bytes, str]:
    """A command as a process: exit status, standard output, standard error."""
    kept = {name: text for name, text in os.environ.items() if "BOUGH_" not in name}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=kept | {"PYTHONPATH": str(ROOT)},
    )
    out, err = await process.communicate(given)
    assert process.returncode is not None
    return process.returncode, out, err.decode()


def faults_in(err: str) -> list[str]:
    """The lines of a command's errors, but for the one that names the database."""
    return [line for line in err.splitlines() if "bough: working on " not in line]


async def test_the_commands_are_processes_that_read_and_write_streams(tmp_path: Path) -> None:
    make_database(tmp_path / "bough.db")
    config = str(write_config(tmp_path, storage={"url": f"sqlite:///{tmp_path}/bough.db"}))
    data = file_of(HEADER, *BRANCHED)
    imported = await run(
        "sessions", "import", "-", "--json", "--config", config, cwd=tmp_path, given=data
    )
    assert imported[0] == 0
    assert json.loads(imported[1]) == {"session": 1, "entries": 7, "notes": []}
    exported = await run(
        "--config", config, "sessions", "export", "1", "--output", "-", cwd=tmp_path
    )
    assert exported[0] == 0
    assert lines_of(exported[1]) == [HEADER, *BRANCHED]
    listed = await run("sessions", "--config", config, "list", cwd=tmp_path)
    assert b"7 entries" in listed[1]


async def test_faults_are_one_message_on_stderr_and_status_two(tmp_path: Path) -> None:
    make_database(tmp_path / "bough.db")
    config = str(write_config(tmp_path, storage={"url": f"sqlite:///{tmp_path}/bough.db"}))
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(file_of(HEADER, user("a", None), user("b", "x")))
    no_database = tmp_path / "text.db"
    no_database.write_text("no database " * 100)
    other = f"sqlite:///{no_database}"
    faults: list[tuple[Sequence[str], str]] = [
        (["tree", "9"], "there is no session 9"),
        (["context", "9", "--json"], "there is no session 9"),
        (["export", "9", "--output", "-"], "there is no session 9"),
        (["import", str(tmp_path / "nothing")], "cannot be read: No such file"),
        (["import", str(broken), "--json"], 'line 3: its parent "x" is not in the file'),
        (["list", "--config", str(tmp_path / "none.toml")], "There is no file"),
    ]
    for arguments, text in faults:
        status, out, err = await run("sessions", "--config", config, *arguments, cwd=tmp_path)
        assert (status, out) == (2, b""), arguments
        assert text in err
        assert len(faults_in(err)) == 1
        assert "Traceback" not in err
    write_config(tmp_path, storage={"url": other})
    status, out, err = await run("sessions", "--config", config, "list", cwd=tmp_path)
    assert (status, out) == (2, b"")
    assert "text.db" in err
    assert len(faults_in(err)) == 1


async def test_what_cannot_be_done_changes_nothing(place: Place) -> None:
    session = str(await place.taken(*BRANCHED))
    broken = place.folder / "broken.jsonl"
    broken.write_bytes(file_of(HEADER, user("a", None), {"type": "message", "id": "b"}))
    for arguments in (
        ["import", str(broken)],
        ["context", session, "--at", "nothing"],
        ["context", session, "--at", "99999999999999999999"],
        ["export", session, "--output", str(place.folder)],
        ["export", session, "--output", str(place.folder / "no" / "file")],
    ):
        with pytest.raises(Exception, match=r"line 3|has no entry|regular file|cannot be written"):
            await place.bough(*arguments)
    assert len(await place.json("list")) == 1
    assert sorted(path.name for path in place.folder.glob("*.jsonl")) == [
        "broken.jsonl",
        "given.jsonl",
    ]


@pytest.mark.parametrize(
    "arguments", [["tree", "x"], ["tree", "-1"], ["tree"], [], ["tree", "9" * 30]]
)
def test_wrong_arguments_are_a_usage_fault(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sessions", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""


async def test_the_context_shown_is_the_one_that_the_store_gives(place: Place) -> None:
    session = await place.taken(*BRANCHED)
    store = await SqlStore.open(place.url)
    path = await store.read(lambda tx: tx.tree.context_path(tx.tree.session(session).leaf))
    await store.close()
    assert await place.json("context", str(session)) == context(path)


async def test_owners_find_what_was_imported_in_their_private_chats(
    place: Place, store: Store
) -> None:
    file = place.folder / "talk.json"
    file.write_text('[{"role": "user", "content": "a question from afar"}]')
    access = {"owners": ["telegram:7", "discord:*"]}
    config = Config.model_validate({"storage": {"url": place.url}, "access": access})
    await manage(parser().parse_args(["sessions", "import", str(file)]), config)
    assert await store.read(lambda tx: tx.directory.members(1)) == ["telegram:7", "terminal:local"]
    async with gateway(store=store, config={"access": access | {"allow": ["telegram:*"]}}) as bot:
        await bot.chat.say("/sessions", chat="9", user="9")
        await bot.hears("Nothing was said here yet", chat="9")
        await bot.chat.say("/sessions", chat="7", user="7")
        await bot.hears("a question from afar", chat="7")
