"""The first tour: an answer, tasks along branch tables, a person's decision after a kill.

It talks to `bough chat` through pipes and prints what is said. Nothing in it is staged but the
model's words (agent/models/demo.yaml): database, restart and decision are the real thing.
"""

import sys
import tempfile
import time
from pathlib import Path

from gateway.cli.demo.chat_process import Chat, TourFailed, note, title
from gateway.cli.demo.costs import show_costs


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
        show_costs(database)
    return 0


def _scenes(config: Path) -> None:
    chat = Chat(config)
    try:
        title("1. A question, answered directly")
        chat.say("what is bough?")
        chat.hear("keeps conversations as trees")

        title("2. A task for a cheap worker: what it sees matches the branch table")
        chat.say("check the site")
        chat.hear("resolved by the worker")

        title("3. The table did not foresee it: an overseer extends it, and the worker matches")
        chat.say("check the shop")
        chat.hear("resolved by the worker")

        title("4. Only a person can decide; the process is killed before they do")
        chat.say("deploy")
        chat.hear("type a number with")
        time.sleep(0.5)  # as a person would, and so that the copy is on record as sent
        chat.kill()
        note("kill -9; a new process starts on the same database")
        chat = Chat(config)
        mark = chat.hear(r"\[(#\d+)\] Deploy now")[1]
        chat.hear("type a number with")
        chat.say(mark)
        chat.hear("resolved by the human")

        title("5. What was delegated")
        chat.say("/agents")
        chat.hear("#1 ")
        chat.hear("worker")
        chat.end()
    finally:
        chat.kill()
