"""The whole gateway where Telegram brings the updates."""

from pathlib import Path

from storage.records.entries import Json
from tests.flow.on_telegram import handled, press
from tests.flow.telegram_gateway import OWNER, TelegramGateway, says, telegram_gateway
from tests.support.ports import free_port

ECHO = [says("parent", "re: {last}")]


def by_webhook(g: TelegramGateway) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/bough"
    listen = f"127.0.0.1:{port}"
    g.config["telegram"] |= {"mode": "webhook", "webhook_url": url, "listen": listen}


async def test_messages_commands_and_presses_arrive_by_webhook(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        by_webhook(g)
        await g.start()
        for text in ("one", "two"):
            g.say(text)
            await g.hears(f"re: {text}")
        g.say("/tree")
        await handled(g)
        shown: Json = next(m for m in reversed(g.telegram.messages(OWNER)) if g.telegram.labels(m))
        await press(g, shown, g.telegram.labels(shown)[0])
        assert g.telegram.calls("getUpdates", "deleteWebhook") == []
        assert set(g.telegram.methods.deliveries.statuses) == {200}


async def test_a_switch_to_the_webhook_and_back_loses_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        polling = dict(g.config["telegram"])
        for number, webhook in enumerate((False, True, False)):
            g.config["telegram"] = dict(polling)
            if webhook:
                by_webhook(g)
            g.say(f"before start {number}")
            await g.start()
            await g.hears(f"re: before start {number}")
            await g.stop()
        assert g.texts() == [f"re: before start {number}" for number in range(3)]
        assert g.telegram.methods.webhook == ""
