"""A gateway whose agents have a tool that people must approve, as a program: it is run and killed
like any other. `python -m tests.support.launching run --config FILE`."""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

from agent.tools.base import Call, Done, Effects, Traits
from gateway.app import bootstrap
from gateway.configuration.config import load
from gateway.logs import log_to_stderr
from storage.lock import hold_lock

LAUNCHED = "launched.txt"
"""The file, in the working folder, that gets a line each time something is launched."""


class Launch:
    """Launches what it is told to. What is called "slow" never comes to an end."""

    name = "launch"
    description = "Launch something."
    traits = Traits(Effects.CHANGES, needs_approval=True)

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {"type": "object"}

    async def run(self, call: Call) -> Done:
        what = str(call.arguments["what"])
        with Path(LAUNCHED).open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")
        if what == "slow":
            await asyncio.Event().wait()
        return Done(f"launched {what}")


async def serve(config: Path) -> None:
    loaded = load(config)
    with hold_lock(loaded.storage.url):
        app = await bootstrap(loaded, tools=[Launch()])
        await app.run()


if __name__ == "__main__":
    log_to_stderr(logging.INFO)
    asyncio.run(serve(Path(sys.argv[3])))
