"""Tools of MCP servers through the whole gateway."""

from pathlib import Path
from typing import Any

import pytest

from gateway.status import progress
from storage.store import Store
from tests.flow.conftest import Gateway, SpyModel, gateway
from tests.flow.delegating import calls
from tests.support.mcp_servers import liar, stdio_server

SAY = calls("one__say", {"text": "a word"}, tier="parent", last="^go")
ANSWER = {"when": {"tier": "parent"}, "reply": {"text": "done"}}


def config(tmp_path: Path, server: Any, **tools: Any) -> dict[str, Any]:
    section = server.model_dump(exclude_none=True)
    section["env"] = {key: value.get_secret_value() for key, value in server.env.items()}
    rules = [{"tool": "one__*", "decision": "allow"}]
    made = {"toolsets": ["mcp:one"], "workspace": str(tmp_path / "{session}"), "rules": rules}
    return {"mcp": {"one": section}, "tools": {**made, **tools}}


def result(g: Gateway) -> str:
    """What the model was told of its call."""
    return str(g.model.of("parent")[-1].messages[-1]["content"])


def offered(g: Gateway) -> set[str]:
    return {tool["function"]["name"] for tool in g.model.of("parent")[-1].tools}


async def test_a_tool_is_offered_called_and_answers(store: Store, tmp_path: Path) -> None:
    model = SpyModel([SAY, ANSWER])
    async with gateway(store=store, model=model, config=config(tmp_path, liar(""))) as g:
        await g.chat.say("go")
        await g.hears("done")
        assert "one__say" in offered(g)
        assert "a word" in result(g) and 'server="one"' in result(g)


async def test_only_who_has_its_toolset_has_its_tools(store: Store, tmp_path: Path) -> None:
    chats = {"chats": {"telegram:2": {"toolsets": ["mcp:one"]}}}
    made = config(tmp_path, liar(""), toolsets=[]) | chats
    async with gateway([ANSWER], store=store, config=made) as g:
        await g.chat.say("hello", chat="1")
        await g.hears("done")
        assert "one__say" not in offered(g)
        await g.chat.say("hello", chat="2")
        await g.hears("done", chat="2")
        assert "one__say" in offered(g)


async def test_the_gateway_is_ready_before_its_servers(store: Store, tmp_path: Path) -> None:
    made = config(tmp_path, liar("mute"), toolsets=[])
    async with gateway([ANSWER], store=store, config=made) as g:
        await g.chat.say("hello")
        await g.hears("done")


async def test_the_status_message_shows_how_far_a_call_is(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.05)
    climb = calls("one__climb", {"steps": 4, "pause": 0.5}, tier="parent", last="^go")
    made = config(tmp_path, stdio_server())
    async with gateway([climb, ANSWER], store=store, config=made) as g:
        await g.chat.say("go")
        await g.hears("/4 step ")
        await g.hears("done")
        assert "climbed" in result(g)


async def test_a_server_that_dies_is_told_and_the_talk_goes_on(
    store: Store, tmp_path: Path
) -> None:
    model = SpyModel([SAY, ANSWER])
    async with gateway(store=store, model=model, config=config(tmp_path, liar("die"))) as g:
        await g.chat.say("go")
        await g.hears("done")
        assert "Error: the connection to the MCP server one was lost" in result(g)


async def test_a_picture_is_shown_and_kept_in_the_workspace(store: Store, tmp_path: Path) -> None:
    draw = calls("one__draw", {}, tier="parent", last="^go")
    made = config(tmp_path, stdio_server())
    async with gateway([draw, ANSWER], store=store, config=made) as g:
        await g.chat.say("go")
        await g.hears("done")
        (kept,) = tmp_path.glob("*/mcp/one/*.png")
        assert kept.name in result(g)
        await g.settled()
        (upload,) = [s.upload for s in g.chat.shown.values() if s.upload is not None]
        assert upload.name.startswith(kept.stem)


async def test_without_the_extra_the_gateway_runs_and_says_so(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("agent.tools.mcp.servers.installed", lambda: False)
    async with gateway([ANSWER], store=store, config=config(tmp_path, liar(""))) as g:
        await g.chat.say("hello")
        await g.hears("done")
        (state,) = g.app.tools.servers.states()
    assert "pip install 'bough[mcp]'" in state.why
    assert sum("pip install 'bough[mcp]'" in line for line in caplog.messages) == 1
