"""Schedules in real chats: asked for in words, done there, listed and changed with buttons."""

from pathlib import Path

from tests.flow.discord_gateway import ANN, discord_gateway
from tests.flow.on_discord import press, rows, slash, talk
from tests.flow.scheduling import HEARD
from tests.flow.telegram_gateway import call, says, telegram_gateway

SWITCHED = {"toolsets": ["schedule"]}
REMIND = [
    call("parent", "schedule", {"when": "{1}", "text": "Tea for {1}."}, last=r"remind me in (\w+)"),
    says("parent", HEARD, last="<event"),
    says("parent", "{last}", last="^Scheduled"),
    says("parent", "Yes."),
]


async def test_in_a_channel_of_discord_it_is_done_there(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, REMIND, tools=SWITCHED) as g:
        general = g.discord.general
        g.mentions("remind me in 1s", ANN)
        await g.reads(HEARD, general)
        asked = str(g.asked("parent")[-1].messages[-1]["content"])
        assert g.identity(ANN) in asked
        assert "Tea for 1s." in asked


async def test_a_full_page_of_the_list_fits_the_rows_of_discord(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, REMIND, tools=SWITCHED) as g:
        for hours in range(1, 6):
            await talk(g, f"remind me in {hours}h")
        shown = await slash(g, "schedule")
        assert "page 1 of 2" in shown["content"]
        assert rows(shown) == [
            *([f"Pause #{number}", f"Delete #{number}"] for number in range(1, 5)),
            ["▶"],
        ]
        await press(g, shown, "Pause #2")
        again = g.discord.messages(g.home)[-1]
        assert "paused" in again["content"]
        assert "Resume #2" in str(rows(again))
        answer = await slash(g, "schedule", "zone tokio")
        assert "Asia/Tokyo" in answer["content"]


async def test_on_telegram_it_is_done_and_listed(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, REMIND, tools=SWITCHED) as g:
        g.say("remind me in 1s")
        await g.hears(HEARD)
        g.say("remind me in 2h")
        await g.hears("Scheduled, once", count=2)
        g.say("/schedule")
        shown = await g.hears("Scheduled here")
        assert "Tea for 2h." in str(shown)
        g.press(shown, "Delete #2")
        await g.hears("#2 is deleted.")
