"""Tree sessions in Telegram groups: several people, topics, turns of others, private sessions."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from storage.records.entries import Json
from tests.flow.on_telegram import ECHO, TO_BOT, ask, give, handled, path, press, talk
from tests.flow.telegram_gateway import (
    ANN,
    FORUM,
    OWNER,
    STRANGER,
    TelegramGateway,
    telegram_gateway,
)

BEN, DORA = 1003, 1004
"""Ben may talk as Ann may; Dora may only decide."""
GROUP = -500
SLOW = {"when": {"tier": "parent", "last": "slow"}, "reply": {"text": "late", "delay": 60}}
BUSY = "Somebody else's turn is running here: wait for its end, or ask them to /stop it."


@asynccontextmanager
async def team(folder: Path) -> AsyncIterator[TelegramGateway]:
    access = {
        "owners": [f"telegram:{OWNER}"],
        "allow": [f"telegram:{ANN}", f"telegram:{BEN}"],
        "approvers": [f"telegram:{DORA}"],
    }
    async with telegram_gateway(folder, [SLOW, *ECHO], access=access) as g:
        for person, name in ((BEN, "Ben"), (DORA, "Dora"), (STRANGER, "Mallory")):
            g.telegram.person(person, name)
        g.telegram.group(GROUP, "Team")
        g.telegram.group(FORUM, "Forum", forum=True)
        yield g


async def test_each_topic_has_a_tree_of_its_own_and_menus_stay_in_it(tmp_path: Path) -> None:
    async with team(tmp_path) as g:
        plans, other = (g.telegram.topic(FORUM, name, ANN) for name in ("Plans", "Other"))
        await talk(g, f"{TO_BOT}one", "/undo", f"{TO_BOT}two", chat=FORUM, user=ANN, thread=plans)
        assert (
            "said here yet" in (await ask(g, "/tree", chat=FORUM, user=ANN, thread=other))["text"]
        )
        shown = await give(g, "/tree@bough_bot", chat=FORUM, user=BEN, thread=plans)
        assert ["photo" in one for one in shown] == [True, False]
        await press(g, shown[1], "user", BEN)
        assert shown[1]["text"].startswith("2 branches · user")
        assert {one["message_thread_id"] for one in g.telegram.messages(FORUM)} == {plans, other}
        assert len(g.telegram.messages(FORUM, other)) == 1


async def test_people_who_talk_by_replying_meet_no_buttons_on_the_way(tmp_path: Path) -> None:
    async with team(tmp_path) as g:
        answer = await talk(g, f"{TO_BOT}where to?", chat=GROUP, user=ANN)
        for user, text in ((BEN, "by train"), (ANN, "when?"), (BEN, "tomorrow"), (ANN, "fine")):
            (answer,) = await give(g, text, chat=GROUP, user=user, reply_to=answer)
            assert g.telegram.labels(answer) == []
        older = g.telegram.messages(GROUP)[1]
        (answer,) = await give(g, "or by bus", chat=GROUP, user=ANN, reply_to=older)
        assert g.telegram.labels(answer) == ["Branch from there"]
        await press(g, answer, "Branch from there", BEN)
        said = ["Ann: where to?", "Ben: by train", "Ann: or by bus"]
        assert (await path(g, str(GROUP)))[::2] == said


async def test_an_edit_does_not_take_others_words_out_of_the_conversation(tmp_path: Path) -> None:
    async with team(tmp_path) as g:
        first = g.say(f"{TO_BOT}where to?", chat=GROUP, user=ANN)["message"]
        await handled(g)
        await talk(g, f"{TO_BOT}by train?", chat=GROUP, user=BEN)
        g.telegram.edit(first, f"{TO_BOT}where to, and when?")
        await handled(g)
        offer = g.telegram.messages(GROUP)[-1]
        assert offer["text"].startswith("You changed an older message (#1).")
        assert offer["reply_to_message"]["message_id"] == first["message_id"]
        assert await press(g, offer, "Continue", BEN) == "This button is not yours to press."
        assert "Ben: by train?" in await path(g, str(GROUP))
        await press(g, offer, "Continue", ANN)
        assert (await path(g, str(GROUP)))[0] == "Ann: where to, and when?"


async def test_while_somebodys_turn_runs_others_look_but_do_not_move(tmp_path: Path) -> None:
    async with team(tmp_path) as g:
        await talk(g, f"{TO_BOT}one", "/undo", f"{TO_BOT}two", chat=GROUP, user=ANN)
        g.say(f"{TO_BOT}slow", chat=GROUP, user=ANN)
        await g.telegram.wait_for(lambda: "slow" in str(g.asked("parent")[-1].messages[-1]))
        menu = await hears_at_once(g, "/branch", BEN)
        assert menu["text"].startswith("Go back to which message?")
        for command in ("/undo", "/branch #1", "/goto #2", "/retry", "/fan 2"):
            assert (await hears_at_once(g, command, BEN))["text"] == BUSY
        for command, said in {
            "/label then": "🏷 then is now",
            "/diff 2 4": "The two have nothing in common",
        }.items():
            assert (await hears_at_once(g, command, BEN))["text"].startswith(said)
        g.press(menu, g.telegram.labels(menu)[-1], BEN)
        assert await g.told() == BUSY
        g.say("/stop", chat=GROUP, user=ANN)
        await handled(g)
        assert "slow" in (await path(g, str(GROUP)))[-1]
        assert await press(g, menu, "#3", BEN) == ""
        assert menu["text"].startswith("You are at the very beginning.")


async def hears_at_once(g: TelegramGateway, command: str, user: int) -> Json:
    """What a command is answered with while a turn runs in the group."""
    count = len(g.telegram.messages(GROUP))
    g.say(command, chat=GROUP, user=user)
    await g.telegram.wait_for(lambda: len(g.telegram.messages(GROUP)) > count)
    return g.telegram.messages(GROUP)[-1]


async def test_buttons_obey_who_may_talk_and_who_may_only_decide(tmp_path: Path) -> None:
    async with team(tmp_path) as g:
        await talk(g, f"{TO_BOT}one", "/retry", chat=GROUP, user=ANN)
        answer = g.telegram.messages(GROUP)[-1]
        assert await press(g, answer, "◀", STRANGER) == "This button is not yours to press."
        await talk(g, "/goto #1", chat=GROUP, user=ANN)
        shown = g.telegram.messages(GROUP)[-1]
        assert g.telegram.labels(shown) == ["Answer it", "Go to its answer", "↩ Back"]
        await press(g, shown, "Answer it", DORA)
        assert shown["text"].startswith("You may decide here, but not talk.")
        requests = len(g.models.requests)
        assert await give(g, "/undo", chat=GROUP, user=STRANGER) == []
        assert len(g.models.requests) == requests


async def test_a_retry_in_a_group_answers_who_asked_for_it(tmp_path: Path) -> None:
    async with team(tmp_path) as g:
        await talk(g, f"{TO_BOT}one", chat=GROUP, user=ANN)
        command = g.say("/retry", chat=GROUP, user=BEN)["message"]
        await handled(g)
        answer = g.telegram.messages(GROUP)[-1]
        assert answer["reply_to_message"]["message_id"] == command["message_id"]


async def test_a_private_conversation_comes_into_a_group_only_by_its_owners_yes(
    tmp_path: Path,
) -> None:
    async with team(tmp_path) as g:
        await talk(g, "my secret plan", "/name Plan B", chat=ANN)
        code = await code_of(g, ANN)
        asked = await ask(g, f"/attach {code}", chat=GROUP, user=ANN)
        assert asked["text"].startswith("This takes “Plan B” (2 messages) into this group;")
        assert g.telegram.rows(asked) == [["Take it here", "Cancel"]]
        assert await press(g, asked, "Take it here", BEN) == "This button is not yours to press."
        assert "said here yet" in (await ask(g, "/tree", chat=GROUP, user=BEN))["text"]
        await press(g, asked, "Take it here", ANN)
        assert asked["text"].startswith("You are in “Plan B” now")
        await talk(g, f"{TO_BOT}and now?", chat=GROUP, user=BEN)
        assert await path(g, str(ANN)) == await path(g, str(GROUP))
        assert len(g.texts(ANN)) == 3
        again = await ask(g, f"/attach {code}", chat=GROUP, user=BEN)
        assert again["text"].startswith("This code is not valid")


async def test_what_others_said_in_private_is_not_found_from_a_group(tmp_path: Path) -> None:
    async with team(tmp_path) as g:
        await talk(g, "a secret word", chat=ANN)
        await talk(g, f"{TO_BOT}hello", chat=GROUP, user=ANN)
        for command in ("/search secret", "/sessions", "/tree"):
            shown = await ask(g, command, chat=GROUP, user=ANN)
            assert "a secret word" not in shown["text"]
        assert "This takes" in (await ask(g, "/open 1", chat=GROUP, user=ANN))["text"]
        assert "no such conversation" in (await ask(g, "/open 1", chat=GROUP, user=BEN))["text"]


async def code_of(g: TelegramGateway, chat: int) -> str:
    shown: Json = await ask(g, "/attach", chat=chat)
    found = re.search(r"/attach (\S+)", shown["text"])
    assert found is not None
    return found[1]
