"""Servers made with the official SDK, over both transports, in both generations of the protocol."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.errors import ToolError
from agent.settings import McpConfig
from agent.tools.base import Describes, Effects
from agent.tools.mcp.server import Health
from tests.stand_ins.mcp_server import PIXEL
from tests.stand_ins.web import Asked, Site, answer
from tests.support.mcp_servers import (
    PATIENCE,
    Bench,
    http_server,
    liar,
    made_call,
    serving,
    stdio_server,
)

WAYS = ("stdio", "events", "json", "stdio of 2025")


@asynccontextmanager
async def reached(way: str, root: Path, **fields: object) -> AsyncIterator[Bench]:
    match way:
        case "stdio":
            async with serving(stdio_server(**fields), root) as bench:
                yield bench
        case "stdio of 2025":
            async with serving(liar("", **fields), root) as bench:
                yield bench
        case _:
            options = ("--json",) if way == "json" else ()
            async with http_server("--key", "sesame-1234", *options) as url:
                config = {"url": f"{url}/mcp", "headers": {"Authorization": "Bearer sesame-1234"}}
                made = McpConfig.model_validate({**config, **fields})
                async with serving(made, root) as bench:
                    yield bench


@pytest.mark.parametrize("way", WAYS)
async def test_its_tools_are_there_and_answer(way: str, tmp_path: Path) -> None:
    async with reached(way, tmp_path) as bench:
        assert bench.state.health is Health.UP
        name = "say" if way == "stdio of 2025" else "post"
        tool = bench.tools()[name]
        assert tool.name == f"one__{name}"
        assert tool.traits.toolset == "mcp:one"
        assert tool.parameters["properties"]["text"]["type"] == "string"
        assert "hello" in (await bench.call(name, text="hello")).text


@pytest.mark.parametrize("way", WAYS[:3])
async def test_pictures_and_resources_are_kept(way: str, tmp_path: Path) -> None:
    async with reached(way, tmp_path) as bench:
        done = await bench.call("draw")
        (picture,) = done.files
        assert picture.picture and picture.data == PIXEL and picture.name.endswith(".png")
        assert bench.file(f"mcp/one/{picture.name}") == PIXEL
        (paper,) = (tmp_path / "1" / "mcp" / "one").glob("*.pdf")
        assert paper.name in done.text
        assert "a note" in done.text and "https://example.org/page" in done.text
        child = await bench.call("draw", child=True)
        assert child.files == () and picture.name in child.text


async def test_a_server_that_is_slow_to_start_is_greeted_once(tmp_path: Path) -> None:
    """The SDK gives up asking after 10 s, and servers refuse a second greeting."""
    slow = stdio_server(args=("-m", "tests.stand_ins.mcp_server", "--slow", "11"))
    async with serving(slow, tmp_path) as bench:
        assert (bench.state.health, bench.state.why) == (Health.UP, "")


async def test_a_server_that_does_not_answer_in_its_time_is_greeted_in_the_former_way_next(
    tmp_path: Path,
) -> None:
    async with serving(liar("silent", start_timeout=1), tmp_path) as bench:
        assert "it does not answer the greeting" in bench.state.why
        await bench.until(lambda state: state.health is Health.UP)


async def test_a_tool_that_runs_as_a_task_only_is_not_offered_and_named(tmp_path: Path) -> None:
    async with serving(liar("tasks"), tmp_path) as bench:
        assert bench.state.tools == ("one__either", "one__neither")
        assert bench.state.why == "not offered, because they run as tasks only: 'long'"


@pytest.mark.parametrize("way", WAYS[:2])
async def test_progress_keeps_a_call_alive_and_is_kept_for_who_shows_it(
    way: str, tmp_path: Path
) -> None:
    async with reached(way, tmp_path, timeout=1.5) as bench:
        call = asyncio.create_task(bench.call("climb", steps=6, pause=0.5))
        async with asyncio.timeout(PATIENCE):
            while "step 2" not in bench.servers.progress(1).get("one__climb", ""):
                await asyncio.sleep(0.01)
        assert bench.servers.progress(1)["one__climb"] == "2/6 step 2"
        assert bench.servers.progress(2) == {}
        assert "climbed" in (await call).text
        assert bench.servers.progress(1) == {}


async def test_a_server_of_the_former_transport_is_reached_at_its_address(tmp_path: Path) -> None:
    async with http_server("--sse", "--key", "sesame-1234") as url:
        headers = {"Authorization": "Bearer sesame-1234"}
        made = McpConfig.model_validate({"url": f"{url}/sse", "headers": headers})
        async with serving(made, tmp_path) as bench:
            assert bench.state.health is Health.UP, bench.state.why
            assert "posted: hello" in (await bench.call("post", text="hello")).text
        wrong = McpConfig.model_validate({"url": f"{url}/mcp", "headers": headers})
        async with serving(wrong, tmp_path) as bench:
            assert "needs its address that ends in /sse" in bench.state.why


@pytest.mark.parametrize("way", ["stdio", "events"])
async def test_a_list_that_changes_is_followed(way: str, tmp_path: Path) -> None:
    async with reached(way, tmp_path) as bench:
        await bench.until(lambda state: len(state.tools) > 1)
        await bench.call("grow", tool="leaf")
        await bench.until(lambda state: "one__leaf" in state.tools)
        assert "I am leaf" in (await bench.call("leaf")).text


async def test_a_list_that_changes_is_followed_with_a_server_of_2025(tmp_path: Path) -> None:
    async with serving(liar("grow"), tmp_path) as bench:
        await bench.call("say")
        await bench.until(lambda state: "one__grown" in state.tools)


# A server that answers in JSON alone sees that we hang up, and goes on all the same.
@pytest.mark.parametrize("way", ["stdio", "events"])
async def test_a_call_that_is_cancelled_is_cancelled_there_too(way: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with reached(way, tmp_path) as bench:
        call = asyncio.create_task(bench.call("wait", seconds=3_600, mark=str(mark)))
        async with asyncio.timeout(30):
            while not mark.exists():
                await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(30):
            while mark.read_text() != "cancelled":
                await asyncio.sleep(0.01)
        assert "hello" in (await bench.call("post", text="hello")).text


async def test_many_calls_at_once_get_each_its_own_answer(tmp_path: Path) -> None:
    async with reached("stdio", tmp_path) as bench:
        done = await asyncio.gather(*(bench.call("post", text=f"nr {n}.") for n in range(50)))
        assert all(f"nr {n}." in one.text for n, one in enumerate(done))


async def test_a_failure_is_told_as_one(tmp_path: Path) -> None:
    async with reached("stdio", tmp_path) as bench:
        assert (await bench.call("fail", reason="no ink")).text.startswith("Error: the tool says")


async def test_hints_are_believed_where_the_server_is_trusted(tmp_path: Path) -> None:
    async with reached("stdio", tmp_path) as bench:
        for tool in bench.tools().values():
            assert tool.traits.needs_approval and not tool.traits.repeatable
            assert tool.traits.effects is Effects.CHANGES
    async with reached("stdio", tmp_path, trusted=True) as bench:
        look, post = bench.tools()["look"].traits, bench.tools()["post"].traits
        assert (look.effects, look.needs_approval, look.repeatable) == (Effects.READS, False, True)
        assert (post.effects, post.needs_approval, post.repeatable) == (
            Effects.CHANGES,
            True,
            False,
        )


async def test_the_allow_list_decides_what_is_offered(tmp_path: Path) -> None:
    async with reached("stdio", tmp_path, tools=("look", "nonesuch")) as bench:
        assert list(bench.tools()) == ["look"]
        assert bench.state.why == "it has no tool nonesuch"


async def test_people_are_shown_the_arguments_and_where_they_go(tmp_path: Path) -> None:
    async with reached("stdio", tmp_path) as bench:
        tool = bench.tools()["post"]
        assert isinstance(tool, Describes)
        asked = await tool.requested(made_call({"text": "hi", "b": 1}))
        assert asked.line == '{"b": 1, "text": "hi"}'
        assert '"text": "hi"' in asked.shown
        assert asked.where == "the MCP server one, its tool 'post'"
        assert asked.asks is None


async def test_its_environment_holds_what_is_named_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    monkeypatch.setenv("BOUGH_TELEGRAM__TOKEN", "planted")
    inherited = os.open("/", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        async with serving(liar("look", env={"MY_KEY": "given"}), tmp_path) as bench:
            text = (await bench.call("say")).text
    finally:
        os.close(inherited)
    assert "planted" not in text
    assert '"MY_KEY": "given"' in text
    assert '"fds": [0, 1, 2]' in text


async def test_a_wrong_key_is_said(tmp_path: Path) -> None:
    async with http_server("--key", "right") as url:
        config = McpConfig(url=f"{url}/mcp")
        async with serving(config, tmp_path) as bench:
            assert bench.state.health is Health.DOWN and "HTTP 401" in bench.state.why


async def test_a_redirect_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    async with http_server() as url, serving(McpConfig(url=f"{url}/away"), tmp_path) as bench:
        assert bench.state.health is Health.DOWN
        assert "not followed" in bench.state.why


async def test_a_redirect_on_the_same_server_is_followed(tmp_path: Path) -> None:
    async with http_server() as url, serving(McpConfig(url=f"{url}/moved"), tmp_path) as bench:
        assert bench.state.health is Health.UP
        assert "hello" in (await bench.call("post", text="hello")).text


async def test_a_stream_that_ends_at_once_is_not_opened_without_a_pause(tmp_path: Path) -> None:
    event = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\nretry: 0\ndata:\n\n"

    async def handle(writer: asyncio.StreamWriter, asked: Asked) -> None:
        request = json.loads(asked.body) if asked.body else {}
        match request.get("method"):
            case "initialize":
                said = {"name": "it", "version": "1"}
                made = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": said}
            case "tools/list":
                made = {"tools": []}
            case _ if asked.method == "GET":
                writer.write(event)
                return
            case _:
                writer.write(answer("", "", "404 Not Found" if "id" in request else "202 Accepted"))
                return
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": made})
        session = {"Mcp-Session-Id": "1"}
        writer.write(answer(body, "application/json", headers=session))

    async with (
        Site({"/mcp": handle}) as site,
        serving(McpConfig(url=f"{site.url}/mcp"), tmp_path) as bench,
    ):
        assert bench.state.health is Health.UP
        await asyncio.sleep(2)
        opened = sum(asked.method == "GET" for asked in site.requests)
        assert 1 <= opened <= 8


async def test_nothing_compressed_is_taken(tmp_path: Path) -> None:
    async with http_server() as url, serving(McpConfig(url=f"{url}/zipped"), tmp_path) as bench:
        assert bench.state.health is Health.DOWN
        assert "gzip" in bench.state.why


@pytest.mark.parametrize("way", ["stdio", "events", "json"])
async def test_twenty_megabytes_are_refused_and_the_server_stays(way: str, tmp_path: Path) -> None:
    async with reached(way, tmp_path) as bench:
        with pytest.raises(ToolError, match=r"bytes|size"):
            await bench.call("fill", size=20_000_000)
        assert bench.state.health is Health.UP
        assert "hello" in (await bench.call("post", text="hello")).text


@pytest.mark.parametrize("way", ["events", "json"])
async def test_an_http_server_that_goes_away_and_comes_back(way: str, tmp_path: Path) -> None:
    async with reached(way, tmp_path) as bench:
        with pytest.raises(ToolError, match=r"was lost|answers"):
            await bench.call("die")
        with pytest.raises(ToolError, match=r"not available|was lost"):
            await bench.call("post", text="x")
        state = await bench.until(lambda state: state.health is Health.DOWN)
        assert "cannot be reached" in state.why
