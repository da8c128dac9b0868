"""Servers that hang, die, lie, flood, and do not want to end."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import psutil
import pytest

from agent.errors import ToolError
from agent.settings import McpConfig
from agent.tools.base import Describes, schemas
from agent.tools.mcp.server import Health
from agent.tools.mcp.servers import Servers
from storage.records.entries import Json
from tests.support.mcp_servers import ROOT, Bench, liar, made_call, serving

LONG = 60.0


def offered(bench: Bench) -> list[Json]:
    """The tools as they stand in a request."""
    return schemas({tool.name: tool for tool in bench.tools().values()})


async def test_a_lying_list_becomes_tools_that_can_be_offered(tmp_path: Path) -> None:
    async with serving(liar("lie"), tmp_path) as bench:
        tools = bench.tools()
        assert "plain" in tools and len(tools) == 6
        odd = tools["odd"]
        assert "\u202e" not in odd.description and "\x1b" not in odd.description
        assert len(odd.description) < 1_100
        assert "b b" not in odd.parameters["properties"]
        assert "hi" in (await bench.call("plain", text="hi")).text


async def test_pages_without_end_have_one(tmp_path: Path) -> None:
    async with serving(liar("pages"), tmp_path) as bench:
        assert len(bench.tools()) == 64
        assert "only the first 64 are offered" in bench.state.why


@pytest.mark.parametrize("fault", ["die", "quit"])
async def test_a_server_that_dies_in_a_call_is_started_again(fault: str, tmp_path: Path) -> None:
    async with serving(liar(fault), tmp_path) as bench:
        with pytest.raises(ToolError, match="whether anything was done is not known"):
            await bench.call("say", text="hi")
        state = await bench.until(lambda state: state.health is Health.DOWN)
        assert re.search("signal 9|exit status 3", state.why)
        await bench.until(lambda state: state.health is Health.UP)
        assert (fault == "quit") == ("I have had enough" in bench.state.said)


async def test_a_dead_server_says_so_at_each_call_and_nobody_is_asked(tmp_path: Path) -> None:
    async with serving(liar("quit"), tmp_path, pause=3_600) as bench:
        tool = bench.tools()["say"]
        before = offered(bench)
        with pytest.raises(ToolError):
            await tool.run(made_call({}))
        await bench.until(lambda state: state.health is Health.DOWN)
        assert isinstance(tool, Describes)
        with pytest.raises(ToolError, match="is not available: 'it ended with exit status 3'"):
            await tool.requested(made_call({}))
        with pytest.raises(ToolError, match="nothing was done"):
            await tool.run(made_call({}))
        now = offered(bench)
        assert now == before


async def test_a_call_without_an_answer_ends_and_the_server_is_told(tmp_path: Path) -> None:
    async with serving(liar("hang", timeout=0.5), tmp_path) as bench:
        with pytest.raises(ToolError, match=r"no answer within 0\.5 s"):
            await bench.call("say")
        await bench.until(lambda state: any("cancelled" in line for line in state.said))
        assert bench.state.health is Health.UP


async def test_fifty_megabytes_with_the_number_at_the_end(tmp_path: Path) -> None:
    async with serving(liar("fifty-last", timeout=LONG), tmp_path) as bench:
        with pytest.raises(ToolError, match="50,000,082 bytes; at most 8,388,608"):
            await bench.call("say")
        assert bench.state.health is Health.UP


@pytest.mark.parametrize("fault", ["shapeless", "refuse"])
async def test_an_answer_that_is_none_is_told(fault: str, tmp_path: Path) -> None:
    async with serving(liar(fault), tmp_path) as bench:
        with pytest.raises(ToolError, match="the MCP server one answers:\n<error-") as raised:
            await bench.call("say")
        assert len(str(raised.value)) < 600 and "\u202e" not in str(raised.value)


async def test_half_a_character_costs_no_more_than_itself(tmp_path: Path) -> None:
    async with serving(liar("half"), tmp_path) as bench:
        assert "cut here: ?" in (await bench.call("say")).text


async def test_odd_parts_become_text(tmp_path: Path) -> None:
    async with serving(liar("parts"), tmp_path) as bench:
        text = (await bench.call("say")).text
        assert "fine" in text and "not valid base64" in text and '{"type": "video"}' in text
        assert not text.startswith("Error")


async def test_a_flood_of_messages_leaves_the_loop_to_others(tmp_path: Path) -> None:
    async with serving(liar("flood", timeout=LONG), tmp_path) as bench:
        call = asyncio.create_task(bench.call("say"))
        turns = 0
        while not call.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert "after the flood" in (await call).text
        assert turns > 20


@pytest.mark.parametrize("fault", ["dense", "denser"])
async def test_a_result_of_countless_parts_costs_little(fault: str, tmp_path: Path) -> None:
    async with serving(liar(fault, timeout=LONG), tmp_path) as bench:
        if fault == "dense":
            assert "too many values" in (await bench.call("say")).text
        else:
            with pytest.raises(ToolError, match="too many parts"):
                await bench.call("say")


async def test_a_server_that_asks_and_never_listens_ends_in_a_late_call(tmp_path: Path) -> None:
    async with serving(liar("asks", timeout=LONG), tmp_path) as bench:
        assert "asked" in (await bench.call("say")).text
    async with serving(liar("deaf", timeout=0.5), tmp_path) as bench:
        with pytest.raises(ToolError, match="no answer within"):
            await bench.call("say")


@pytest.mark.parametrize("fault", ["chatty", "noisy"])
async def test_what_is_no_message_is_passed_over(fault: str, tmp_path: Path) -> None:
    async with serving(liar(fault), tmp_path) as bench:
        await bench.until(lambda state: state.health is Health.UP)
        assert "hi" in (await bench.call("say", text="hi")).text
        assert len(bench.state.said) <= 5


async def test_a_server_that_ends_at_an_unknown_question_is_greeted_the_old_way(
    tmp_path: Path,
) -> None:
    async with serving(liar("strict"), tmp_path) as bench:
        await bench.until(lambda state: state.health is Health.UP)


async def test_a_command_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with serving(McpConfig(command="no-such-program"), tmp_path) as bench:
        assert bench.state.why == "its command was not found"
        assert "no-such-program: No such file or directory" in bench.state.said


async def test_secrets_of_a_server_are_not_repeated(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit('bad key ' + os.environ['KEY'])"
    config = McpConfig.model_validate(
        {"command": sys.executable, "args": ("-c", code), "env": {"KEY": "hunter2-hunter2"}}
    )
    async with serving(config, tmp_path) as bench:
        await bench.until(lambda state: bool(state.said))
        assert bench.state.said[0] == "bad key [redacted]"


async def test_a_server_that_repeats_its_key_does_not_give_it_away(tmp_path: Path) -> None:
    async with serving(liar("look", env={"KEY": "planted-key"}), tmp_path) as bench:
        text = (await bench.call("say")).text
    assert '"KEY": "[redacted]"' in text and "planted" not in text


def started(text: str) -> list[int]:
    return [int(number) for number in re.search(r"pids (\d+) (\d+)", text).groups()]  # type: ignore[union-attr]


async def gone(pids: list[int]) -> None:
    async with asyncio.timeout(LONG):
        while any(psutil.pid_exists(pid) for pid in pids):
            await asyncio.sleep(0.01)


async def test_a_server_that_does_not_want_to_end_is_ended_with_all_it_started(
    tmp_path: Path,
) -> None:
    async with serving(liar("stubborn"), tmp_path) as bench:
        await bench.until(lambda state: bool(state.said))
        pids = started(bench.state.said[0])
        assert all(psutil.pid_exists(pid) for pid in pids)
    await gone(pids)


async def test_a_gateway_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    code = (
        "import asyncio, logging, sys\n"
        "from agent.tools.mcp.servers import Servers\n"
        "from tests.support.mcp_servers import liar\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"
        "async def main():\n"
        "    servers = Servers({'one': liar('stubborn')})\n"
        "    servers.start()\n"
        "    await asyncio.sleep(3600)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", code),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = b""
    while b"pids" not in line:
        line = await process.stdout.readline()
    pids = started(line.decode())
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await gone(pids)


async def test_closing_in_the_middle_of_a_start_leaves_nothing(tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    servers = Servers({"a": liar("mute"), "b": liar(""), "c": liar("stubborn")})
    servers.start()
    await asyncio.sleep(0.15)
    await servers.close()
    assert set(psutil.Process().children(recursive=True)) <= before


async def test_a_call_that_runs_when_all_is_closed_is_answered(tmp_path: Path) -> None:
    async with serving(liar("hang"), tmp_path) as bench:
        call = asyncio.create_task(bench.call("say"))
        await asyncio.sleep(0.2)
    with pytest.raises(ToolError, match="not known"):
        await call


async def test_who_needs_no_server_waits_for_none() -> None:
    servers = Servers({"a": liar("mute")})
    servers.start()
    try:
        for toolsets, seconds in (({"file", "mcp:other"}, None), ({"mcp:a"}, 0.2)):
            await servers.ready(toolsets, seconds)
            assert servers.states()[0].health is Health.STARTING
    finally:
        await servers.close()
