"""Commands from message to answer: what people see of them, /stop, and what is told later."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.status import progress
from storage.records.tools.commands import Command
from storage.store import Store
from tests.flow.conftest import Gateway, gateway
from tests.support.sandboxes import need_bubblewrap


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def rules(command: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"when": {"last": "<event"}, "reply": {"text": "It ended."}},
        {"when": {"last": "exit code"}, "reply": {"text": "It is done."}},
        {"when": {"last": "in the background as"}, "reply": {"text": "It runs."}},
        {"when": {"last": "go"}, "reply": calls("run_command", command=command, **more)},
        {"reply": {"text": "Yes."}},
    ]


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    need_bubblewrap()
    allowed = [{"tool": "run_command", "decision": "allow"}]
    workspace = str(tmp_path / "w" / "{session}")
    return {"tools": {"toolsets": ["terminal"], "workspace": workspace, "rules": allowed}}


async def rows(g: Gateway) -> list[Command]:
    session = await g.app.store.read(lambda tx: tx.directory.conversation("telegram:1"))
    assert session is not None
    return await g.app.store.read(lambda tx: tx.commands.of([session]))


async def test_a_command_runs_and_is_answered(store: Store, config: dict[str, Any]) -> None:
    async with gateway(rules("echo hello"), store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("It is done.")
        (row,) = await rows(g)
        assert (row.line, row.status, row.person) == ("echo hello", 0, "telegram:1")
        last = str(g.model.requests[-1].messages[-1]["content"])
        assert last.startswith("exit code: 0, ") and last.endswith("\nhello")


async def test_people_see_what_runs_with_its_last_line(
    store: Store, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.05)
    command = "echo '*bold* [link](http://x)'; sleep 60"
    async with gateway(rules(command), store=store, config=config) as g:
        await g.chat.say("go")
        shown = await g.hears("\\*bold\\*")
        assert "⚙️" in shown.text and " s · " in shown.text
        await g.chat.say("/stop")
        await g.hears("Stopped.")


async def test_stop_ends_what_runs_in_both_places(store: Store, config: dict[str, Any]) -> None:
    async with gateway(rules("sleep 60", background=True), store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("It runs.")
        await g.settled()
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        async with asyncio.timeout(30):
            while (row := (await rows(g))[0]).ended is None:
                await asyncio.sleep(0.02)
        assert row.why == "somebody stopped it"
        await g.settled()
        assert all("<event" not in str(r.messages[-1]["content"]) for r in g.model.requests)


async def test_the_end_of_a_command_in_the_background_begins_a_turn(
    store: Store, config: dict[str, Any]
) -> None:
    async with gateway(
        rules("sleep 0.3; echo ok", background=True), store=store, config=config
    ) as g:
        await g.chat.say("go")
        await g.hears("It runs.")
        await g.hears("It ended.")
        told = str(g.model.requests[-1].messages[-1]["content"])
        assert told.startswith("<event command 1 ended>\nYou began it in the background: sleep 0.3")
        assert told.endswith("It said:\nok\n</event>")


async def test_talk_that_interrupts_a_turn_kills_its_command(
    store: Store, config: dict[str, Any]
) -> None:
    async with gateway(rules("sleep 60"), store=store, config=config) as g:
        await g.chat.say("go")
        async with asyncio.timeout(30):
            while not (await g.app.store.read(lambda tx: tx.commands.running())):
                await asyncio.sleep(0.02)
        await g.chat.say("something else")
        await g.hears("Yes.")
        (row,) = await rows(g)
        assert row.why == "it was interrupted"
        last = [str(message["content"]) for message in g.model.requests[-1].messages]
        assert "interrupted, outcome unknown" in last
