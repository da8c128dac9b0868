"""Talking to the bot on Discord: where it listens, to whom, and what its answers look like."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.flow.discord_gateway import ANN, MALLORY, OLGA, DiscordGateway, discord_gateway
from tests.flow.telegram_gateway import PATIENCE, Gate, says
from tests.stand_ins.discord_world import User

ECHO = [says("parent", "you said: {last}")]


def heard(g: DiscordGateway, request: int = -1) -> list[str]:
    """What people said, in a request to the parent's model; their addresses without the digits."""
    messages = g.asked("parent")[request].messages
    texts = [message["content"] for message in messages if message["role"] == "user"]
    return [re.sub(r"\A\[discord:\d+\]", "[discord:…]", text) for text in texts]


async def test_a_private_message_is_answered(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("hello")
        shown = await g.reads("you said: hello")
        assert "message_reference" not in shown
        assert heard(g) == ["hello"]


async def test_in_a_channel_a_mention_and_a_reply_are_answered_as_replies(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        general = g.discord.general
        g.discord.say(general, OLGA, "not for the bot")
        asked = g.mentions("what is up?")
        first = await g.reads("what is up?", general)
        assert first["message_reference"]["message_id"] == asked["id"]
        again = g.discord.say(general, ANN, "and now?", reply_to=first)
        second = await g.reads("and now?", general)
        assert second["message_reference"]["message_id"] == again["id"]
        assert heard(g) == ["[discord:…] olga: what is up?", "[discord:…] ann: and now?"]


async def test_a_message_that_quotes_another_brings_it_along(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        general = g.discord.general
        thesis = g.discord.say(general, ANN, f"the sky is green {g.discord.mention}")
        await g.reads("green", general)
        g.discord.say(general, OLGA, f"{g.discord.mention} is that so?", reply_to=thesis)
        await g.reads("is that so?", general)
        quoted = "In reply to ann:\n> the sky is green @Bough"
        assert heard(g)[-1] == f"[discord:…] olga:\n{quoted}\n| is that so?"


async def test_what_cannot_be_read_is_said_to_be_there(tmp_path: Path) -> None:
    image = {"id": "1", "filename": "x.png", "size": 1, "content_type": "image/png"}
    image |= {"url": "http://x/x.png", "proxy_url": "http://x/x.png"}
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("", attachments=[image])
        await g.reads("you said: [picture: x.png, 1 bytes, not here: it could not be fetched:")
        await g.reads("`x.png`: it could not be fetched: that is not a file on Discord")


async def test_in_a_channel_the_talk_of_others_waits_for_its_turn(tmp_path: Path) -> None:
    gate = Gate("slow")
    rules = [says("parent", "done", last="slow"), *ECHO]
    async with discord_gateway(tmp_path, rules, wrap=gate) as g:
        g.mentions("slow")
        await g.models.arrived.wait()
        g.mentions("and me", ANN)
        async with asyncio.timeout(PATIENCE):
            while len(await g.read(lambda tx: tx.inbox.unfinished())) < 2:
                await asyncio.sleep(0.01)
        gate.open.set()
        await g.reads("ann: and me", g.discord.general)
        ann = g.discord.user(ANN).id
        assert g.said(g.discord.general) == ["done", f"you said: [discord:{ann}] ann: and me"]
        assert len(g.models.requests) == 2


async def test_a_thread_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        thread = g.discord.thread("details")
        g.mentions("in the channel")
        await g.reads("in the channel", g.discord.general)
        g.mentions("in the thread", place=thread)
        await g.reads("in the thread", thread)
        g.tells("in private")
        await g.reads("in private")
        assert [heard(g, n) for n in range(3)] == [
            ["[discord:…] olga: in the channel"],
            ["[discord:…] olga: in the thread"],
            ["in private"],
        ]


async def test_people_in_one_channel_share_the_conversation(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.mentions("one", OLGA)
        await g.reads("one", g.discord.general)
        g.mentions("two", ANN)
        await g.reads("two", g.discord.general)
        assert heard(g) == ["[discord:…] olga: one", "[discord:…] ann: two"]


async def test_a_stranger_starts_nothing_and_is_told_once_in_private(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        private = g.discord.dm_of(MALLORY)
        g.mentions("let me in", MALLORY)
        for text in ("hello?", "/new", "hello again"):
            g.tells(text, MALLORY)
        notice = await g.reads("I do not know you", private)
        assert g.identity(MALLORY) in notice["content"]
        g.tells("last")
        await g.reads("last")
        await g.settled()
        assert len(g.said(private)) == 1
        assert g.said(g.discord.general) == []
        assert len(g.models.requests) == 1
        sessions = await g.read(lambda tx: tx.inbox.unfinished())
        assert sessions == []


async def test_a_strangers_slash_command_is_refused_where_discord_waits(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        general = g.discord.general
        for name in ("questions", "stop"):
            told = await g.answer(g.slash(name, MALLORY, general))
            assert told["content"].startswith("I do not know you")
        assert g.models.requests == []


async def test_bots_and_webhooks_are_not_listened_to(tmp_path: Path) -> None:
    access = {"allow": ["discord:*"]}
    async with discord_gateway(tmp_path, ECHO, access=access) as g:
        text = f"{g.discord.mention} hello from a machine"
        g.discord.world.users["robot"] = User(g.discord.world.snowflake(), "robot", bot=True)
        g.discord.say(g.discord.general, "robot", text)
        g.discord.say(g.discord.general, "hook", text, webhook_id="1234567890")
        g.tells("last")
        await g.reads("last")
        assert g.said(g.discord.general) == []


async def test_typing_is_shown_while_a_slow_turn_runs(tmp_path: Path) -> None:
    gate = Gate()
    async with discord_gateway(tmp_path, [says("parent", "there")], wrap=gate) as g:
        g.mentions("think")
        await g.discord.wait_for(lambda: g.discord.world.typing, PATIENCE)
        gate.open.set()
        await g.reads("there", g.discord.general)
        assert g.discord.world.typing == [g.discord.general]


async def test_a_long_answer_arrives_in_order_with_its_code_whole(tmp_path: Path) -> None:
    code = "\n".join(f"    row[{n}] = '{'é' * 40}'  # 👩‍🚀" for n in range(300))
    answer = f"Here it is:\n\n```python\n{code}\n```\n\nThat is all."
    async with discord_gateway(tmp_path, [says("parent", answer)]) as g:
        g.mentions("write")
        await g.reads("That is all.", g.discord.general)
        said = g.said(g.discord.general)
        assert len(said) > 5
        shown = [message for message in said if "```" in message]
        assert all(message.count("```") == 2 for message in shown)
        blocks = [re.findall(r"```python\n(.*?)\n```", message, re.DOTALL) for message in shown]
        assert "\n".join(block for found in blocks for block in found) == code
        replies = [m for m in g.discord.general.messages if "message_reference" in m]
        assert len(replies) == 1


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "😀" * 5000,
        "👩‍👩‍👧‍👦 " * 3000,
        "مرحبا بالعالم " * 2000,
        "**bold _and ``` unbalanced `" * 400,
        "word " * 20_000,
    ],
    ids=["one", "emoji", "families", "right to left", "unbalanced", "100,000 characters"],
)
async def test_texts_of_any_kind_come_in_and_go_out_whole(tmp_path: Path, text: str) -> None:
    session = {"max_answer_messages": 100}
    async with discord_gateway(tmp_path, [says("parent", "{last}¶")], session=session) as g:
        g.tells(text)
        await g.reads("¶")
        assert heard(g) == [text]
        said = "".join(g.said()).replace("\N{ZERO WIDTH SPACE}", "")
        plain = re.sub(r"\s|`", "", said)
        assert plain == re.sub(r"\s|`", "", text) + "¶"


async def test_nobody_is_pinged_whatever_is_said(tmp_path: Path) -> None:
    """That each request forbids it is what the harness asserts of every test."""
    async with discord_gateway(
        tmp_path, [says("parent", "@everyone @here <@1> <@&2> {last}")]
    ) as g:
        g.mentions("ping @everyone", ANN)
        await g.reads("@everyone", g.discord.general)
        g.slash("help")
        await g.reads("/stop")
        assert len(g.sent()) >= 2


async def test_fifty_quick_messages_in_one_channel_keep_their_order(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        for number in range(50):
            g.mentions(f"message {number}.")
        await g.reads("message 49.", g.discord.general)
        assert heard(g) == [f"[discord:…] olga: message {number}." for number in range(50)]


async def test_fifty_queued_messages_are_each_answered_in_order(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, session={"busy": "queue"}) as g:
        for number in range(50):
            g.tells(f"message {number}.")
        await g.reads("message 49.")
        assert g.said() == [f"you said: message {number}." for number in range(50)]


async def test_fifty_channels_at_once_each_get_their_own_answer(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        places = [g.discord.world.channel(f"room-{number}") for number in range(50)]
        await g.start()
        for place in places:
            g.mentions(f"secret of {place.name}.", place=place)
        for place in places:
            await g.reads(f"secret of {place.name}.", place)
            assert len(g.said(place)) == 1
        assert all(len(request.messages) == 2 for request in g.models.requests)
