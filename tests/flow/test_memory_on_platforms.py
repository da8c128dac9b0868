"""Notes in Telegram and on Discord: noted in a group, read in private, deleted by a button."""

from pathlib import Path

from storage.records.entries import Json
from storage.records.tools.notes import NoteDraft, NoteScope
from tests.flow import on_discord, on_telegram
from tests.flow.discord_gateway import ANN as DISCORD_ANN
from tests.flow.discord_gateway import OLGA, discord_gateway
from tests.flow.telegram_gateway import ANN, ANSWER, OWNER, call, says, telegram_gateway

GROUP = -500
RULES = [
    call(
        "parent",
        "memory",
        {"action": "add", "text": "likes tea & <b>", "scope": "person"},
        last="note it$",
    ),
    call("parent", "memory", {"action": "add", "text": "we meet at five"}, last="for us$"),
    says("parent", "done: {last}", last="^Noted"),
    says("parent", "re: {last}"),
    ANSWER,
]
TOOLS = {"toolsets": ["memory"]}


def given(request: Json) -> str:
    """What a model was told below its instructions, before the last message."""
    return "\n".join(str(message["content"]) for message in request["messages"][1:-1])


async def test_notes_in_telegram_are_read_where_they_belong(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, RULES, tools=TOOLS) as g:
        g.say("@bough_bot note it", chat=GROUP, user=ANN)
        await g.hears(f"done: Noted for telegram:{ANN}", chat=GROUP)
        g.say("@bough_bot for us", chat=GROUP, user=ANN)
        await g.hears("done: Noted for this chat", chat=GROUP)
        await on_telegram.talk(g, "hello", chat=ANN)
        assert "| likes tea & <b>" in given(g.models.requests[-1].body)
        await on_telegram.talk(g, "hello", chat=OWNER)
        assert given(g.models.requests[-1].body) == ""
        await on_telegram.give(g, "/new@bough_bot", chat=GROUP, user=OWNER)
        g.say("@bough_bot hello", chat=GROUP, user=OWNER)
        await g.hears("re: [telegram:1001] Olga: hello", chat=GROUP)
        told = given(g.models.requests[-1].body)
        assert "| we meet at five" in told
        assert "tea" not in told
        (shown,) = await on_telegram.give(g, "/memory", chat=ANN)
        assert f"1 · about you · 0 s ago · in telegram:{GROUP}" in shown["text"]
        assert "likes tea & <b>" in shown["text"]
        await on_telegram.press(g, shown, "Delete 1", ANN)
        assert shown["text"].startswith("Deleted: 1. ")
        assert on_telegram.refused(g) == []


async def test_notes_on_discord_are_read_where_they_belong(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, RULES, tools=TOOLS) as g:
        home = g.discord.dm_of(DISCORD_ANN)
        g.mentions("note it", DISCORD_ANN)
        await g.reads("done: Noted for discord:", g.discord.general)
        await on_discord.talk(g, "hello", user=DISCORD_ANN, place=home)
        assert "| likes tea & <b>" in given(g.models.requests[-1].body)
        await on_discord.talk(g, "hello", user=OLGA)
        assert given(g.models.requests[-1].body) == ""
        shown = await on_discord.slash(g, "memory", user=DISCORD_ANN, place=home)
        assert "likes tea & " in shown["content"]
        await on_discord.press(g, shown, "Delete 1", DISCORD_ANN)
        channel = g.discord.world.channels[home.id]
        assert channel.message(shown["id"])["content"].startswith("Deleted: 1. ")


async def test_many_notes_fit_into_discord_s_messages(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, RULES, tools=TOOLS) as g:
        owner = g.identity(OLGA)
        notes = [NoteDraft(NoteScope.PERSON, owner, "*_" * n, owner, "") for n in range(40, 54)]
        assert g.app is not None
        await g.app.store.run(lambda tx: [tx.notes.add(note) for note in notes])
        shown = await on_discord.slash(g, "memory")
        assert all(len(row) <= 5 for row in on_discord.rows(shown))
        seen = 0
        while True:
            labels = [label for row in on_discord.rows(shown) for label in row]
            seen += sum(label.startswith("Delete") for label in labels)
            assert len(g.said()) == 1
            if "▶" not in labels:
                break
            await on_discord.press(g, shown, "▶")
            shown = on_discord.newest(g)
        assert seen == len(notes)
