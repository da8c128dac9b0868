"""Tree sessions as people use them on Discord: slash commands, buttons, edits, replies; in private
chats, in a channel of a server, in a thread."""

import asyncio
from pathlib import Path

import pytest

from storage.records.entries import Json
from tests.flow.discord_gateway import ANN, MALLORY, OLGA, DiscordGateway, discord_gateway
from tests.flow.on_discord import newest, path, press, rows, says_more, slash, talk
from tests.flow.telegram_gateway import says
from tests.stand_ins.discord_world import Channel

ECHO = [says("parent", "re: {last}")]
SLOW = {"when": {"tier": "parent", "last": "slow"}, "reply": {"text": "late", "delay": 60}}
SUMMARY = says("parent", "what was said before", system="^You condense")
LONG = "A line of the answer, with **bold** words.\n\n" * 150
"""Several messages of Discord."""
HARD = "*_[x](y)<b>&amp; `` ``` @everyone <@1> ||x|| ‮שלום مرحبا 😀"
BUSY = "Somebody else's turn is running here: wait for its end, or ask them to /stop it."
EMPTY = "branch branches tree undo redo retry goto label compact fork diff export summary attach"


@pytest.mark.parametrize("name", EMPTY.split())
async def test_where_nothing_was_said_the_command_says_so_in_place(
    tmp_path: Path, name: str
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        assert (await slash(g, name))["content"] == "Nothing was said here yet."
        assert len(g.said()) == 1


async def test_one_goes_back_by_a_button_and_returns_by_another(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "Tell me about Rome", "And Paris?")
        menu = await slash(g, "branch")
        assert [label.split(" ")[0] for label in rows(menu)[0]] == ["#4", "#3", "#2", "#1"]
        await press(g, menu, "#3")
        assert menu["content"].startswith("You are after #2 🤖 re: Tell me about Rome")
        assert menu["content"].endswith("#3 👤 said:\n```\nAnd Paris?\n```")
        assert rows(menu) == [["↩ Back", "Bring a summary along"]]
        await press(g, menu, "↩ Back")
        assert menu["content"].startswith("You are after #4")
        assert len(g.said()) == 3
        assert await path(g) == [
            *("Tell me about Rome", "re: Tell me about Rome"),
            *("And Paris?", "re: And Paris?"),
        ]


async def test_slow_commands_are_answered_in_place_and_told_again_when_done(
    tmp_path: Path,
) -> None:
    slow = says("parent", "what was said before", system="^You condense")
    slow["reply"]["delay"] = 0.3
    session = {"keep_recent_tokens": 1}
    async with discord_gateway(tmp_path, [slow, *ECHO], session=session) as g:
        await talk(g, "one " * 60, "two " * 60, "three")
        for name, at_once, done in (
            ("compact", "Summarising the older part of this branch…", "Compacted at #"),
            ("retry", "Asking again…", "re: three"),
            ("fan", "Asking for 2 answers side by side…", "The conversation goes on with 1/2"),
        ):
            shown = await slash(g, name, "2" if name == "fan" else "")
            assert shown["content"] == at_once
            assert newest(g)["content"].startswith(done)
            assert int(newest(g)["id"]) > int(shown["id"])


async def test_arrows_turn_in_place_and_stand_in_one_row(tmp_path: Path) -> None:
    rules = [says("parent", name, last="Rome") | {"times": 1} for name in ("A", "B", "C")]
    async with discord_gateway(tmp_path, [*rules, *ECHO]) as g:
        await talk(g, "Rome")
        await slash(g, "retry")
        await slash(g, "retry")
        answer = newest(g)
        assert (answer["content"], rows(answer)) == ("C", [["◀", "3/3", "▶"]])
        for shown, place in (("B", "2/3"), ("A", "1/3"), ("C", "3/3"), ("B", "2/3")):
            await press(g, answer, "◀")
            assert (answer["content"], rows(answer)[0][1]) == (shown, place)
        await talk(g, "go on")
        assert await path(g) == ["Rome", "B", "go on", "re: go on"]


async def test_a_long_answer_does_not_fill_the_chat_when_one_turns_to_it(tmp_path: Path) -> None:
    rules = [says("parent", LONG) | {"times": 1}, says("parent", "short")]
    async with discord_gateway(tmp_path, rules) as g:
        await talk(g, "tell me all")
        count = len(g.said())
        assert count > 3
        await slash(g, "retry")
        answer = newest(g)
        await press(g, answer, "◀")
        assert len(g.said()) == count + 2
        assert rows(answer) == [["◀", "1/2", "▶"], ["Read on"]]
        await press(g, answer, "Read on")
        assert len(g.said()) == 2 * count + 1
        assert g.said()[:count] == g.said()[count + 1 :]


async def test_a_used_menu_is_told_to_the_second_presser_alone(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "Rome", "Paris")
        menu = await slash(g, "branch")
        used = g.discord.buttons(menu)["#1 👤 Rome"]
        await press(g, menu, "#2")
        g.discord.press_forged(menu, used, OLGA)
        assert await g.whispered() == "Already done. olga: #2 🤖 re: Rome"
        assert await path(g) == ["Rome", "re: Rome"]


async def test_a_menu_from_before_a_restart_works(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "one", "two")
        menu = await slash(g, "branch")
        await g.stop()
        await g.start()
        await press(g, menu, "#2")
        assert menu["content"].startswith("You are after #2")


async def test_whatever_was_said_every_list_is_one_message_that_discord_takes(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, HARD, "שלום עולם " * 60, "😀" * 500)
        await slash(g, "name", HARD)
        for number, name in enumerate(("start here", "😀🎉", HARD, "long name 😀 " * 80), start=1):
            assert "is now" in (await slash(g, "label", f"{name} #{number}"))["content"]
        await slash(g, "branch", "#1")
        await talk(g, "`" * 300)
        count = len(g.said())
        for command, argument in (
            *(("branch", ""), ("branches", ""), ("sessions", ""), ("label", "")),
            *(("diff", "#4 #6"), ("search", "שלום"), ("goto", "long name 😀 " * 80)),
        ):
            shown = await slash(g, command, argument)
            assert len(shown["content"].encode("utf-16-le")) // 2 < 2_000, command
            assert len(g.said()) == (count := count + 1)
        shown = await slash(g, "tree", "all")
        assert [each["filename"] for each in shown["attachments"]] == ["tree.png"]
        assert newest(g)["content"].count("```") == 2
        assert all("parse" in r.payload["allowed_mentions"] for r in g.sent())


@pytest.mark.parametrize(
    ("name", "argument", "said"),
    [
        ("goto", "nowhere", "Nothing here is called nowhere."),
        ("branch", "#99", "There is no #99 in this conversation."),
        ("undo", "x", "/undo takes how many of your messages"),
        ("tree", "sideways", "/tree shows default, user, labeled"),
        ("retry", "nobody", "There is no model nobody."),
        ("fan", "9", "Say how many answers, from 2 to 5"),
        ("attach", "XXXX-XXXX", "This code is not valid"),
        ("import", "", "There is no file with that."),
        ("undo", "9", "There is only 1 message to undo."),
    ],
)
async def test_what_cannot_be_done_is_said_in_place(
    tmp_path: Path, name: str, argument: str, said: str
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "Rome")
        assert (await slash(g, name, argument))["content"].startswith(said)
        assert len(g.models.requests) == 1


async def edited(g: DiscordGateway, message: Json, text: str, place: Channel | None = None) -> Json:
    """What the bot says to an edit."""
    count = len(g.said(place))
    g.discord.edit(message, text)
    await says_more(g, count, place)
    return newest(g, place)


async def test_the_newest_message_is_answered_again_when_it_is_edited(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "one")
        message = g.tells("see https://example.com/")
        await g.reads("re: see")
        await g.settled()
        g.discord.preview(message)
        answer = await edited(g, message, "two")
        assert answer["content"] == "re: two"
        assert rows(answer) == [["◀", "2/2", "▶"]]
        assert await path(g) == ["one", "re: one", "two", "re: two"]
        assert len(g.models.requests) == 3


async def test_an_edit_during_the_turn_answers_the_new_text_only(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [SLOW, *ECHO]) as g:
        message = g.tells("slow")
        await g.models.arrived.wait()
        await edited(g, message, "quick")
        assert g.said() == ["re: quick"]
        assert await path(g) == ["quick", "re: quick"]


async def test_an_older_left_or_compacted_message_is_offered(tmp_path: Path) -> None:
    session = {"keep_recent_tokens": 1}
    async with discord_gateway(tmp_path, [SUMMARY, *ECHO], session=session) as g:
        first = g.tells("one " * 60)
        await g.reads("re: one")
        left = g.tells("two")
        await g.reads("re: two")
        await g.settled()
        await slash(g, "undo")
        await talk(g, "three " * 60, "four")
        offer = await edited(g, left, "zwei")
        assert offer["content"].startswith("You changed an older message (#3).")
        assert offer["message_reference"]["message_id"] == left["id"]
        await slash(g, "compact")
        assert newest(g)["content"].startswith("Compacted at #")
        offer = await edited(g, first, "uno")
        assert offer["content"].startswith("You changed an older message (#1).")
        await press(g, offer, "Continue from there")
        assert offer["content"] == "Going on from the beginning."
        assert await path(g) == ["uno", "re: uno"]


async def test_a_message_that_is_deleted_changes_nothing(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        message = g.tells("one")
        await g.reads("re: one")
        g.discord.world.delete(g.home, message)
        assert (await talk(g, "two"))["content"] == "re: two"
        assert await path(g) == ["one", "re: one", "two", "re: two"]


async def test_a_reply_to_an_older_answer_can_branch_there(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        older = await talk(g, "one")
        await talk(g, "two")
        shown = await talk(g, "about one", reply_to=older)
        assert rows(shown) == [["Branch from there"]]
        assert rows(await talk(g, "and on", reply_to=shown)) == []
        await press(g, shown, "Branch from there")
        assert shown["content"] == "re: about one"
        assert await path(g) == ["one", "re: one", "about one", "re: about one"]


async def test_channels_and_threads_have_trees_of_their_own(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        thread = g.discord.thread("plans")
        await talk(g, f"{g.discord.mention} one", user=ANN, place=g.discord.general)
        await talk(g, f"{g.discord.mention} two", user=ANN, place=thread)
        await slash(g, "undo", place=thread)
        await talk(g, f"{g.discord.mention} three", user=ANN, place=thread)
        shown = await slash(g, "tree", user=ANN, place=g.discord.general)
        assert shown["content"].startswith("1 branch\n")
        await slash(g, "tree", user=ANN, place=thread)
        assert newest(g, thread)["content"].startswith("2 branches\n")


async def test_in_a_server_others_look_but_do_not_move_while_a_turn_runs(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [SLOW, *ECHO], started=False) as g:
        g.config["access"]["allow"] += [g.identity("ben")]
        await g.start()
        place = g.discord.general
        await talk(g, f"{g.discord.mention} one", user=ANN, place=place)
        g.mentions("slow", ANN)
        while "slow" not in str(g.asked("parent")[-1].messages[-1]):
            await asyncio.sleep(0.01)
        for name, said in {
            "branches": "This conversation has no branches.",
            "label": "There are no labels here.",
            "undo": BUSY,
            "retry": BUSY,
        }.items():
            command = g.discord.slash(place, "ben", name)
            assert (await g.answer(command))["content"].startswith(said)
        command = g.discord.slash(place, MALLORY, "undo")
        assert "I do not know you" in (await g.answer(command))["content"]
        await g.answer(g.discord.slash(place, ANN, "stop"))
        await g.settled()
        assert "slow" in (await path(g, place))[-1]


async def test_many_presses_at_once_are_all_acknowledged_and_one_moves(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        await talk(g, "one", "two", "three")
        menu = await slash(g, "branch")
        ids = list(g.discord.buttons(menu).values())
        given = [g.discord.press_forged(menu, custom_id, OLGA) for custom_id in ids * 3]
        await g.discord.wait_for(lambda: all(one.answered for one in given))
        await g.discord.wait_for(lambda: len(g.discord.whispers) == len(given) - 1)
        assert {one.text.partition(".")[0] for one in g.discord.whispers} == {"Already done"}
