"""Commands that one process of several runs, as the others see them."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.models.base import ToolCall
from agent.settings import ToolsConfig
from agent.tools.base import Done, Setting, run_call, toolbox
from agent.tools.terminal.elsewhere import TOPIC
from agent.tools.terminal.terminal import Terminal
from agent.tools.terminal.tools import terminal_tools
from gateway.processes.switchboard import Switchboard
from storage.records.inbox_outbox import InboxKind
from storage.records.tools.commands import Command, CommandState
from storage.sql.store import SqlStore
from tests.support.processes import shows_that_it_lives, two_processes
from tests.support.sandboxes import SMALL, need_bubblewrap
from tests.support.stores import append, new_session, said


class Process:
    """The terminal of one, and the tools of an agent whose turn it runs."""

    def __init__(self, store: SqlStore, config: ToolsConfig, session: int, entry: int) -> None:
        self.store = store
        self.terminal = Terminal(store, config, limits=SMALL)
        Switchboard(store).on(TOPIC, self.terminal.heard)
        self.session = session
        self._entry = entry
        setting = Setting(session, "telegram:1", child=False, window=None)
        self._tools = toolbox(*terminal_tools(self.terminal, setting))

    async def call(self, name: str, **arguments: Any) -> str:
        call = ToolCall("c1", name, json.dumps(arguments))
        done = await run_call(
            self._tools,
            call,
            session=self.session,
            entry=self._entry,
            address="telegram:1",
            person="telegram:7",
        )
        assert isinstance(done, Done)
        return done.text

    async def begin(self, command: str) -> int:
        told = await self.call("run_command", command=command, background=True)
        return int(told.split(" command ")[1].split(".")[0])

    async def row(self, command: int) -> Command:
        found = await self.store.read(lambda tx: tx.commands.get(command))
        assert found is not None
        return found

    async def events(self) -> list[str]:
        rows = await self.store.read(lambda tx: tx.inbox.unfinished())
        return [row.key for row in rows if row.kind is InboxKind.EVENT]


@pytest.fixture
async def pair(postgres_url: str, tmp_path: Path) -> AsyncIterator[tuple[Process, Process]]:
    need_bubblewrap()
    config = ToolsConfig.model_validate({"workspace": str(tmp_path / "w" / "{session}")})
    async with two_processes(postgres_url) as (left, right):
        session = await new_session(left)
        (entry,) = await append(left, session.id, said("run it"))
        made = tuple(Process(store, config, session.id, entry.id) for store in (left, right))
        yield made[0], made[1]
        for each in made:
            await each.terminal.close()


async def until_seen(process: Process, last_line: str) -> None:
    async with asyncio.timeout(30):
        while last_line not in [
            one.last_line for one in await process.terminal.seen_anywhere(process.session)
        ]:
            await asyncio.sleep(0.05)


async def until_over(process: Process, command: int) -> Command:
    async with asyncio.timeout(30):
        while (row := await process.row(command)).state is CommandState.RUNNING:
            await asyncio.sleep(0.05)
    return row


async def test_what_another_process_runs_is_seen_and_stopped(
    pair: tuple[Process, Process],
) -> None:
    left, right = pair
    command = await left.begin("echo hello; sleep 600")
    await until_seen(right, "hello")
    assert await right.terminal.seen_anywhere(right.session) != []
    assert right.terminal.seen(right.session) == []
    assert await right.terminal.stop_anywhere(right.session) == 1
    assert (await until_over(right, command)).why == "somebody stopped it"
    assert await right.terminal.seen_anywhere(right.session) == []
    assert await right.terminal.stop_anywhere(right.session) == 0
    assert await left.events() == []  # who stopped it knows


async def test_an_agent_whose_turn_runs_elsewhere_reads_and_ends_its_commands(
    pair: tuple[Process, Process],
) -> None:
    left, right = pair
    command = await left.begin("echo hello; sleep 600")
    await until_seen(right, "hello")
    assert "hello" in await right.call("command_output", id=command)
    told = await right.call("stop_command", id=command)
    assert "ended because stop_command ended it" in told
    assert (await right.row(command)).state is CommandState.ENDED


async def test_a_start_beside_a_living_process_leaves_its_commands_alone(
    pair: tuple[Process, Process],
) -> None:
    left, right = pair
    command = await left.begin("sleep 600")
    await right.terminal.recover()
    await left.terminal.recover()
    assert (await left.row(command)).state is CommandState.RUNNING
    assert await right.events() == []


async def test_what_a_process_ran_that_died_is_told_once_and_ended_where_it_wakes(
    pair: tuple[Process, Process],
) -> None:
    left, right = pair
    command = await left.begin("sleep 600")
    await shows_that_it_lives(left.store, -1)  # it stands still
    await right.terminal.recover()
    await right.terminal.recover()
    assert (await right.row(command)).state is CommandState.LOST
    assert await right.events() == [f"command:{command}"]
    await shows_that_it_lives(left.store)  # it wakes
    await left.terminal.recover()
    async with asyncio.timeout(30):
        while left.terminal.seen(left.session):
            await asyncio.sleep(0.05)
    assert (await right.row(command)).state is CommandState.LOST
    assert await right.events() == [f"command:{command}"]
