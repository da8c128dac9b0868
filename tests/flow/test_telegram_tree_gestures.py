"""Natural gestures in Telegram: messages that are edited, replies to older ones."""

import asyncio
from pathlib import Path

from storage.records.entries import Json
from tests.flow.on_telegram import BRANCHED, ECHO, ask, give, handled, path, press, refused, talk
from tests.flow.telegram_gateway import OWNER, TelegramGateway, says, telegram_gateway

SLOW = {"when": {"tier": "parent", "last": "slow"}, "reply": {"text": "late", "delay": 60}}
SUMMARY = says("parent", "what was said before", system="^You condense")


async def say(g: TelegramGateway, text: str) -> Json:
    """Something that is answered; the message of the person."""
    message: Json = g.say(text)["message"]
    await handled(g)
    return message


async def edit(g: TelegramGateway, message: Json, text: str) -> list[Json]:
    """What the bot says to an edit."""
    count = len(g.telegram.messages(OWNER))
    g.telegram.edit(message, text)
    await handled(g)
    return g.telegram.messages(OWNER)[count:]


async def test_the_newest_message_is_answered_again_when_it_is_edited(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await say(g, "one")
        message = await say(g, "tow")
        (answer,) = await edit(g, message, "two")
        assert answer["text"] == "re: two"
        assert g.telegram.rows(answer) == [["◀", "2/2", "▶"]]
        assert await path(g) == ["one", "re: one", "two", "re: two"]
        assert "tow" not in str(g.asked("parent")[-1].body)
        (answer,) = await edit(g, message, "three")
        assert g.telegram.rows(answer) == [["◀", "3/3", "▶"]]
        await press(g, answer, "▶")
        assert answer["text"] == "re: tow"


async def test_an_edit_that_changes_no_text_is_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        message = await say(g, "see https://example.org")
        preview = {"url": "https://example.org", "prefer_small_media": True}
        g.telegram.edit(message, message["text"], link_preview_options=preview)
        await handled(g)
        assert len(g.texts()) == len(g.models.requests) == 1


async def test_an_edit_during_the_turn_answers_the_new_text_only(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, [SLOW, *ECHO]) as g:
        message = g.say("slow")["message"]
        await g.models.arrived.wait()
        g.telegram.edit(message, "quick")
        await g.hears("re: quick")
        await g.settled()
        assert g.texts() == ["re: quick"]
        assert await path(g) == ["quick", "re: quick"]


async def test_an_older_message_is_offered_and_the_offer_keeps_all(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        message = await say(g, "one")
        await talk(g, "two")
        (offer,) = await edit(g, message, "uno")
        assert offer["text"].startswith("You changed an older message (#1).")
        assert offer["reply_to_message"]["message_id"] == message["message_id"]
        assert await path(g) == ["one", "re: one", "two", "re: two"]
        await press(g, offer, "Continue from there")
        assert await path(g) == ["uno", "re: uno"]
        assert g.telegram.labels(offer) == []
        assert "2 branches" in (await give(g, "/tree"))[-1]["text"]


async def test_a_message_on_another_branch_or_before_a_compaction_is_offered(
    tmp_path: Path,
) -> None:
    session = {"keep_recent_tokens": 1}
    async with telegram_gateway(tmp_path, [SUMMARY, *ECHO], session=session) as g:
        first = await say(g, "one " * 50)
        left = await say(g, "two")
        await talk(g, "/undo", "three " * 50, "four " * 50)
        (offer,) = await edit(g, left, "zwei")
        assert "older message (#3)" in offer["text"]
        shown = await give(g, "/compact")
        assert shown[-1]["text"].startswith("Compacted at #")
        (offer,) = await edit(g, first, "uno")
        assert "older message (#1)" in offer["text"]
        await press(g, offer, "Continue from there")
        assert await path(g) == ["uno", "re: uno"]


async def test_edits_of_what_the_bot_does_not_know_are_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await g.stop()
        g.telegram.world.allowed = ["callback_query"]  # a message that never arrives
        lost = g.say("lost")["message"]
        await g.start()
        command = g.say("/help")["message"]
        await g.hears("Just write to me")
        g.telegram.edit(command, "/new")
        g.telegram.edit(command, "not a command")
        await handled(g)
        assert g.models.requests == []
        (answer,) = await edit(g, lost, "found")
        assert answer["text"] == "re: found"  # never seen: it is new


async def test_a_reply_to_the_newest_answer_has_no_button(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        answer = await talk(g, "one", "two")
        shown = await ask(g, "go on", reply_to=answer)
        assert g.telegram.labels(shown) == []


async def test_a_reply_to_an_older_answer_is_answered_and_can_branch_there(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        older = await talk(g, "one")
        await talk(g, "two")
        shown = await ask(g, "about one", reply_to=older)
        assert shown["text"] == "re: about one"
        assert g.telegram.rows(shown) == [["Branch from there"]]
        await press(g, shown, "Branch from there")
        assert shown["text"] == "re: about one"
        assert g.texts()[-2:] == ["Going on after #2.", "re: about one"]
        assert await path(g) == ["one", "re: one", "about one", "re: about one"]
        assert "reply_markup" not in shown


async def test_a_reply_to_what_a_menu_says_is_ordinary_talk(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, *BRANCHED)
        menu = await ask(g, "/branches")
        shown = await ask(g, "which of them?", reply_to=menu)
        assert g.telegram.labels(shown) == []


async def test_answers_that_stand_side_by_side_are_known_by_their_messages(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "one", "/retry")
        answer = g.telegram.messages(OWNER)[-1]
        await press(g, answer, "◀")  # it shows the first answer now
        shown = await ask(g, "and then", reply_to=answer)
        assert g.telegram.labels(shown) == []
        assert refused(g) == []


async def test_two_edits_at_once_leave_one_answer(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        message = await say(g, "one")
        for text in ("uno", "un", "eins"):
            g.telegram.edit(message, text)
            await asyncio.sleep(0)
        await g.hears("re: eins")
        await handled(g)
        assert await path(g) == ["eins", "re: eins"]
