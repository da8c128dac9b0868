"""Pictures, texts and voices on Discord: what the model is shown, what people are told."""

from pathlib import Path

from storage.records.entries import Json, content_text
from tests.flow.discord_gateway import ANN, OLGA, DiscordGateway, discord_gateway
from tests.flow.test_files_come_in_on_telegram import shown
from tests.stand_ins.discord_rest import Fail
from tests.stand_ins.transcription import TranscriptionServer
from tests.support.photos import picture

ECHO = [{"reply": {"text": "seen: {last}"}}]
VOICE = 1 << 13
"""The flag of a message that is a voice."""


def last(g: DiscordGateway) -> Json:
    return g.asked("parent")[-1].messages[-1]


def speaks(g: DiscordGateway, data: bytes = b"OggS-a-voice") -> None:
    sent = g.discord.world.cdn.contents
    before = set(sent)
    message = g.discord.world._new_message(g.home, g.discord.user(OLGA), "")
    place = g.discord.general
    carrier = g.discord.world.say(place, g.discord.user(OLGA), "", files={"voice.ogg": data})
    assert set(sent) - before
    voice = carrier["attachments"][0] | {
        "content_type": "audio/ogg",
        "duration_secs": 12.0,
        "waveform": "AAAA",
    }
    g.discord.world._publish(g.home, message | {"flags": VOICE, "attachments": [voice]})


async def test_several_files_are_one_message_and_one_turn(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        files = {"a.jpg": picture("red"), "b.png": picture("blue", form="PNG"), "n.txt": b"milk"}
        g.tells("what are these?", files=files)
        await g.reads("seen: what are these?")
        await g.settled()
        assert len(g.asked("parent")) == 1
        assert [one.format for one in shown(last(g))] == ["JPEG", "PNG"]
        told = content_text(last(g)["content"])
        assert "[picture: a.jpg]" in told
        assert "[file: n.txt, 4 bytes]" in told
        assert "\nmilk\n</file-" in told
        assert all("Authorization" not in asked for asked in g.discord.world.cdn.asked)


async def test_a_picture_that_is_replied_to_in_a_channel_is_seen(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        g.discord.world.message_content = True
        await g.start()
        place = g.discord.general
        theirs = g.discord.say(place, ANN, "look", files={"a.jpg": picture("red")})
        g.discord.say(place, OLGA, f"{g.discord.mention} what is it?", reply_to=theirs)
        await g.reads("what is it?", place)
        assert len(shown(last(g))) == 1


async def test_a_voice_is_written_down(tmp_path: Path) -> None:
    async with (
        TranscriptionServer("where is my parcel?") as server,
        discord_gateway(tmp_path, ECHO, started=False) as g,
    ):
        g.config["models"]["transcription"] = {"model": "whisper-1", "api_base": server.url}
        await g.start()
        speaks(g)
        await g.reads("seen: [voice message: voice.ogg, 12 s")
        assert last(g)["content"].endswith("] where is my parcel?")
        assert [(one.name, one.data) for one in server.requests] == [("voice.ogg", b"OggS-a-voice")]


async def test_a_file_host_that_falters_is_asked_again_and_one_that_refuses_is_not(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.discord.inject("GET", "attachments", Fail(503), 2)
        g.tells("1", files={"a.txt": b"milk"})
        await g.reads("seen: 1")
        assert "milk" in last(g)["content"]
        g.discord.inject("GET", "attachments", Fail(404))
        g.tells("2", files={"b.txt": b"bread"})
        await g.reads("`b.txt`: it could not be fetched: the file is not on Discord any more")
        await g.reads("seen: 2")
        assert "bread" not in last(g)["content"]
