"""Turns per second of one process, and its memory: many chats at once, no network.

Run as a program it is the process that is measured; it prints what it measured as JSON.
"""

import asyncio
import json
import re
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path

from adapters.base import Outgoing, Post
from adapters.recording import RecordingAdapter
from agent.models.litellm.model import LitellmModel
from agent.models.scripted import Answer, Rule, ScriptedModel
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.service import App
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import PATIENCE, PROJECT, environment, scratch

CHATS = 200
WARM_UP = 1
ROUNDS = 5
"""Messages of each chat."""
BAR_PER_SECOND = 150.0
BAR_MEGABYTES = 330.0


async def run() -> list[Figure]:
    with scratch() as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.benchmarks.throughput",
            str(folder),
            stdout=asyncio.subprocess.PIPE,
            cwd=PROJECT,
            env=environment(),
        )
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate()
    rate, megabytes = json.loads(output)
    return [
        Figure(f"turns, {CHATS} chats", rate, "1/s", "at least", BAR_PER_SECOND),
        Figure("memory with litellm, peak", megabytes, "MB", bar=BAR_MEGABYTES),
    ]


class Chats:
    """People who write, each in a chat of their own, once the bot has answered what they wrote."""

    def __init__(self) -> None:
        self.adapter = RecordingAdapter("telegram", before_delivery=self._sees)
        self._answered: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def talk(self, messages: int) -> float:
        """So many messages in each chat; turns per second."""
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for chat in range(1, CHATS + 1):
                group.create_task(self._talk(str(chat), messages))
        return CHATS * messages / (time.perf_counter() - began)

    async def _talk(self, chat: str, messages: int) -> None:
        answered = self._answered[chat]
        for number in range(messages):
            answered.clear()
            await self.adapter.say(f"Question {number}", chat=chat, user=chat)
            await answered.wait()

    def _sees(self, outgoing: Outgoing) -> None:
        if isinstance(outgoing, Post):
            self._answered[outgoing.conversation.chat].set()


async def measure(folder: Path) -> None:
    chats = Chats()
    config = Config.model_validate(
        {
            "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
            "access": {"allow": ["telegram:*"]},
        }
    )
    model = ScriptedModel([Rule(reply=Answer(text="You said: {last}"))])
    await LitellmModel().warm_up()
    app = await bootstrap(config, adapters=[chats.adapter], model=model)
    rate = await _measure(app, chats)
    print(json.dumps([rate, peak_megabytes()]))


async def _measure(app: App, chats: Chats) -> float:
    ready = asyncio.Event()
    running = asyncio.create_task(app.run(ready=ready))
    await ready.wait()
    try:
        await chats.talk(WARM_UP)
        return await chats.talk(ROUNDS)
    finally:
        running.cancel()
        await asyncio.wait([running])


def peak_megabytes() -> float:
    """The most memory that this process has had resident."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux's getrusage gives at least what the parent process had.
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


if __name__ == "__main__":
    asyncio.run(measure(Path(sys.argv[1])))
