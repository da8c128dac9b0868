"""What doctor says of MCP servers."""

from pathlib import Path
from typing import Any

import pytest

from gateway.cli.doctor import Finding, findings
from gateway.configuration.config import Config
from tests.support.mcp_servers import liar

ON: dict[str, Any] = {"tools": {"toolsets": ["mcp:one"]}}


async def found(folder: Path, fault: str, command: str | None = None, **sections: Any) -> Finding:
    server = liar(fault).model_dump(include={"command", "args"})
    if command is not None:
        server |= {"command": command}
    config = {"storage": {"url": f"sqlite:///{folder}/bough.db"}, "mcp": {"one": server}}
    every = [one async for one in findings(Config.model_validate(config | sections))]
    (finding,) = [one for one in every if one.subject == "mcp.one"]
    return finding


async def test_a_server_that_works_is_well(tmp_path: Path) -> None:
    assert await found(tmp_path, "", **ON) == Finding("mcp.one", True, "it has 1 tools")


async def test_a_server_that_nobody_has_is_a_fault(tmp_path: Path) -> None:
    finding = await found(tmp_path, "")
    assert not finding.ok
    assert 'put "mcp:one" into [tools] toolsets' in finding.text
    chats = {"telegram:1": {"toolsets": ["mcp:one"]}}
    assert (await found(tmp_path, "", chats=chats)).ok


async def test_a_server_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    finding = await found(tmp_path, "", command="no-such-program", **ON)
    assert not finding.ok
    assert finding.text == (
        "its command was not found; it said: no-such-program: No such file or directory"
    )


async def test_it_waits_as_long_as_a_server_may_take_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.doctor.PATIENCE", 0.0)
    assert (await found(tmp_path, "", **ON)).ok


async def test_a_missing_extra_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.tools.mcp.servers.installed", lambda: False)
    finding = await found(tmp_path, "", **ON)
    assert not finding.ok
    assert "pip install 'bough[mcp]'" in finding.text


@pytest.mark.parametrize("name", ["1st", "a__b", "a-", "Big", "x" * 33, "ö"])
def test_a_name_that_no_tool_could_begin_with_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a server's name has at most 32"):
        Config.model_validate({"mcp": {name: {"command": "x"}}})
