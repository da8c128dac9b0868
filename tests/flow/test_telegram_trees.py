"""Tree sessions as a person uses them on a phone: commands, buttons, edits, in private."""

import asyncio
from pathlib import Path

import pytest

from tests.flow.on_telegram import BRANCHED, ECHO, ask, give, handled, path, press, refused, talk
from tests.flow.telegram_gateway import (
    OWNER,
    STRANGER,
    call,
    says,
    telegram_gateway,
)
from tests.stand_ins.telegram_checks import units

LONG = "A line of the answer, with **bold** words.\n\n" * 300
"""Several messages of Telegram."""
HARD = "*_[x](y)<b>&amp; `` ``` @everyone ‮שלום مرحبا 😀"
EMPTY = (
    "/branch /branches /tree /undo /redo /retry /goto /label /compact /fork /diff /export /summary"
)


@pytest.mark.parametrize("command", [*EMPTY.split(), "/goto x", "/label x", "/fan 3", "/diff 1 2"])
async def test_where_nothing_was_said_one_message_says_so(tmp_path: Path, command: str) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        assert (await ask(g, command))["text"] == "Nothing was said here yet."
        assert g.models.requests == []


async def test_one_goes_back_by_a_button_and_returns_by_another(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "Tell me about Rome", "And Paris?")
        menu = await ask(g, "/branch")
        rows = g.telegram.rows(menu)
        assert [row[0].split(" ")[0] for row in rows] == ["#4", "#3", "#2", "#1"]
        assert all(len(row) == 1 for row in rows)
        assert await press(g, menu, "#3") == ""
        assert menu["text"].startswith("You are after #2 🤖 re: Tell me about Rome")
        assert menu["text"].endswith("#3 👤 said:\nAnd Paris?")
        assert [one["type"] for one in menu["entities"]] == ["pre"]
        await press(g, menu, "↩ Back")
        assert menu["text"].startswith("You are after #4")
        assert len(g.telegram.messages(OWNER)) == 3
        await talk(g, "And Oslo?")
        assert (await path(g))[-2:] == ["And Oslo?", "re: And Oslo?"]
        assert len(g.asked("parent")[-1].messages) == 6


async def test_a_menu_works_once_and_the_second_press_is_told(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "Tell me about Rome", "And Paris?")
        menu = await ask(g, "/branch")
        token = menu["reply_markup"]["inline_keyboard"][3][0]["callback_data"]
        g.press(menu, "#2 🤖 re: Tell me about Rome")
        g.telegram.forge(menu, token, OWNER)
        assert await g.told(2) == "Already done. Olga: #2 🤖 re: Tell me about Rome"
        await handled(g)
        assert await path(g) == ["Tell me about Rome", "re: Tell me about Rome"]


async def test_a_menu_from_before_a_restart_works(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, *BRANCHED)
        menus = [await ask(g, "/branches"), (await give(g, "/tree"))[-1]]
        await g.stop()
        g.press(menus[0], "#3 👤 And Paris?")
        g.press(menus[1], "all")
        await g.start()
        await g.told(2)
        await handled(g)
        assert menus[0]["text"].startswith("You are after #4")
        assert menus[1]["text"].startswith("2 branches · all")
        assert refused(g) == []


async def test_a_stranger_with_a_button_changes_nothing(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "Tell me about Rome")
        menu = await ask(g, "/branch")
        data = menu["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
        assert await press(g, menu, "#1", STRANGER) == "This button is not yours to press."
        elsewhere = g.say("hello", chat=STRANGER)["message"]
        g.telegram.forge(elsewhere, data, STRANGER)
        assert await g.told(2) == "This button is not valid any more."
        assert await path(g) == ["Tell me about Rome", "re: Tell me about Rome"]


async def test_undo_stops_at_the_beginning_and_redo_takes_it_back(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "one", "two")
        shown = await ask(g, "/undo 7")
        assert shown["text"].startswith("There are only 2 messages to undo.\nYou are at the very")
        assert (await ask(g, "/undo"))["text"].startswith("There is nothing to undo.")
        assert "You are after #4" in (await ask(g, "/redo"))["text"]
        assert (await ask(g, "/redo"))["text"] == "There is nothing to redo."


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/goto nowhere", "Nothing here is called nowhere. /label lists the names"),
        ("/goto #99", "There is no #99 in this conversation."),
        ("/branch #99", "There is no #99 in this conversation."),
        ("/branch -1", "/branch takes the number of a message, like /branch #12;"),
        ("/branch Rome", "/branch takes the number of a message, like /branch #12;"),
        ("/fork #99", "There is no #99 in this conversation."),
        ("/undo x", "/undo takes how many of your messages"),
        ("/tree sideways", "/tree shows default, user, labeled, no-tools, all;"),
        ("/retry nobody", "There is no model nobody. There are: parent, worker,"),
        ("/fan 9", "Say how many answers, from 2 to 5"),
        ("/diff 1", "#1 is above #2, on the same line."),
        ("/diff 1 99", "I do not find two places in 1 99."),
        ("/label 5", "A label cannot be a number"),
        ("/attach XXXX-XXXX", "This code is not valid"),
        ("/import", "There is no file with that."),
        ("/reask 1", "Only a button does this."),
        ("/open 77", "There is no such conversation that you can open here."),
    ],
)
async def test_what_cannot_be_done_is_said_and_nothing_moves(
    tmp_path: Path, command: str, said: str
) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "Tell me about Rome")
        assert (await ask(g, command))["text"].startswith(said)
        assert await path(g) == ["Tell me about Rome", "re: Tell me about Rome"]
        assert len(g.models.requests) == 1


async def test_one_branches_after_a_tool_result(tmp_path: Path) -> None:
    rules = [call("parent", "think", {"thought": "well"}, last="^think") | {"times": 1}, *ECHO]
    async with telegram_gateway(tmp_path, rules) as g:
        await talk(g, "think")
        shown = await ask(g, "/branch 3")
        assert shown["text"].startswith("You are after #3 🔩 Noted.")
        await talk(g, "go on")
        roles = [message["role"] for message in g.asked("parent")[-1].messages]
        assert roles == ["system", "user", "assistant", "tool", "user"]


async def test_labels_of_any_shape_are_listed_and_lead_back(tmp_path: Path) -> None:
    names = ["start here", "😀🎉", HARD, "long name 😀 " * 80]
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "one", "two", "three", "four")
        for number, name in enumerate(names, start=1):
            assert "is now" in (await ask(g, f"/label {name} #{2 * number}"))["text"]
        menu = await ask(g, "/goto")
        labels = g.telegram.labels(menu)
        assert [label.rsplit(" ")[-1] for label in labels] == ["#8", "#6", "#4", "#2"]
        assert all(units(label) <= 64 for label in labels)
        assert units(menu["text"]) < 1_000
        for number, name in enumerate(names, start=1):
            shown = await ask(g, f"/goto {name}")
            assert f"You are after #{2 * number} " in shown["text"]
        await press(g, menu, "start here")
        assert menu["text"].startswith("You are after #2 🤖 re: one")
        assert refused(g) == []


async def test_whatever_was_said_every_list_is_one_message_that_telegram_takes(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, HARD, "שלום עולם " * 90, "/undo", "😀" * 900, f"/name {HARD}", "/branch #1")
        await talk(g, "`" * 300)
        for command in ("/branch", "/branches", "/sessions", "/diff #4 #6", "/search שלום"):
            shown = await ask(g, command)
            assert units(shown["text"]) < 2_000, command
        picture, drawn = await give(g, "/tree all")
        assert "photo" in picture
        assert [one["type"] for one in drawn["entities"]] == ["pre"]
        assert refused(g) == []


async def test_a_long_answer_does_not_fill_the_chat_when_one_turns_to_it(tmp_path: Path) -> None:
    rules = [says("parent", LONG) | {"times": 1}, says("parent", "short")]
    async with telegram_gateway(tmp_path, rules) as g:
        await talk(g, "tell me all")
        count = len(g.texts())
        assert count == 3
        answer = (await give(g, "/retry"))[-1]
        await press(g, answer, "◀")
        assert len(g.texts()) == count + 1
        assert answer["text"].startswith("A line of the answer, with bold words.")
        assert g.telegram.rows(answer) == [["◀", "1/2", "▶"], ["Read on"]]
        await press(g, answer, "Read on")
        assert len(g.texts()) == 2 * count
        assert "".join(g.texts()[:count]) == "".join(g.texts()[count:])
        assert g.telegram.labels(g.telegram.messages(OWNER)[-1]) == ["◀", "1/2", "▶"]


async def test_arrows_turn_in_place_and_the_conversation_goes_on_there(tmp_path: Path) -> None:
    rules = [says("parent", name, last="Rome") | {"times": 1} for name in ("A", "B", "C")]
    async with telegram_gateway(tmp_path, [*rules, *ECHO]) as g:
        await talk(g, "Rome", "/retry")
        answer = await talk(g, "/retry")
        assert g.telegram.rows(answer) == [["◀", "3/3", "▶"]]
        for shown, place in (("B", "2/3"), ("A", "1/3"), ("C", "3/3"), ("B", "2/3")):
            await press(g, answer, "◀")
            assert (answer["text"], g.telegram.labels(answer)[1]) == (shown, place)
        await talk(g, "go on")
        assert await path(g) == ["Rome", "B", "go on", "re: go on"]
        assert len(g.texts()) == 4


async def test_a_fan_is_chosen_from_by_buttons_in_one_row(tmp_path: Path) -> None:
    rules = [says("parent", f"answer {n}", last="Rome") | {"times": 1} for n in range(4)]
    async with telegram_gateway(tmp_path, [*rules, *ECHO]) as g:
        await talk(g, "Rome")
        shown = await give(g, "/fan 3 parent")
        assert shown[0]["text"] == "Asking for 3 answers side by side…"
        assert [one["text"].partition(" · ")[0] for one in shown[1:4]] == ["1/3", "2/3", "3/3"]
        assert g.telegram.rows(shown[4]) == [["Go on with 1", "Go on with 2", "Go on with 3"]]
        await press(g, shown[4], "Go on with 2")
        assert shown[4]["text"] == "Going on with 2/3 · parent."
        await talk(g, "go on")
        assert (await path(g))[1] == shown[2]["text"].partition("\n\n")[2]


async def test_a_label_one_comes_back_to_is_no_branch(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        await talk(g, "one", "/label here", "/undo", "two", "/goto here", "three")
        assert await path(g) == ["one", "re: one", "three", "re: three"]
        drawn = (await give(g, "/tree"))[-1]["text"]
        assert drawn.startswith("2 branches\n")
        assert "more" not in drawn
        assert len(g.telegram.labels(await ask(g, "/branches"))) == 2


async def test_what_was_stopped_is_no_branch(tmp_path: Path) -> None:
    slow = {"when": {"tier": "parent"}, "times": 1, "reply": {"text": "late", "delay": 60}}
    async with telegram_gateway(tmp_path, [slow, *ECHO]) as g:
        g.say("one")
        await g.models.arrived.wait()
        await ask(g, "/stop")
        await talk(g, "/retry")
        assert await path(g) == ["one", "re: one"]
        assert (await ask(g, "/tree"))["text"].startswith("1 branch\n")
        assert "no branches" in (await ask(g, "/branches"))["text"]


async def test_commands_during_a_slow_turn_answer_at_once(tmp_path: Path) -> None:
    slow = {"when": {"tier": "parent", "last": "slow"}, "reply": {"text": "late", "delay": 60}}
    async with telegram_gateway(tmp_path, [slow, *ECHO]) as g:
        await talk(g, *BRANCHED)
        g.say("slow")
        while g.asked("parent")[-1].messages[-1]["content"] != "slow":
            await asyncio.sleep(0.01)
        for command, said in {
            "/tree": "2 branches",
            "/branches": "1 branch point",
            "/branch": "Go back to which message?",
            "/search Paris": "#4",
            "/diff 4 6": "Both go on from #2",
            "/label now": "🏷 now is now #7 👤 slow",
            "/sessions": "Your conversations",
            "/export": "“Tell me about Rome”",
        }.items():
            g.say(command)
            await g.hears(said)
        g.say("/undo")
        await g.hears("You are after #6")
        await handled(g)
        assert "late" not in g.texts()
