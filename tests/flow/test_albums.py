"""Albums on Telegram: one caption, many messages, one turn."""

import asyncio
from pathlib import Path

from tests.flow.telegram_gateway import ANN, OWNER, STRANGER, TelegramGateway, telegram_gateway
from tests.flow.test_files_come_in_on_telegram import ECHO, photo, shown, voice
from tests.support.photos import picture

GROUP = -500
COLORS = ("red", "green", "blue", "white", "black", "gray", "pink", "gold", "navy", "lime")


def album(
    g: TelegramGateway, words: list[str], *, chat: int = OWNER, user: int = OWNER, id: str = "77"
) -> None:
    for said, color in zip(words, COLORS, strict=False):
        whole = {"photo": photo(g, picture(color)), "caption": True, "media_group_id": id}
        g.say(said, chat=chat, user=user, **whole)


def pictures(g: TelegramGateway) -> list[int]:
    """How many are in each message of people that the model was shown last."""
    users = [m for m in g.asked("parent")[-1].messages if m["role"] == "user"]
    return [len(shown(m)) if isinstance(m["content"], list) else 0 for m in users]


async def test_an_album_whose_caption_names_the_bot_belongs_to_it_whole(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        album(g, ["@bough_bot which is best?", *[""] * 9], chat=GROUP)
        await g.hears("seen:", chat=GROUP)
        await g.settled()
        assert len(g.asked("parent")) == 1
        assert pictures(g) == [1] * 10
        assert len(g.texts(GROUP)) == 1


async def test_what_comes_before_the_caption_belongs_to_it_too(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        album(g, ["", "", "@bough_bot which is best?", ""], chat=GROUP)
        await g.hears("seen:", chat=GROUP)
        await g.settled()
        assert pictures(g) == [1] * 4
        assert len(g.asked("parent")) == 1


async def test_albums_that_do_not_name_the_bot_are_nobody_elses(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        album(g, ["among us", ""], chat=GROUP, user=OWNER, id="1")
        album(g, ["", ""], chat=GROUP, user=STRANGER, id="2")
        album(g, ["", ""], chat=GROUP, user=ANN, id="3")
        album(g, ["@bough_bot mine", ""], chat=GROUP, user=OWNER, id="3")
        await g.hears("seen:", chat=GROUP)
        await g.settled()
        assert pictures(g) == [1, 1]
        assert len(g.texts(GROUP)) == 1


async def test_an_album_counts_once(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, limits={"turns_per_minute": 2}) as g:
        album(g, ["which is best?", *[""] * 9])
        await g.hears("seen:")
        await g.settled()
        assert pictures(g) == [1] * 10
        g.say("and now?")
        await g.hears("seen: and now?")
        assert len(g.texts()) == 2


async def test_an_album_is_one_turn_where_talk_waits(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, session={"busy": "queue"}) as g:
        album(g, ["which is best?", "", ""])
        await g.hears("seen:")
        await g.settled()
        assert (len(g.asked("parent")), pictures(g)) == (1, [1, 1, 1])


async def test_that_voices_are_not_heard_is_said_once_in_a_conversation(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        for count in (1, 2, 3):
            g.say("", voice=voice(g))
            await g.hears("not listened to", count=count)
        await asyncio.sleep(0.1)
        await g.settled()
        assert sum("I cannot listen to voice messages here" in text for text in g.texts()) == 1
        g.say("", chat=ANN, voice=voice(g))
        await g.hears("I cannot listen to voice messages here", chat=ANN)


async def test_what_is_too_long_or_of_no_use_is_told_to_the_model(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        long = g.telegram.document("long.txt", b"word " * 20_000)
        g.say("1", document=long, caption=True)
        await g.hears("[file: long.txt, 100 KB, its content is not shown: it is longer than")
        g.say("2", document=g.telegram.document("a.bin", b"\0\1\2"), caption=True)
        await g.hears("[file: a.bin, 3 bytes, its content is not shown]")
