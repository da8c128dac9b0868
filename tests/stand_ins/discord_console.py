"""A person at a terminal talking to the bot that is connected to the Discord stand-in."""

import asyncio
import sys
from typing import TYPE_CHECKING

from tests.stand_ins.discord_world import WHISPER, Channel, Json

if TYPE_CHECKING:
    from tests.stand_ins.discord import DiscordServer

_HELP = """\
words        say them (in #channels say @bot, or it is not for the bot)
/name words  a slash command
~words       edit the last thing you said in this place to these words
!2           press button 2 of the newest message that has buttons
@ann         be somebody else
#general     go to a channel; # alone: to the private chat
"""


class Console:
    def __init__(self, server: "DiscordServer") -> None:
        self._server = server
        self._user = "ann"
        self._place = server.dm_of("ann")

    def read(self, line: str) -> None:
        """Do what a line says. KeyError where it names what is not there."""
        match line[:1], line[1:].split(maxsplit=1):
            case "", _:
                return
            case "!", [number]:
                self._press(int(number))
            case "~", _:
                self._edit(line[1:].replace("@bot", self._server.mention))
            case "@", [name] if name != "bot":
                self._user = name
                self._place = self._server.dm_of(name)
            case "#", [name]:
                self._place = self._server.world.channel(name)
            case "#", []:
                self._place = self._server.dm_of(self._user)
            case "/", [name, *words]:
                self._server.slash(self._place, self._user, name, " ".join(words))
            case _:
                text = line.replace("@bot", self._server.mention)
                self._server.say(self._place, self._user, text)

    def _edit(self, text: str) -> None:
        own = str(self._server.user(self._user).id)
        said = [message for message in self._place.messages if message["author"]["id"] == own]
        self._server.edit(said[-1], text)

    def _press(self, number: int) -> None:
        for message in reversed(self._place.messages):
            if buttons := self._server.buttons(message):
                self._server.press(message, list(buttons)[number - 1], self._user)
                return

    def show(self, event: str, data: Json) -> None:
        """Print what the bot does."""
        if event == WHISPER:
            print(f"(only {data['user']} sees) {data['text']}")
            return
        bot = str(self._server.world.bot.id)
        if event not in ("MESSAGE_CREATE", "MESSAGE_UPDATE") or data["author"]["id"] != bot:
            return
        channel = self._server.world.channels[int(data["channel_id"])]
        mark = "~" if event == "MESSAGE_UPDATE" else ">"
        print(f"{_name(channel)} {mark} {data['content'] or '(thinking)'}")
        for attachment in data["attachments"]:
            print(f"    {attachment['filename']}: {attachment['url']}")
        for number, label in enumerate(self._server.buttons(data), 1):
            print(f"    !{number} {label}")


def _name(channel: Channel) -> str:
    return f"@{channel.recipient.name}" if channel.recipient else f"#{channel.name}"


async def converse(server: "DiscordServer") -> None:
    """Until cancelled; the end of standard input only ends the talking."""
    console = Console(server)
    server.watchers.append(console.show)
    print(f"api_base    {server.api_base}\ngateway_url {server.gateway_url}\n\n{_HELP}")
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        try:
            console.read(line.decode().strip())
        except (KeyError, IndexError, ValueError) as problem:
            print(f"? {problem}")
    await asyncio.Event().wait()
