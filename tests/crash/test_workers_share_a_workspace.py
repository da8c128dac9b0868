"""Real processes on one PostgreSQL that have no folder in common: one works, the other says why it
does not, and goes on once the way out that it names was taken."""

from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.rules import rules
from tests.crash.scene import ANN, Clock, Telegram
from tests.support.gateway_process import GatewayProcess, write_config, write_rules

pytestmark = pytest.mark.crash
REFUSED = "This process does not work: its workspace is not the folder"


def configured(folder: Path, url: str, telegram: Telegram) -> Path:
    folder.mkdir()
    return write_config(
        folder,
        telegram={
            "token": telegram.token,
            "base_url": telegram.base_url,
            "base_file_url": telegram.base_file_url,
            "paced": False,
        },
        models={"parent": {"model": write_rules(folder, rules())}},
        access={"owners": [f"telegram:{ANN}"]},
        tools={"toolsets": ["file"]},
        storage={"url": url},
    )


async def refused(process: GatewayProcess) -> None:
    await process.launch()
    assert await process.wait() == 2
    assert any(REFUSED in line for line in process.log)


async def test_workers_without_a_common_folder(tmp_path: Path, postgres_url: str) -> None:
    async with Telegram(Clock()) as telegram:
        telegram.person(ANN, "Ann")
        here, there = tmp_path / "here", tmp_path / "there"
        async with GatewayProcess(configured(here, postgres_url, telegram), forked=True) as first:
            second = GatewayProcess(configured(there, postgres_url, telegram), forked=True)
            await refused(second)
            assert any(str(here) in line and str(there) in line for line in second.log)
            third = GatewayProcess(first.config, forked=True)
            await third.launch()  # in the folder of the first
            await until(lambda: any("Standing by" in line for line in third.log))
            third.terminate()
            assert await third.wait() == 0
            telegram.say(ANN, ANN, "hello")
            await telegram.hears("answer to hello")
            first.terminate()
            assert await first.wait() == 0
            await until(lambda: any("Stopped" in line for line in first.log))
            (here / "workspaces" / ".bough-workspace").rename(tmp_path / "kept")
            await first.start()  # a name that was lost comes again
            first.terminate()
            assert await first.wait() == 0
            async with second:  # it has no name of its own, and no worker runs
                assert any("The workspace is" in line for line in second.log)
                telegram.say(ANN, ANN, "again")
                await telegram.hears("answer to again")
                await refused(first)
