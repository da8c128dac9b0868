"""A whole gateway as `bough run` starts it, on the Discord stand-in, and on Telegram's too where a
test wants both: what the Telegram harness does for one platform, for two.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.models.base import Model
from agent.models.scripted import Rule
from storage.records.entries import Json
from tests.flow.telegram_gateway import (
    ANSWER,
    KEY,
    OWNER,
    PATIENCE,
    TelegramGateway,
    call,
    configuration,
    protocol_faults,
    report,
)
from tests.flow.telegram_gateway import TOKEN as TELEGRAM_TOKEN
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_rest import Request
from tests.stand_ins.discord_world import LOADING, Channel, Interaction
from tests.stand_ins.model import ModelServer
from tests.stand_ins.telegram import TelegramServer

OLGA, ANN, MALLORY = "olga", "ann", "mallory"
"""Olga owns the bot, Ann may talk, Mallory may nothing. In Telegram Olga is OWNER."""
TOKEN = "a-secret-token-of-discord"


def delegates(table: Any) -> Json:
    """The parent delegates when somebody says "go", in a channel too."""
    arguments = {"goal": "Check the page", "branch_table": table}
    return call("parent", "delegate_task", arguments, last=r"(^|: )go$")


TABLE = [
    {"condition": "It is fine", "branches": {"fine": "report"}},
    {
        "condition": "It is gone",
        "branches": {
            "match": {"action": "escalate", "tier": "human", "prompt": "May it be dead?"},
            "ok": "report",
            "odd": "report",
        },
    },
    {"default": "escalate"},
]
GONE = [delegates(TABLE), report(2, "match", "404"), ANSWER]
"""Rules by which "go" leads to a question."""


class DiscordGateway(TelegramGateway):
    """What is done and seen in Telegram goes by the inherited methods."""

    def __init__(
        self, discord: DiscordServer, telegram: TelegramServer, models: ModelServer, config: Json
    ) -> None:
        super().__init__(telegram, models, config)
        self.discord = discord

    @property
    def home(self) -> Channel:
        """Olga's private chat with the bot."""
        return self.discord.dm_of(OLGA)

    def identity(self, user: str) -> str:
        return f"discord:{self.discord.user(user).id}"

    def tells(self, text: str, user: str = OLGA, **more: Any) -> Json:
        """Somebody writes to the bot in private."""
        return self.discord.dm(user, text, **more)

    def mentions(self, text: str, user: str = OLGA, place: Channel | None = None) -> Json:
        """Somebody mentions the bot in a channel of the server."""
        channel = place or self.discord.general
        return self.discord.say(channel, user, f"{self.discord.mention} {text}")

    def slash(self, name: str, user: str = OLGA, place: Channel | None = None) -> Interaction:
        return self.discord.slash(place or self.home, user, name)

    def said(self, place: Channel | None = None) -> list[str]:
        """What the bot said in a channel, as it stands now; "" while it "thinks"."""
        return self.discord.said(place or self.home)

    async def reads(self, text: str, place: Channel | None = None, *, count: int = 1) -> Json:
        """The newest of the bot's messages with this text in it, once there are so many."""
        channel = place or self.home
        bot = str(self.discord.world.bot.id)

        def found() -> list[Json]:
            own = [m for m in self.discord.messages(channel) if m["author"]["id"] == bot]
            shown = [message for message in own if text in message["content"]]
            return shown if len(shown) >= count else []

        try:
            newest: Json = (await self.discord.wait_for(found, PATIENCE))[-1]
        except TimeoutError:
            shown = [said[:300] for said in self.said(channel)]
            raise TimeoutError(f"{text!r} was not said; what was: {shown}") from None
        return newest

    async def answer(self, command: Interaction) -> Json:
        """The message that stands where the bot was "thinking"."""
        await self.discord.wait_for(
            lambda: command.message and not command.message["flags"] & LOADING, PATIENCE
        )
        assert command.message is not None
        return command.message

    async def whispered(self, count: int = 1) -> str:
        """The text of a message that only one person saw, the `count`th, once it is there."""
        whispers = self.discord.whispers
        await self.discord.wait_for(lambda: len(whispers) >= count, PATIENCE)
        return whispers[count - 1].text

    def sent(self) -> list[Request]:
        """Every request that carried a text to people, edits too."""
        texts = [r for r in self.discord.requests if "content" in (r.payload or {})]
        return [r for r in texts if r.method in ("POST", "PATCH")]


@asynccontextmanager
async def discord_gateway(
    folder: Path,
    rules: Sequence[Json],
    *,
    telegram: bool = False,
    started: bool = True,
    wrap: Callable[[Model], Model] | None = None,
    **sections: Any,
) -> AsyncIterator[DiscordGateway]:
    """`telegram`: serve both platforms. `sections` are added to the configuration."""
    async with (
        DiscordServer(TOKEN) as discord,
        TelegramServer(token=TELEGRAM_TOKEN) as chats,
        ModelServer([Rule.model_validate(rule) for rule in rules], api_key=KEY) as models,
    ):
        if wrap is not None:
            models._model = wrap(models._model)
        chats.person(OWNER, "Olga")
        gateway = DiscordGateway(discord, chats, models, configuration(folder, chats, models))
        if not telegram:
            del gateway.config["telegram"]
        gateway.config |= {
            "discord": {"token": TOKEN, **discord.urls, "paced": False},
            "access": {
                "owners": [gateway.identity(OLGA), f"telegram:{OWNER}"],
                "allow": [gateway.identity(ANN)],
            },
        }
        gateway.config |= sections
        if started:
            await gateway.start()
        try:
            yield gateway
        finally:
            if gateway._task is not None:
                await gateway.stop()
        assert discord.violations == chats.violations == []
        assert [fault for r in models.requests for fault in protocol_faults(r.messages)] == []
        assert [r for r in gateway.sent() if r.payload["allowed_mentions"] != {"parse": []}] == []
