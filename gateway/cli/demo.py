"""bough demo: a tour of a real gateway in a process of its own, which is killed on the way.

The tour talks to `bough chat` through pipes and prints what is said. Nothing in it is staged but
the model's words (agent/demo.yaml): the database, the restart and the decision are the real thing.
"""

import asyncio
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

from gateway.views.delegations import money
from storage.records.entries import Kind, Usage
from storage.sql.store import SqlStore
from storage.store import Transaction

PATIENCE = 60.0
"""Seconds to wait for a line before the tour gives up."""


class TourFailed(Exception):
    """The gateway did not do what the tour shows."""


class Chat:
    """A `bough chat` in another process, spoken to line by line."""

    def __init__(self, config: Path) -> None:
        command = [sys.executable, "-m", "gateway", "chat", "--config", str(config)]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def say(self, line: str) -> None:
        print(f"you>   {line}", flush=True)
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self, pattern: str) -> re.Match[str]:
        """Print what is said until a line matches. TourFailed when nothing does in time."""
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise TourFailed(f"nothing like {pattern!r} was said in {PATIENCE:g} s") from None
            if not line:
                raise TourFailed(f"the chat ended before anything like {pattern!r} was said")
            print(line.rstrip(), flush=True)
            if found := re.search(pattern, line):
                return found

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.wait(PATIENCE) != 0:
            raise TourFailed(f"the chat ended with status {self._process.returncode}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")


def tour() -> int:
    """Show it all; 0 when everything went as told."""
    with tempfile.TemporaryDirectory(prefix="bough-demo-") as folder:
        database = f"sqlite:///{folder}/bough.db"
        config = Path(folder, "bough.toml")
        config.write_text(f'[storage]\nurl = "{database}"\n', encoding="utf-8")
        try:
            _scenes(config)
        except TourFailed as error:
            print(f"The demo failed: {error}", file=sys.stderr)
            return 1
        _costs(asyncio.run(usage_by_tier(database)))
    return 0


def _scenes(config: Path) -> None:
    chat = Chat(config)
    try:
        _title("1. A question, answered directly")
        chat.say("what is bough?")
        chat.hear("keeps conversations as trees")

        _title("2. A task for a cheap worker: what it sees matches the branch table")
        chat.say("check the site")
        chat.hear("resolved by the worker")

        _title("3. The table did not foresee it: an overseer extends it, and the worker matches")
        chat.say("check the shop")
        chat.hear("resolved by the worker")

        _title("4. Only a person can decide; the process is killed before they do")
        chat.say("deploy")
        chat.hear("type a number with")
        time.sleep(0.5)  # as a person would, and so that the copy is on record as sent
        chat.kill()
        print("       (kill -9; a new process starts on the same database)", flush=True)
        chat = Chat(config)
        mark = chat.hear(r"\[(#\d+)\] Deploy now")[1]
        chat.hear("type a number with")
        chat.say(mark)
        chat.hear("resolved by the human")

        _title("5. What was delegated")
        chat.say("/agents")
        chat.hear("#1 ")
        chat.hear("worker")
        chat.end()
    finally:
        chat.kill()


async def usage_by_tier(database: str) -> dict[str, Usage]:
    store = await SqlStore.open(database)
    try:
        return await store.read(_usage_by_tier)
    finally:
        await store.close()


def _usage_by_tier(tx: Transaction) -> dict[str, Usage]:
    """What each tier used, from every reply in the tree of the chat and below it."""
    found: dict[str, Usage] = defaultdict(Usage)
    chat = tx.directory.conversation("terminal:local")
    sessions = [tx.tree.session(chat)] if chat is not None else []
    while sessions:
        session = sessions.pop()
        sessions += tx.tree.children(session.id)
        for entry in tx.tree.path(session.leaf):
            if entry.kind is Kind.MESSAGE and entry.body["role"] == "assistant":
                spent = entry.body["usage"]
                found[entry.author] += Usage(spent["input"], spent["output"], 1, spent["cost"])
    return dict(found)


def _costs(usage: dict[str, Usage]) -> None:
    _title("Costs by tier (invented prices)")
    for tier in ("parent", "overseer", "worker"):
        spent = usage.get(tier, Usage())
        print(
            f"       {tier:9} {spent.calls:3} calls {spent.input:7,} tokens in "
            f"{spent.output:6,} out  {money(spent)}"
        )


def _title(text: str) -> None:
    print(f"\n── {text}", flush=True)
