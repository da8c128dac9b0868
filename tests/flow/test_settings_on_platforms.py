"""/settings in Telegram, on Discord and at a terminal: pressed by those who may, and edited in
place."""

from pathlib import Path

from agent.models.base import Reply, Request
from gateway.chats.settings import ChatSettings
from gateway.running.service import App
from tests.flow import on_discord, on_telegram
from tests.flow.conftest import SpyModel
from tests.flow.discord_gateway import ANN as DISCORD_ANN
from tests.flow.discord_gateway import OLGA, discord_gateway
from tests.flow.on_telegram import ECHO
from tests.flow.telegram_gateway import ANN, OWNER, telegram_gateway
from tests.flow.test_terminal_chat import sitting

GROUP = -500
REFUSED = "In a group, owners and approvers change the settings."


def held(app: App | None) -> ChatSettings:
    assert app is not None
    return app.router.context.settings


async def test_settings_in_a_telegram_group_are_the_owners(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        shown = await on_telegram.ask(g, "/settings@bough_bot", chat=GROUP, user=OWNER)
        labels = g.telegram.labels(shown)
        assert "Answer: all" in labels and "Stream: off" in labels
        told = await on_telegram.press(g, shown, "Answer: all", ANN)
        assert REFUSED in told
        assert g.telegram.labels(shown) == labels
        await on_telegram.press(g, shown, "Answer: all", OWNER)
        assert shown["text"].startswith("✅ answer: all. Chosen by")
        assert "answer · all (chosen here): I answer everything" in shown["text"]
        assert held(g.app).answer_at(f"telegram:{GROUP}") == "all"
        assert on_telegram.refused(g) == []


async def test_settings_in_a_private_telegram_chat_are_the_persons(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        shown = await on_telegram.ask(g, "/settings", chat=ANN)
        assert not any(label.startswith("Answer") for label in g.telegram.labels(shown))
        await on_telegram.press(g, shown, "Stream: off", ANN)
        settings = held(g.app)
        assert not settings.stream_at(f"telegram:{ANN}")
        assert settings.stream_at(f"telegram:{OWNER}")
        assert on_telegram.refused(g) == []


async def test_settings_on_discord_fit_its_rows_and_are_the_owners_in_a_server(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        place = g.discord.general
        shown = await on_discord.slash(g, "settings", user=OLGA, place=place)
        assert [row[0] for row in on_discord.rows(shown)] == [
            "Stream: off",
            "Busy: queue",
            "Summaries: off",
            "Answer: all",
            "Thoughts: on",
        ]
        await on_discord.press(g, shown, "Busy: queue", DISCORD_ANN)
        settings = held(g.app)
        assert settings.busy_at(f"discord:{place.id}") == "interrupt"
        for label in ("Busy: queue", "Answer: all", "Stream: off", "Thoughts: on"):
            await on_discord.press(g, shown, label, OLGA)
        assert settings.busy_at(f"discord:{place.id}") == "queue"
        assert not settings.stream_at(f"discord:{place.id}")
        newest = place.message(shown["id"])
        assert max(map(len, on_discord.rows(newest))) == 3


class _Unasked(SpyModel):
    async def complete(self, request: Request) -> Reply:
        raise AssertionError("a command asks no model")


async def test_settings_at_a_terminal_are_pressed_by_their_numbers(tmp_path: Path) -> None:
    async with sitting(tmp_path, _Unasked([])) as person:
        shown = await person.says("/settings", "Stream: off")
        assert "[#1] Stream: off" in shown
        await person.says("#1", "✅ stream: off.")
