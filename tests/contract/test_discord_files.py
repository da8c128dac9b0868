"""Files on Discord, both ways."""

from collections.abc import AsyncIterator

import pytest

from adapters.base import (
    AdapterError,
    Button,
    CommandSpec,
    Edit,
    Refused,
    Throttled,
    Unavailable,
    Unreachable,
    Upload,
)
from adapters.events import File, Message
from tests.stand_ins import discord_bot
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, Bot, here, running
from tests.stand_ins.discord_files import UPLOAD_LIMIT, Sent
from tests.stand_ins.discord_rest import Cut, Fail, Fault, Throttle
from tests.stand_ins.discord_world import Json

DOCUMENT = Upload("talk.jsonl", b'{"type": "session"}\n')
PICTURE = Upload("tree", b"\x89PNG\r\n\x1a\n\0", picture=True)


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


def content(server: DiscordServer, message: Json) -> dict[str, bytes]:
    """Name → content of the files that a message has."""
    cdn = server.world.cdn
    return {each["filename"]: cdn.content(each["url"]) for each in message["attachments"]}


async def given(server: DiscordServer, bot: Bot, name: str, data: bytes) -> File:
    """A file that somebody sent."""
    server.dm("ann", "here", files={name: data})
    await bot.got(1)
    [file] = bot.messages[0].files
    return file


async def test_a_file_goes_out_with_its_caption_and_buttons(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.post(server.general, "the tree", Button("More", "more"), upload=PICTURE)
        [message] = server.messages(server.general)
        assert message["content"] == "the tree"
        assert list(server.buttons(message)) == ["More"]
        assert content(server, message) == {"tree.png": PICTURE.data}


async def test_a_file_needs_no_words(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.post(server.general, "", upload=DOCUMENT)
        [message] = server.messages(server.general)
        assert content(server, message) == {"talk.jsonl": DOCUMENT.data}


async def test_an_edit_leaves_the_file_and_changes_the_buttons(server: DiscordServer) -> None:
    async with running(server) as bot:
        message_id = await bot.post(server.general, "page 1", Button("2", "b"), upload=PICTURE)
        buttons = (Button("1", "a"), Button("3", "c", beside=True), Button("Close", "x"))
        edit = Edit(here(server.general), message_id, {"text": "page 2"}, buttons)
        await bot.adapter.deliver(edit)
        [message] = server.messages(server.general)
        assert message["content"] == "page 2"
        assert [len(row["components"]) for row in message["components"]] == [2, 1]
        assert content(server, message) == {"tree.png": PICTURE.data}


async def test_the_same_nonce_again_sends_no_second_file(server: DiscordServer) -> None:
    async with running(server) as bot:
        first = await bot.post(server.general, "once", nonce="7.1", upload=DOCUMENT)
        assert await bot.post(server.general, "once", nonce="7.1", upload=DOCUMENT) == first
        assert len(server.messages(server.general)) == 1


async def test_a_command_is_answered_with_a_file_where_the_bot_thinks(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        command = server.slash(server.general, "ann", "new")
        [update] = await bot.got(1)
        assert isinstance(update, Message)
        await server.wait_for(lambda: command.answered)
        await bot.post(server.general, "here it is", handle=update.handle, upload=DOCUMENT)
        [message] = server.messages(server.general)
        assert message["content"] == "here it is"
        assert content(server, message) == {"talk.jsonl": DOCUMENT.data}


async def test_a_file_for_a_dead_command_goes_to_the_channel(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.post(server.general, "here", handle="command:1:expired", upload=DOCUMENT)
        [message] = server.messages(server.general)
        assert content(server, message) == {"talk.jsonl": DOCUMENT.data}


async def test_a_file_survives_a_rate_limit_and_a_refused_reply(server: DiscordServer) -> None:
    async with running(server) as bot:
        server.inject("POST", "/messages", Throttle(0.05))
        server.inject("POST", "/messages", Fail(403, 160002, "Cannot reply without permission"))
        await bot.post(server.general, "here", reply_to="12345", upload=DOCUMENT)
        [message] = server.messages(server.general)
        assert content(server, message) == {"talk.jsonl": DOCUMENT.data}
        assert [len(r.files) for r in server.requests if r.path.endswith("/messages")] == [1, 1, 1]


async def test_a_file_that_is_too_big_for_discord_is_refused(server: DiscordServer) -> None:
    async with running(server) as bot:
        with pytest.raises(Refused, match="too large"):
            await bot.post(server.general, "big", upload=Upload("big", bytes(UPLOAD_LIMIT + 1)))


async def test_where_the_bot_may_not_attach_files_the_file_is_refused(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        server.inject("POST", "/messages", Fail(403, 50013, "Missing Permissions"))
        with pytest.raises(Refused, match="attach files"):
            await bot.post(server.general, "here", upload=DOCUMENT)
        server.inject("POST", "/messages", Fail(403, 50013, "Missing Permissions"))
        with pytest.raises(Unreachable):
            await bot.post(server.general, "here")


async def test_what_somebody_sends_can_be_fetched(server: DiscordServer) -> None:
    async with running(server) as bot:
        file = await given(server, bot, "notes.txt", b"12345")
        assert (file.name, file.size) == ("notes.txt", 5)
        assert await bot.adapter.fetch(file.ref, 5) == b"12345"


async def test_the_host_of_files_is_not_told_the_token(server: DiscordServer) -> None:
    async with running(server) as bot:
        file = await given(server, bot, "notes.txt", b"12345")
        await bot.adapter.fetch(file.ref, 5)
        [headers] = server.world.cdn.asked
        assert TOKEN not in str(headers)
        assert "Authorization" not in headers


async def test_a_file_given_to_a_command_can_be_fetched(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord_bot, "COMMANDS", [CommandSpec("import", "Import", file=True)])
    async with running(server) as bot:
        server.slash(server.general, "ann", "import", file=Sent("talk.jsonl", b"{}"))
        [update] = await bot.got(1)
        assert isinstance(update, Message)
        assert update.text == "/import"
        assert await bot.adapter.fetch(update.files[0].ref, 100) == b"{}"


@pytest.mark.parametrize("says_size", [True, False])
async def test_more_than_the_limit_is_refused(server: DiscordServer, says_size: bool) -> None:
    server.world.cdn.says_size = says_size
    async with running(server) as bot:
        file = await given(server, bot, "big.bin", bytes(200_000))
        with pytest.raises(Refused, match="too big"):
            await bot.adapter.fetch(file.ref, 199_999)
        assert len(await bot.adapter.fetch(file.ref, 200_000)) == 200_000


async def test_a_file_that_is_gone_is_refused(server: DiscordServer) -> None:
    async with running(server) as bot:
        file = await given(server, bot, "notes.txt", b"12345")
        server.world.cdn.contents.clear()
        with pytest.raises(Refused, match="not on Discord any more"):
            await bot.adapter.fetch(file.ref, 5)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fail(503), Unavailable),
        (Fail(400), Refused),
        (Fail(302), Refused),
        (Cut(done=False), Unavailable),
        (Throttle(45.0), Throttled),
    ],
    ids=str,
)
async def test_what_goes_wrong_with_fetching_has_a_name(
    server: DiscordServer, fault: Fault, error: type[AdapterError]
) -> None:
    async with running(server) as bot:
        file = await given(server, bot, "notes.txt", b"12345")
        # aiohttp itself tries a connection again that was cut before anything was answered.
        server.inject("GET", "^/attachments/", fault, times=2)
        with pytest.raises(error):
            await bot.adapter.fetch(file.ref, 5)


async def test_only_hosts_of_discord_are_asked(server: DiscordServer) -> None:
    async with DiscordServer(TOKEN) as other, running(server) as bot:
        file = await given(server, bot, "notes.txt", b"12345")
        elsewhere = other.world.cdn.add(Sent("notes.txt", b"12345"), "attachments/1")["url"]
        refs = [
            elsewhere,
            file.ref.replace("http://", "https://"),
            file.ref.replace("http://", "http://user:pw@"),
            "https://cdn.discordapp.com@127.0.0.1/attachments/1/2/a",
            "http://cdn.discordapp.com/attachments/1/2/a",
            "https://cdn.discordapp.com:8443/attachments/1/2/a",
            "https://cdn.discordapp.com.example.com/attachments/1/2/a",
            "file:///etc/passwd",
            "/etc/passwd",
            "http://[::1",
            "",
        ]
        for ref in refs:
            with pytest.raises(Refused, match="not a file on Discord"):
                await bot.adapter.fetch(ref, 5)
        assert server.world.cdn.asked == other.world.cdn.asked == []
