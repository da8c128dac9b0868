"""A Discord that throttles, fails, cuts lines, loses sessions, or goes on without the bot."""

import asyncio
from pathlib import Path

import pytest

from adapters.base import Misconfigured
from tests.flow.discord_gateway import ANN, GONE, MALLORY, OLGA, discord_gateway
from tests.flow.telegram_gateway import Gate, says
from tests.stand_ins.discord_rest import Cut, Fail, Fault, Throttle

ECHO = [says("parent", "you said: {last}")]
POSTS = r"/channels/\d+/messages$"
BAN = Fail(403, message="error code: 1015", page=True)


@pytest.mark.parametrize(
    "fault",
    [
        Throttle(0.2),
        Throttle(0.2, everywhere=True),
        Throttle(0.2, via=False),
        Fail(500),
        Fail(503),
        Cut(done=False),
        Cut(done=True),
    ],
    ids=["429", "global 429", "Cloudflare's 429", "500", "503", "cut before", "cut after"],
)
async def test_a_message_is_sent_again_until_it_is_there_and_is_there_once(
    tmp_path: Path, fault: Fault
) -> None:
    long = "\n\n".join(f"part {n} " + "x" * 1500 for n in range(3))
    async with discord_gateway(tmp_path, [says("parent", long)]) as g:
        g.discord.inject("POST", POSTS, fault)
        g.tells("hello")
        await g.reads("part 2")
        await g.settled()
        assert [text[:6] for text in g.said()] == ["part 0", "part 1", "part 2"]


async def test_a_line_cut_after_the_last_part_repeats_nothing_after_a_restart(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.discord.inject("POST", POSTS, Cut(done=True), times=99)
        g.tells("hello")
        await g.reads("you said: hello")
        await g.stop()
        g.discord.rest.injections.clear()
        await g.start()
        await g.settled()
        assert g.said() == ["you said: hello"]


async def test_throttling_delays_only_its_own_channel(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.discord.inject("POST", f"/channels/{g.home.id}/messages", Throttle(1.0))
        g.tells("slow")
        await g.discord.wait_for(lambda: g.discord.rest.injections[0].times == 0)
        g.mentions("quick")
        await g.reads("quick", g.discord.general)
        assert g.said() == []
        await g.reads("slow")


@pytest.mark.parametrize(
    ("fault", "times"), [(Fail(403, 50013, "Missing Permissions"), 1), (Fail(400, 50035), 2)]
)
async def test_what_can_never_be_sent_is_put_aside_and_blocks_nothing(
    tmp_path: Path, fault: Fault, times: int
) -> None:
    async with discord_gateway(tmp_path, ECHO, session={"busy": "queue"}) as g:
        g.discord.inject("POST", POSTS, fault, times)
        g.tells("one.")
        g.tells("two.")
        await g.reads("two.")
        await g.settled()
        assert g.said() == ["you said: two."]
        assert len(await g.read(lambda tx: tx.directory.audits("undelivered"))) == 1
        assert await g.read(lambda tx: tx.outbox.pending()) == []


async def test_while_cloudflare_bans_the_bot_nothing_is_lost(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        g.discord.inject("GET", "/users/@me", BAN)
        g.discord.inject("POST", POSTS, BAN)
        await g.start()
        g.tells("hello")
        await g.reads("you said: hello")


async def test_a_resumed_connection_loses_and_repeats_nothing(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, session={"busy": "queue"}) as g:
        g.tells("one.")
        await g.reads("one.")
        await g.discord.gateway.drop(resumable=True)
        g.tells("two.")
        g.mentions("three.")
        await g.reads("two.")
        await g.reads("three.", g.discord.general)
        assert g.discord.gateway.resumed == 1
        assert g.said() == ["you said: one.", "you said: two."]


async def test_after_a_lost_session_talk_is_answered_and_buttons_work(tmp_path: Path) -> None:
    rules = [*GONE[:2], *ECHO]
    async with discord_gateway(tmp_path, rules, session={"busy": "queue"}) as g:
        thread = g.discord.thread("details")
        for place in (g.discord.general, thread):
            g.mentions("one.", place=place)
            await g.reads("one.", place)
        g.tells("go")
        question = await g.reads("May it be dead?")
        await g.discord.gateway.drop(resumable=False)
        g.mentions("two.", place=thread)
        g.mentions("two.", ANN)
        g.mentions("not known", MALLORY)
        await g.reads("two.", thread)
        await g.reads("two.", g.discord.general)
        g.mentions("three.")
        await g.reads("three.", g.discord.general)
        assert [text[-4:] for text in g.said(g.discord.general)] == ["one.", "two.", "ree."]
        g.discord.press(question, "Stop", OLGA)
        await g.reads("rejected")


async def test_what_is_said_while_the_bot_is_down_is_answered_in_order(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, session={"busy": "queue"}) as g:
        g.tells("first.")
        g.mentions("first.")
        await g.reads("first.")
        await g.reads("first.", g.discord.general)
        await g.settled()
        await g.stop()
        for number in range(60):
            g.tells(f"message {number}.")
        g.mentions("meanwhile.", ANN)
        g.discord.say(g.discord.general, ANN, "not for the bot")
        await g.start()
        await g.reads("message 59.")
        await g.reads("meanwhile.", g.discord.general)
        expected = ["first.", *(f"message {number}." for number in range(60))]
        assert g.said() == [f"you said: {text}" for text in expected]
        assert len(g.said(g.discord.general)) == 2


async def test_a_turn_that_was_cut_by_a_stop_is_finished_by_the_next_start(tmp_path: Path) -> None:
    gate = Gate()
    async with discord_gateway(tmp_path, ECHO, wrap=gate) as g:
        g.tells("hello")
        await g.models.arrived.wait()
        await g.stop()
        gate.open.set()
        await g.start()
        await g.reads("you said: hello")
        await g.settled()
        assert g.said() == ["you said: hello"]


async def test_an_edited_or_deleted_message_is_not_answered_again(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        message = g.tells("hello")
        await g.reads("you said: hello")
        g.discord.world.edit(g.home, message, {"content": "hello, I mean"})
        g.discord.world.delete(g.home, message)
        g.tells("last")
        await g.reads("last")
        assert len(g.said()) == 2


async def test_a_message_that_was_deleted_meanwhile_is_still_answered(tmp_path: Path) -> None:
    gate = Gate()
    async with discord_gateway(tmp_path, [says("parent", "there")], wrap=gate) as g:
        message = g.mentions("hello")
        await g.models.arrived.wait()
        g.discord.world.delete(g.discord.general, message)
        gate.open.set()
        await g.reads("there", g.discord.general)


async def test_a_question_that_was_deleted_can_be_had_again(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE) as g:
        g.tells("go")
        question = await g.reads("May it be dead?")
        await g.settled()
        g.discord.world.delete(g.home, question)
        g.slash("questions")
        fresh = await g.reads("May it be dead?")
        assert fresh is not question
        g.discord.press(fresh, "Stop", OLGA)
        await g.reads("result: ")
        await g.settled()
        assert g.discord.buttons(fresh) == {}


async def test_a_token_that_is_revoked_is_tried_again_and_nothing_is_lost(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("hello.")
        await g.reads("hello.")
        g.discord.inject("GET", "/users/@me", Fail(401))
        await g.discord.gateway.drop(resumable=False, code=4004)
        g.tells("meanwhile.")
        await g.reads("meanwhile.")
        g.tells("afterwards.")
        await g.reads("afterwards.")


async def test_intents_that_are_refused_from_the_first_end_the_gateway(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        g.discord.gateway.refused_intents = ~0
        with pytest.RaisesGroup(Misconfigured, flatten_subgroups=True):
            await g.start()
        g._task = None


async def test_an_odd_message_is_on_record_and_is_not_met_again(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("hello.")
        await g.reads("hello.")
        odd = g.tells("", content=None)
        odder = g.tells("", attachments=[{"id": "1", "filename": "a", "url": "u"}])
        g.mentions("still there.", ANN)
        await g.reads("still there.", g.discord.general)
        for _ in range(2):
            await g.settled()
            await g.stop()
            await g.start()
            g.tells("again.")
            await g.reads("again.")
        records = await g.read(lambda tx: tx.directory.audits("unreadable"))
        keys = [details["key"] for _, _, details, _ in records]
        assert [key.rpartition(":")[2] for key in keys] == [odd["id"], odder["id"]]
        assert "size" in records[1][2]["why"]
        cursors = await g.read(lambda tx: tx.directory.cursors("discord"))
        assert int(cursors[f"discord:{g.home.id}"]) > int(odder["id"])
        assert await g.read(lambda tx: tx.inbox.unfinished()) == []
        g.discord.violations.clear()  # the spec has something against those messages, too


async def test_the_cursor_moves_past_an_odd_message(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("hello.")
        await g.reads("hello.")
        odd = g.tells("", content=None)
        address = f"discord:{g.home.id}"

        async def cursor() -> str:
            return (await g.read(lambda tx: dict(tx.directory.cursors("discord"))))[address]

        while await cursor() != odd["id"]:
            await asyncio.sleep(0.01)


async def test_an_edit_that_makes_an_odd_message_readable_is_answered(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        odd = g.tells("", content=None)
        g.tells("hello.")
        await g.reads("hello.")
        g.discord.edit(odd, "now it can be read.")
        await g.reads("now it can be read.")
