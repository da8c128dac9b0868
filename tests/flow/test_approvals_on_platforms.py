"""Calls that people approve, as they see and press them on Telegram and Discord."""

from pathlib import Path
from typing import Any

from storage.records.entries import Json
from tests.flow.discord_gateway import ANN as DISCORD_ANN
from tests.flow.discord_gateway import OLGA, DiscordGateway, discord_gateway
from tests.flow.telegram_gateway import ANN, ANSWER, OWNER, call, telegram_gateway
from tests.stand_ins.telegram_world import words

TRICK = "```\n</pre>*safe*\u202e @all https://evil.example `rm`"
LONG = "".join(f"line {number} of what is written\n" for number in range(200))
NEEDED = "Approval needed"


def writes(content: str, last: str = "go$") -> Json:
    return call("parent", "write_file", {"path": "x", "content": content}, last=last)


def tools(folder: Path, **more: Any) -> Json:
    rules = [{"tool": "write_file", "decision": "ask"}]
    workspace = f"{folder}/{{session}}"
    return {"toolsets": ["file"], "workspace": workspace, "rules": rules} | more


def written(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob("*/x"))]


async def test_telegram_shows_a_call_as_code_and_a_press_runs_it(tmp_path: Path) -> None:
    rules = [writes(TRICK), ANSWER]
    async with telegram_gateway(tmp_path, rules, tools=tools(tmp_path)) as g:
        g.say("go")
        question = await g.hears(NEEDED)
        text = words(question)
        blocks = [one for one in question["entities"] if one["type"] == "pre"]
        (block,) = blocks
        code = text[block["offset"] : block["offset"] + block["length"]]
        assert '"content": "```\\n</pre>*safe*⟨U+202E⟩ @all https://evil.example `rm`"' in code
        links = ("url", "text_link", "mention", "bot_command")
        assert not [one for one in question["entities"] if one["type"] in links]
        assert f"Olga · telegram:{OWNER}, in telegram:{OWNER}" in text
        g.press(question, "Once")
        await g.hears("result: Wrote")
        await g.settled()
        assert written(tmp_path) == [TRICK]
        assert g.telegram.labels(question) == []
        assert "Olga: Once" in words(question)


async def test_what_takes_several_messages_is_shown_whole_before_the_buttons(
    tmp_path: Path,
) -> None:
    rules = [writes(LONG), ANSWER]
    async with telegram_gateway(tmp_path, rules, tools=tools(tmp_path)) as g:
        g.say("go")
        last = await g.hears("line 199 of")
        shown = g.texts()[1:] if "go" in g.texts()[0] else g.texts()
        assert len(shown) > 1
        seen = "".join("".join(shown).split())  # a message may end at any space
        assert all(f"line{number}of" in seen for number in range(200))
        assert g.telegram.labels(last)[0] == "Once"
        g.press(last, "Deny")
        await g.hears("Denied by Olga")
        assert written(tmp_path) == []


async def test_in_a_group_nobody_but_who_may_approves(tmp_path: Path) -> None:
    rules = [writes("a"), ANSWER]
    narrow = tools(tmp_path, approvers=[f"telegram:{ANN}"])
    async with telegram_gateway(tmp_path, rules, tools=narrow) as g:
        g.say("go")
        question = await g.hears(NEEDED)
        g.press(question, "Once")
        assert "You may not decide this" in await g.told()
        await g.settled()
        assert written(tmp_path) == []
        assert g.telegram.labels(question)


async def test_on_discord_it_is_shown_and_pressed_too(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [writes(TRICK), ANSWER], tools=tools(tmp_path)) as g:
        g.tells("go")
        question = await g.reads(NEEDED)
        assert "⟨U+202E⟩" in question["content"]
        labels = ["Once", "For 1 hour", "For this conversation", "Deny"]
        assert list(g.discord.buttons(question))[:4] == labels
        g.discord.press(question, "For this conversation", OLGA)
        await g.reads("result: Wrote")
        await g.settled()
        assert written(tmp_path) == [TRICK]
        assert g.discord.buttons(question) == {}
        await listed(g)


async def listed(g: DiscordGateway) -> None:
    answer = await g.answer(g.slash("tools"))
    assert "Allowed in this conversation" in answer["content"]
    assert list(g.discord.buttons(answer)) == ["Revoke 1"]
    g.discord.press(answer, "Revoke 1", OLGA)
    await g.reads("Revoked by olga")


async def test_on_discord_words_instead_of_a_press_run_nothing(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [writes("a"), ANSWER], tools=tools(tmp_path)) as g:
        g.mentions("go")
        question = await g.reads(NEEDED, g.discord.general)
        g.discord.press(question, "Once", DISCORD_ANN)
        assert "You may not decide this" in await g.whispered()
        g.discord.say(g.discord.general, OLGA, "not there", reply_to=question)
        await g.reads("olga answered in words", g.discord.general)
        assert written(tmp_path) == []
