"""What fails on one platform ends no other, is told to the owners, and is tried again."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.base import Misconfigured, Outgoing, Receive, Unavailable
from adapters.recording import RecordingAdapter
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.platforms import platform_supervisor
from gateway.running.service import App
from storage.store import Store
from tests.flow.conftest import PATIENCE, SpyModel
from tests.flow.discord_gateway import OLGA, DiscordGateway, discord_gateway
from tests.flow.telegram_gateway import says
from tests.stand_ins.discord_rest import Fail

SAYS = [says("parent", "you said: {last}")]
OWNERS = {"owners": ["telegram:1", "discord:2", "telegram:*"]}


class Frail(RecordingAdapter):
    """Fails in `run` when it is told to."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.failing: asyncio.Queue[Exception] = asyncio.Queue()
        self.starts = 0
        self.open = False
        self.refused: list[Exception] = []
        """What the next starts fail with."""

    async def start(self) -> str:
        self.starts += 1
        if self.refused:
            raise self.refused.pop(0)
        self.open = True
        return await super().start()

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        self._receive = receive
        self._ready.set()
        raise await self.failing.get()

    async def deliver(self, outgoing: Outgoing) -> str | None:
        if not self.open:
            raise RuntimeError("sent through a dead adapter")
        return await super().deliver(outgoing)

    async def close(self) -> None:
        self.open = False
        self._ready.clear()


class Both:
    def __init__(
        self, app: App, telegram: Frail, discord: Frail, run: "asyncio.Task[None]"
    ) -> None:
        self.app, self.telegram, self.discord, self.running = app, telegram, discord, run

    async def until(self, held: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not held():
                await asyncio.sleep(0.01)

    async def breaks(self, adapter: Frail, error: Exception) -> None:
        """It fails, and is started again."""
        starts = adapter.starts
        adapter.failing.put_nowait(error)
        await self.until(lambda: adapter.starts > starts and adapter._ready.is_set())


@asynccontextmanager
async def both(store: Store, other: Frail | None = None) -> AsyncIterator[Both]:
    telegram, discord = Frail("telegram"), other or Frail("discord")
    config = Config.model_validate({"access": OWNERS})
    model = SpyModel(SAYS)
    app = await bootstrap(config, adapters=[telegram, discord], store=store, model=model)
    running = asyncio.create_task(app.run())
    try:
        async with asyncio.timeout(PATIENCE):
            yield Both(app, telegram, discord, running)
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_supervisor, "STEADY", 0.05)


async def test_a_bug_of_one_platform_leaves_the_other_and_is_logged_with_one_traceback(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with both(store) as g:
        await g.until(g.app.platforms.all_ready.is_set)
        await g.breaks(g.discord, RuntimeError("a bug"))
        await g.telegram.say("hello")
        await g.telegram.wait_for(lambda shown: any("hello" in one.text for one in shown))
        await g.breaks(g.discord, RuntimeError("a bug"))
        await g.discord.say("hello", user="2")
        await g.discord.wait_for(lambda shown: any("hello" in one.text for one in shown))
        await g.telegram.wait_for(lambda shown: sum("again" in one.text for one in shown) >= 2)
    assert caplog.text.count("Traceback") == 1
    assert caplog.text.count("RuntimeError('a bug'); again in") == 2
    assert caplog.text.count("Ready: telegram; away: discord") == 2
    assert caplog.text.count("Ready: telegram, discord") == 3


class Mute(Frail):
    """Lets the bot sign in, and opens no stream until it is told to."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.opens = asyncio.Event()

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        await self.opens.wait()
        await super().run(receive, cursors)


async def test_a_platform_whose_stream_does_not_open_is_away_and_the_others_are_ready(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(platform_supervisor, "LATE", 0.05)
    mute = Mute("discord")
    async with both(store, mute) as g:
        await g.until(g.app.platforms.settled.is_set)
        assert g.app.platforms.said == "telegram; away: discord"
        assert not g.app.platforms.all_ready.is_set()
        await g.until(lambda: "Who may talk: " in caplog.text)
        assert "discord: signed in, but what is sent to the bot cannot be" in caplog.text
        assert g.app.platforms.why_not("discord") == platform_supervisor.AWAY
        mute.opens.set()
        await g.until(g.app.platforms.all_ready.is_set)
        assert g.app.platforms.said == "telegram, discord"
    assert caplog.text.count("Ready: ") == 2


async def test_owners_elsewhere_are_told_once_and_when_it_is_over(store: Store) -> None:
    async with both(store) as g:
        await g.until(g.app.platforms.all_ready.is_set)
        g.telegram.refused = [Unavailable("Telegram: 502"), RuntimeError("odd")]
        await g.breaks(g.telegram, Misconfigured("the token is refused; set telegram.token"))
        told = g.discord.texts("user:2")
        await g.discord.wait_for(lambda _: len(g.discord.texts("user:2")) == 2)
        told = g.discord.texts("user:2")
        assert "Telegram is not served for the moment: the token is refused; set" in told[0]
        assert told[1] == "✅ Telegram is served again."
        assert g.telegram.shown == {}


async def test_what_is_to_be_sent_waits_in_order_for_its_platform(store: Store) -> None:
    async with both(store) as g:
        await g.until(g.app.platforms.all_ready.is_set)
        g.discord.before_delivery = _refuse
        for number in range(3):
            await g.discord.say(f"number {number}.", user="2", key=f"k{number}")
            await g.until(g.app.scheduler.idle)
        g.discord.refused = [Unavailable("down")]
        g.discord.failing.put_nowait(RuntimeError("gone"))
        await g.until(lambda: "discord" not in g.app.platforms.serving)
        await g.until(g.app.delivery.idle)
        assert len(await store.read(lambda tx: tx.outbox.pending())) >= 3
        g.discord.before_delivery = None
        await g.discord.wait_for(lambda _: len(g.discord.texts()) == 3)
        assert [text[-2] for text in g.discord.texts()] == ["0", "1", "2"]
        assert await store.read(lambda tx: tx.directory.audits("undelivered")) == []


def _refuse(outgoing: Outgoing) -> None:
    raise Unavailable("cut")


async def test_a_token_refused_at_the_first_start_ends_all_though_the_other_serves(
    store: Store,
) -> None:
    async with both(store) as g:
        g.discord.refused = [Unavailable("down"), Misconfigured("set discord.token")]
        await g.until(lambda: g.discord.starts == 1 and g.telegram._ready.is_set())
        with pytest.RaisesGroup(Misconfigured, flatten_subgroups=True):
            await g.running


async def test_a_stop_while_a_platform_is_away_ends_at_once(store: Store) -> None:
    async with both(store) as g:
        await g.until(g.app.platforms.all_ready.is_set)
        g.discord.refused = [Unavailable("down")] * 99
        g.discord.failing.put_nowait(RuntimeError("gone"))
        await g.until(lambda: g.discord.starts == 2)
        g.running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await g.running
        assert not g.telegram.open


async def test_while_discord_refuses_its_token_telegram_serves_and_hears_of_it(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, SAYS, telegram=True) as g:
        g.tells("before.")
        await g.reads("before.")
        g.discord.inject("GET", "/users/@me", Fail(401), times=2)
        await g.discord.gateway.drop(resumable=False, code=4004)
        await g.hears("Discord is not served for the moment: Discord does not accept the bot token")
        g.tells("meanwhile.")
        g.say("hello.")
        await g.hears("you said: hello.")
        await g.hears("Discord is served again")
        await g.reads("meanwhile.")
        g.tells("after.")
        await g.reads("after.")
        assert len([text for text in g.texts() if "Discord is" in text]) == 2
        await presses_work(g)


async def presses_work(g: DiscordGateway) -> None:
    command = g.slash("help")
    assert "/help" in (await g.answer(command))["content"]


async def test_while_telegram_refuses_its_token_discord_serves_and_hears_of_it(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, SAYS, telegram=True) as g:
        g.say("before.")
        await g.hears("you said: before.")
        g.telegram.fail_next("getMe", 2, "401")
        g.telegram.fail_next("getUpdates", 1, "401")
        g.say("meanwhile.")
        await g.reads("Telegram is not served for the moment: Telegram refused the token")
        g.tells("hello.", OLGA)
        await g.reads("you said: hello.")
        await g.reads("Telegram is served again")
        await g.hears("you said: meanwhile.")
        g.say("after.")
        await g.hears("you said: after.")
