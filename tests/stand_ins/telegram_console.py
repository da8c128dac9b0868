"""A chat with a bot in a terminal, through the Telegram stand-in: lines in, messages out."""

import argparse
import asyncio
import itertools
import sys
from pathlib import Path
from typing import Any

from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_checks import Json
from tests.stand_ins.telegram_world import buttons, rows, words

HELP = """\
Type a message and press Enter. `#2` presses the second button of the newest message that has some.
`@1002 words` says the words as another person, in that person's private chat. `~words` changes
your newest message to these words; `<PATH words` sends a file with them. Ctrl-D ends."""


class Console:
    def __init__(self, server: TelegramServer, user: int) -> None:
        self._server = server
        self._user = user
        self._shown: dict[tuple[int, int], str] = {}
        self._newest: Json | None = None
        """What the person said last."""

    async def read(self) -> None:
        """Until the end of the input."""
        while line := await asyncio.to_thread(sys.stdin.readline):
            self._typed(line.strip())

    async def show(self) -> None:
        """Print the bot's messages as they come and change, until cancelled."""
        while True:
            await self._server.wait_for(self._print_changes, timeout=None)

    def _typed(self, line: str) -> None:
        if line.startswith("#") and line[1:].isdigit():
            self._press(int(line[1:]))
        elif line.startswith("@"):
            user, _, said = line[1:].partition(" ")
            if user.isdigit() and said:
                self._server.say(int(user), int(user), said)
            else:
                print(HELP)
        elif line.startswith("~") and self._newest is not None:
            self._server.edit(self._newest, line[1:])
        elif line.startswith("<"):
            self._send(line[1:])
        elif line:
            self._say(line)

    def _send(self, line: str) -> None:
        path, _, said = line.partition(" ")
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            print(error)
        else:
            document = self._server.document(Path(path).name, content)
            self._say(said, caption=True, document=document)

    def _say(self, text: str, **more: Any) -> None:
        self._newest = self._server.say(self._user, self._user, text, **more)["message"]

    def _press(self, number: int) -> None:
        for chat in self._server.world.chats.values():
            for message in reversed(self._server.messages(chat.id)):
                if 0 < number <= len(found := buttons(message)):
                    self._server.press(message, found[number - 1]["callback_data"], self._user)
                    return
        print("There is no such button.")

    def _print_changes(self) -> bool:
        changed = False
        for chat in self._server.world.chats.values():
            for message in self._server.messages(chat.id):
                key, text = (chat.id, message["message_id"]), self._lines(message)
                if self._shown.get(key) != text:
                    print(f"{'*' if key in self._shown else ''}bot → {chat.id}: {text}", flush=True)
                    self._shown[key] = text
                    changed = True
        for answer in self._server.methods.answers:
            if answer.get("text"):
                print(f"[{answer['text']}]", flush=True)
        self._server.methods.answers.clear()
        return changed

    def _lines(self, message: Json) -> str:
        """Its text, where its file can be had, and its buttons, a row of them in a line."""
        lines = [words(message)]
        if (kept := self._server.file(message)) is not None:
            url = f"{self._server.base_file_url}{self._server.token}/{kept.path}"
            lines.append(f"   {kept.name}, {len(kept.content)} bytes: {url}")
        numbers = itertools.count(1)
        for row in rows(message):
            lines.append("   " + " ".join(f"#{next(numbers)} [{one['text']}]" for one in row))
        return "\n".join(lines)


async def _run(port: int, token: str, user: int) -> None:
    async with TelegramServer(token=token, port=port) as server:
        server.person(user, "You")
        print(f'[telegram]\ntoken = "{token}"\nbase_url = "{server.base_url}"')
        print(f'base_file_url = "{server.base_file_url}"\n')
        print(HELP, flush=True)
        console = Console(server, user)
        show = asyncio.create_task(console.show())
        try:
            await console.read()
        finally:
            show.cancel()
            await asyncio.gather(show, return_exceptions=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="A Telegram Bot API server with a line console.")
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--token", default="1000:test-token", help="NUMBER:TEXT, as the bot has it")
    parser.add_argument("--user", type=int, default=1001, help="your user id")
    args = parser.parse_args()
    try:
        asyncio.run(_run(args.port, args.token, args.user))
    except KeyboardInterrupt:
        print()
