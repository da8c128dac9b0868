"""A gateway in a process of its own, the Telegram it serves, and the file that outlives it."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.database import Database
from tests.crash.patience import SECONDS, until
from tests.crash.rules import rules
from tests.stand_ins.telegram import Call, TelegramServer
from tests.stand_ins.telegram_checks import ApiError, Json
from tests.stand_ins.telegram_world import words
from tests.support.gateway_process import GatewayProcess, write_config, write_rules

ANN, BEN = 1001, 1002
"""Ann owns the bot. Ben gets a copy of every question, and may decide too."""


class Clock:
    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Telegram(TelegramServer):
    """The stand-in, of which one sees what came since `look_away`."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.people_clock = clock
        self._calls_seen = self._answers_seen = 0
        self._messages_seen: dict[int, int] = {}

    def look_away(self) -> None:
        self._calls_seen = len(self.sent)
        self._answers_seen = len(self.methods.answers)
        chats = list(self.world.chats)
        self._messages_seen = {chat: len(super(Telegram, self).messages(chat)) for chat in chats}

    def messages(self, chat: int, thread: int | None = None) -> list[Json]:
        return super().messages(chat, thread)[self._messages_seen.get(chat, 0) :]

    def calls(self, *methods: str) -> list[Call]:
        return [call for call in self.sent[self._calls_seen :] if call.method in methods]

    def whispers(self) -> list[str]:
        """What pressers alone were told; "" for nothing."""
        return [answer.get("text", "") for answer in self.methods.answers[self._answers_seen :]]

    def texts(self, chat: int = ANN) -> list[str]:
        """What the bot said in a chat, as it stands now."""
        return [words(message) for message in self.messages(chat)]

    def buttons_left(self) -> list[str]:
        """The labels of all buttons in all chats."""
        chats = list(self.world.chats)
        return [
            label
            for chat in chats
            for message in self.messages(chat)
            for label in self.labels(message)
        ]

    async def hears(self, text: str, chat: int = ANN) -> Json:
        """The newest message in a chat with this text in it."""
        return await self.wait_for_message(chat, text, SECONDS)

    async def has(self, count: int, chat: int = ANN) -> list[Json]:
        """The bot's messages in a chat, once there are so many."""
        await self.wait_for(lambda: len(self.messages(chat)) >= count, SECONDS)
        return self.messages(chat)

    async def question(self, chat: int = ANN) -> Json:
        """The newest message that has buttons."""

        def found() -> list[Json]:
            return [message for message in self.messages(chat) if self.labels(message)]

        return (await self.wait_for(found, SECONDS))[-1]

    async def typing(self) -> None:
        """Wait until a turn runs. Its row does not tell: that is on record a moment before."""
        await self.wait_for(lambda: self.calls("sendChatAction"), SECONDS)

    async def refused(self, method: str) -> None:
        """Wait until a call was answered with an error."""
        await self.wait_for(
            lambda: any(isinstance(call.result, ApiError) for call in self.calls(method)), SECONDS
        )

    async def hear_no_confirmation(self) -> None:
        """From now on the gateway gets one more batch of updates, and cannot confirm it."""
        await self.wait_for(lambda: super(Telegram, self).calls("getUpdates")[-1].result is None)
        self.fail_next("getUpdates", times=1000)

    def recover(self) -> None:
        """No more of the faults that `fail_next` planned."""
        self._faults.clear()


@dataclass(frozen=True, slots=True)
class Scene:
    telegram: Telegram
    gateway: GatewayProcess
    database: Database

    async def restore(self) -> None:
        """A gateway that runs and has nothing to do, whatever happened before; what there is by
        now is not looked at any more."""
        self.telegram.recover()
        if self.database.is_stalling() or not self.gateway.running:
            if self.gateway.running:
                await self.gateway.kill()
            self.database.mend()
            await self.gateway.start()
        await self.database.settled()
        self.telegram.look_away()
        self.database.look_away()

    async def killed_once(self, happened: Callable[[], object]) -> None:
        """Kill the gateway of a stalled database once something has happened; mend the database."""
        await until(happened)
        await self.gateway.kill()
        self.database.mend()

    def time_passes(self, seconds: float) -> None:
        """For Telegram and for the gateway, which must be dead meanwhile."""
        self.telegram.people_clock.ahead += seconds
        self.database.age(seconds)

    async def quiet(self) -> None:
        """Whatever people did is taken in and worked off, and everything that goes out is out."""
        await self.telegram.wait_for(lambda: not self.telegram.world.pending, SECONDS)
        await self.database.settled()

    async def recorded_as_sent(self) -> None:
        """Everything that goes out is out, and the gateway knows it."""
        await until(lambda: not self.database.unsent())

    async def ends(self, *texts: str) -> None:
        """All work ends, and the bot has said exactly this to Ann, each of it once."""
        await self.telegram.hears(texts[-1])
        await self.database.settled()
        assert self.telegram.texts() == list(texts)


@asynccontextmanager
async def scene(
    folder: Path, models: Mapping[str, Any] | None = None, **sections: Mapping[str, Any]
) -> AsyncIterator[Scene]:
    """Started and ready. Without `models`, a scripted one follows tests.crash.rules."""
    given = {"models": models} if models is not None else {}
    async with _scene(folder, "", given | sections) as started:
        yield started


@asynccontextmanager
async def scene_of(module: str, folder: Path, models: Mapping[str, Any]) -> AsyncIterator[Scene]:
    """The same with a program of its own instead of Bough's."""
    async with _scene(folder, module, {"models": models}) as started:
        yield started


@asynccontextmanager
async def _scene(
    folder: Path, module: str, sections: Mapping[str, Mapping[str, Any]]
) -> AsyncIterator[Scene]:
    async with Telegram(Clock()) as telegram:
        telegram.person(ANN, "Ann")
        telegram.person(BEN, "Ben")
        given: dict[str, Mapping[str, Any]] = {
            "telegram": {
                "token": telegram.token,
                "base_url": telegram.base_url,
                "paced": False,
                "base_file_url": telegram.base_file_url,
                **sections.get("telegram", {}),
            },
            "models": sections.get("models") or {"parent": {"model": write_rules(folder, rules())}},
            "access": {"owners": [f"telegram:{ANN}"], "approvers": ["telegram:*"]},
        }
        more = {name: section for name, section in sections.items() if name != "telegram"}
        config = write_config(folder, **given | more)
        gateway = GatewayProcess(config, forked=not module, module=module)
        async with gateway:
            yield Scene(telegram, gateway, Database(folder / "bough.db"))
        assert telegram.violations == []
