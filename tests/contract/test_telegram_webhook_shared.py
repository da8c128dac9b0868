"""One webhook that several processes serve, and what Telegram refuses of it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.base import Misconfigured
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_hooked import hooked
from tests.stand_ins.telegram_running import ANN, TOKEN, Inbox
from tests.stand_ins.telegram_wire import FaultKind


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN) as server:
        yield server
        assert server.violations == []


async def test_who_ends_leaves_the_webhook_to_the_others(telegram: TelegramServer) -> None:
    inbox, other = Inbox(), Inbox()
    async with hooked(telegram, inbox.receive) as bot:
        async with hooked(telegram, other.receive):
            telegram.methods.webhook = bot.url  # a proxy stands before both: one address
            hook = telegram.methods.deliveries.hook
        assert telegram.methods.webhook == bot.url
        assert telegram.methods.deliveries.hook is hook is not None
    assert telegram.calls("deleteWebhook") == []
    secrets = {call.params["secret_token"] for call in telegram.calls("setWebhook")}
    assert len(secrets) == 1, "made of the token: the same in every process"


async def test_two_that_name_different_addresses_come_to_rest(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    """While a new configuration is rolled out, say. The one that gives in says what to do."""
    inbox, other = Inbox(), Inbox()
    async with hooked(telegram, inbox.receive) as old, hooked(telegram, other.receive) as new:
        for _ in range(10):
            await old.listener.look()
            await new.listener.look()
        calls = len(telegram.calls("setWebhook"))
        await asyncio.gather(old.listener.look(), new.listener.look())
        assert len(telegram.calls("setWebhook")) == calls
        telegram.say(ANN, ANN, "hello")
        await telegram.wait_for(lambda: not telegram.world.pending)
    assert [*inbox.texts, *other.texts] == ["hello"]
    assert "takes it away again and again" in caplog.text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("400", r"Telegram refuses \[telegram\] webhook_url: .*"),
        ("401", r"Telegram refused the token: check \[telegram\] token"),
        ("404", r"there is no Bot API at \[telegram\] base_url for this token: check both"),
    ],
)
async def test_what_waiting_does_not_mend_ends_the_run(
    telegram: TelegramServer, kind: FaultKind, said: str
) -> None:
    telegram.fail_next("setWebhook", kind=kind)
    with pytest.raises(Misconfigured, match=said):
        async with hooked(telegram, Inbox().receive):
            pass


@pytest.mark.parametrize("kind", ["400", "401", "404"])
async def test_a_token_that_is_revoked_meanwhile_is_noticed_by_the_look(
    telegram: TelegramServer, kind: FaultKind
) -> None:
    async with hooked(telegram, Inbox().receive) as bot:
        telegram.fail_next("getWebhookInfo", kind=kind)
        with pytest.raises(Misconfigured):
            await bot.listener.look()
        telegram.fail_next("getWebhookInfo", kind="502")
        await bot.listener.look()
