"""Places where people talk to the bot, as they see them: on Telegram and on Discord alike."""

from dataclasses import dataclass
from typing import Any, Protocol

from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_world import Channel
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_world import words


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as it stands now."""

    text: str
    labels: tuple[str, ...]
    """Of its buttons."""
    message: Any


class Place(Protocol):
    @property
    def platform(self) -> str: ...

    def say(self, text: str) -> None: ...

    def shown(self) -> list[Shown]:
        """All that the bot said there, oldest first."""
        ...

    def press(self, shown: Shown, label: str) -> None:
        """The button whose label begins so. LookupError where it is gone."""
        ...


@dataclass(frozen=True, slots=True)
class TelegramPlace:
    server: TelegramServer
    chat: int
    person: int
    prefix: str = ""
    platform: str = "telegram"

    def say(self, text: str) -> None:
        self.server.say(self.chat, self.person, self.prefix + text)

    def shown(self) -> list[Shown]:
        found = self.server.messages(self.chat)
        return [Shown(words(one), tuple(self.server.labels(one)), one) for one in found]

    def press(self, shown: Shown, label: str) -> None:
        self.server.press(
            shown.message, _chosen(self.server.labels(shown.message), label), self.person
        )


@dataclass(frozen=True, slots=True)
class DiscordPlace:
    server: DiscordServer
    channel: Channel
    person: str
    prefix: str = ""
    platform: str = "discord"

    def say(self, text: str) -> None:
        self.server.say(self.channel, self.person, self.prefix + text)

    def shown(self) -> list[Shown]:
        bot = str(self.server.world.bot.id)
        found = [one for one in self.server.messages(self.channel) if one["author"]["id"] == bot]
        return [Shown(one["content"], tuple(self.server.buttons(one)), one) for one in found]

    def press(self, shown: Shown, label: str) -> None:
        labels = list(self.server.buttons(shown.message))
        self.server.press(shown.message, _chosen(labels, label), self.person)


def _chosen(labels: list[str], label: str) -> str:
    for one in labels:
        if one.startswith(label):
            return one
    raise LookupError(label)
