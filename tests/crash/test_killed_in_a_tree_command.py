"""Killed between a command, typed or by a button, and its end: it is carried out once."""

import itertools
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.rules import SUMMARY
from tests.crash.scene import Scene, scene
from tests.crash.trees import Tree, Trees
from tests.stand_ins.telegram_checks import Json
from tests.support.session_files import HEADER, file_of, user

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

TALK = ["one", "answer to one", "two", "answer to two"]
FILE = file_of(HEADER, user("a", None, "from a file"))


@dataclass(frozen=True, slots=True)
class Walk:
    """A gateway, and a chat in which two things were said."""

    running: Scene
    trees: Trees
    chat: int

    @property
    def tree(self) -> Tree:
        return self.trees.of(self.chat)

    @property
    def messages(self) -> list[Json]:
        return self.running.telegram.messages(self.chat)

    @property
    def texts(self) -> list[str]:
        return self.running.telegram.texts(self.chat)

    def says(self, text: str, **more: Any) -> Json:
        """What the person says; the message."""
        said: Json = self.running.telegram.say(self.chat, self.chat, text, **more)["message"]
        return said

    async def hears(self, text: str, **more: Any) -> Json:
        """What the person says; the newest message once all is done."""
        self.says(text, **more)
        await self.running.quiet()
        return self.running.telegram.messages(self.chat)[-1]

    def presses(self, message: Json, label: str) -> None:
        self.running.telegram.press(message, label, self.chat)

    def file(self, message: Json) -> bytes:
        kept = self.running.telegram.file(message)
        assert kept is not None
        return kept.content

    async def killed_before_it_is_done(self) -> list[str]:
        """What was just typed or pressed has come as far as the change that stalls. What was sent
        and is not on record: only that may be sent again."""
        running = self.running
        await until(lambda: running.database.open_rows() and running.database.is_being_written())
        await running.gateway.kill()
        running.database.mend()
        assert len(running.database.open_rows()) == 1
        return self.texts[self.trees.recorded(self.chat) :]

    async def goes_on(self) -> list[str]:
        """Start again; what the chat hears until all is done."""
        before = len(self.texts)
        await self.running.gateway.start()
        await self.running.quiet()
        return self.texts[before:]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Scene, Trees]]:
    folder = tmp_path_factory.mktemp("gateway")
    session = {"branch_summaries": "auto"}
    access = {"owners": ["telegram:*"]}
    async with scene(folder, session=session, access=access) as started:
        yield started, Trees(folder)


_chats = itertools.count(1)


@pytest_asyncio.fixture(loop_scope="module")
async def walk(shared: tuple[Scene, Trees]) -> Walk:
    running, trees = shared
    await running.restore()
    walk = Walk(running, trees, next(_chats))
    for text in ("one", "two"):
        await walk.hears(text)
    assert walk.tree.said() == TALK
    return walk


@dataclass(frozen=True, slots=True)
class Outcome:
    hears: tuple[str, ...]
    """How the messages begin that answer a command."""
    said: list[str]
    """What stands on the path then."""
    entries: int = 4
    """How many there are then."""
    moved: str = ""
    """Why the leaf was moved, once."""


COMMANDS = {
    "/undo": Outcome(("Summarising", "You are after #2"), [*TALK[:2], SUMMARY], 5, moved="undo"),
    "/branch #2": Outcome(
        ("Summarising", "You are after #2"), [*TALK[:2], SUMMARY], 5, moved="branch"
    ),
    "/goto #3": Outcome(("You are after #3",), TALK[:3], moved="goto"),
    "/retry": Outcome(("answer to two",), TALK, 5, moved="retry"),
    "/fan 2": Outcome(
        ("Asking for 2", "1/2", "2/2", "The conversation goes on"), TALK, 8, moved="fan"
    ),
    "/compact": Outcome(("Summarising", "Compacted at #5"), [*TALK, SUMMARY], 5),
    "/label here": Outcome(("🏷 here is now #4",), TALK, 5),
}
ANSWER = "INSERT ON entries", "json_extract(NEW.body, '$.role') = 'assistant'"
POINTS = {
    **{(command, "taken in"): ("INSERT ON outbox", "1") for command in COMMANDS},
    ("/retry", "taken in"): ("INSERT ON leaf_moves", "1"),
    ("/retry", "answered"): ANSWER,
    ("/branch #2", "summarised"): ("INSERT ON leaf_moves", "1"),
    ("/undo", "summarised"): ("INSERT ON leaf_moves", "1"),
    ("/compact", "summarised"): ("INSERT ON entries", "NEW.kind = 'compaction'"),
    ("/fan 2", "answered"): ANSWER,
    ("/fan 2", "all answered"): ("INSERT ON leaf_moves", "1"),
}
"""The change before which it is killed, by the command and what was done of it by then."""


@pytest.mark.parametrize(("command", "done"), POINTS)
async def test_a_command_is_carried_out_once(walk: Walk, command: str, done: str) -> None:
    expected, before = COMMANDS[command], walk.tree
    walk.running.database.stall(*POINTS[command, done])
    walk.says(command)
    in_flight = await walk.killed_before_it_is_done()
    assert walk.tree.leaf == before.leaf or command == "/retry"
    await walk.goes_on()
    heard = walk.texts[2 + len(in_flight) :]
    assert len(heard) == len(expected.hears)
    for text, beginning in zip(heard, expected.hears, strict=True):
        assert text.startswith(beginning)
    tree = walk.tree
    assert tree.said() == expected.said
    assert len(tree.own) == expected.entries
    assert [move[0] for move in tree.moves] == ([expected.moved] if expected.moved else [])


async def test_a_button_that_was_only_pressed_is_carried_out_once(walk: Walk) -> None:
    moved = await walk.hears("/undo")
    before = walk.tree
    walk.running.database.stall("INSERT ON outbox")
    walk.presses(moved, "↩ Back")
    await walk.killed_before_it_is_done()
    assert walk.tree == before
    assert await walk.goes_on() == []
    assert walk.texts[-1].startswith("You are after #4")
    assert walk.tree.said() == TALK
    assert [move[0] for move in walk.tree.moves] == ["undo", "goto"]


async def test_a_setting_that_was_only_pressed_is_chosen_once(walk: Walk) -> None:
    listed = await walk.hears("/settings")
    walk.running.database.stall("INSERT ON chat_settings")
    walk.presses(listed, "Busy: queue")
    await walk.killed_before_it_is_done()
    assert walk.trees.audited("setting") == 0
    assert await walk.goes_on() == []
    assert walk.texts[-1].startswith("✅ busy: queue.")
    assert walk.trees.audited("setting") == 1
    shown = await walk.hears("/settings")
    assert "busy · queue (chosen here)" in shown["text"]


async def test_a_changed_message_is_asked_once(walk: Walk) -> None:
    said = walk.says("three")
    await walk.running.quiet()
    before = walk.tree
    walk.running.database.stall("INSERT ON leaf_moves")
    walk.running.telegram.edit(said, "3")
    await walk.killed_before_it_is_done()
    assert walk.tree == before
    assert await walk.goes_on() == ["answer to 3"]
    assert walk.tree.said() == [*TALK, "3", "answer to 3"]
    assert len(walk.tree.own) == len(before.own) + 2
    assert [move[0] for move in walk.tree.moves] == ["edit"]


async def test_a_fork_is_made_once(walk: Walk) -> None:
    before, sessions = walk.tree, walk.trees.sessions()
    walk.running.database.stall("INSERT ON outbox")
    walk.says("/fork #2 elsewhere")
    await walk.killed_before_it_is_done()
    assert walk.tree == before
    (heard,) = await walk.goes_on()
    assert heard.startswith("Forked after #2")
    assert walk.trees.sessions() == sessions + 1
    assert walk.tree.session != before.session
    assert walk.tree.said() == TALK[:2]
    assert walk.trees.tree(before.session) == before


async def test_a_code_takes_another_chat_along_once(walk: Walk) -> None:
    told = await walk.hears("/attach")
    (code,) = re.findall(r"/attach (\S+)", told["text"])
    other = replace(walk, chat=next(_chats))
    walk.running.database.stall("INSERT ON outbox")
    other.says(f"/attach {code}")
    await walk.killed_before_it_is_done()
    (heard,) = await other.goes_on()
    assert heard.startswith("You are in")
    assert other.tree == walk.tree
    assert walk.trees.audited("attach") == 1
    refused = await other.hears(f"/attach {code}")
    assert "not valid" in refused["text"]


async def test_a_file_that_was_sent_is_taken_in_once(walk: Walk) -> None:
    before, sessions = walk.tree, walk.trees.sessions()
    document = walk.running.telegram.document("session.jsonl", FILE)
    walk.running.database.stall("INSERT ON outbox")
    walk.says("/import", caption=True, document=document)
    await walk.killed_before_it_is_done()
    (heard,) = await walk.goes_on()
    assert heard.startswith("Taken in")
    assert walk.trees.sessions() == sessions + 1
    assert walk.tree.said() == ["from a file"]
    assert walk.trees.tree(before.session) == before


async def test_an_exported_file_arrives_once(walk: Walk) -> None:
    walk.running.database.stall("INSERT ON outbox")
    walk.says("/export")
    await walk.killed_before_it_is_done()
    assert len(await walk.goes_on()) == 1
    walk.running.telegram.fail_next("sendDocument", times=1000)
    walk.says("/export")
    await walk.running.telegram.refused("sendDocument")
    await walk.running.gateway.kill()
    walk.running.telegram.recover()
    assert len(await walk.goes_on()) == 1
    first, second = (walk.file(message) for message in walk.messages[-2:])
    assert first == second
    assert b"answer to two" in first
