"""Documents, pictures and captions, both ways: the adapter against a Bot API server on the wire."""

import logging
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.base import (
    AdapterError,
    Button,
    Edit,
    Misconfigured,
    Post,
    Refused,
    Throttled,
    Unavailable,
    Unreachable,
    Upload,
)
from adapters.events import Conversation, Message
from adapters.telegram.adapter import TelegramAdapter
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_running import ANN, CHAT, FORUM, TOKEN, Inbox, running, started
from tests.stand_ins.telegram_wire import FaultKind

LIMIT = 1000
LOG = Upload("log.jsonl", b'{"type": "session"}\n')


def png(width: int, height: int) -> bytes:
    """The beginning of a picture, as far as a server looks."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


TREE = Upload("tree.png", png(800, 600), picture=True)


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN) as server:
        server.person(ANN, "Ann")
        yield server
        assert server.violations == []


@pytest.fixture
async def adapter(telegram: TelegramServer) -> AsyncIterator[TelegramAdapter]:
    async with started(telegram) as adapter:
        yield adapter


async def posted(adapter: TelegramAdapter, markdown: str, upload: Upload) -> str:
    (body,) = adapter.render(markdown)
    number = await adapter.deliver(Post(CHAT, body, upload=upload))
    assert number is not None
    return number


async def arrived(telegram: TelegramServer, adapter: TelegramAdapter) -> Message:
    """The only message that is there."""
    inbox = Inbox()
    async with running(adapter, inbox.receive):
        await telegram.wait_for(lambda: inbox.rows)
    (message,) = inbox.rows.values()
    assert isinstance(message, Message)
    return message


# Out


@pytest.mark.parametrize(("upload", "kind"), [(LOG, "document"), (TREE, "photo")])
async def test_a_file_is_sent_with_its_formatted_caption(
    telegram: TelegramServer, adapter: TelegramAdapter, upload: Upload, kind: str
) -> None:
    number = await posted(adapter, "**all** of it", upload)
    (message,) = telegram.messages(ANN)
    assert number == str(message["message_id"])
    assert message["caption"] == "all of it"
    assert message["caption_entities"] == [{"type": "bold", "offset": 0, "length": 3}]
    assert kind in message
    kept = telegram.file(message)
    assert kept is not None
    assert (kept.name, kept.content) == (upload.name, upload.data)


@pytest.mark.parametrize("upload", [LOG, TREE])
async def test_a_file_is_a_reply_in_its_topic_and_has_buttons(
    telegram: TelegramServer, adapter: TelegramAdapter, upload: Upload
) -> None:
    telegram.group(FORUM, "Team", forum=True)
    thread = telegram.topic(FORUM, "Plans", ANN)
    asked = telegram.say(FORUM, ANN, "/tree", thread=thread)["message"]["message_id"]
    place = Conversation("telegram", str(FORUM), str(thread))
    buttons = (Button("◀", "t1"), Button("2/3", "t2", beside=True), Button("Go", "t3"))
    await adapter.deliver(
        Post(place, {"text": "page 2"}, buttons, reply_to=str(asked), upload=upload)
    )
    (message,) = telegram.messages(FORUM, thread)
    assert message["reply_to_message"]["message_id"] == asked
    assert telegram.rows(message) == [["◀", "2/3"], ["Go"]]


async def test_a_caption_that_is_too_long_is_cut_where_telegram_counts(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    await posted(adapter, "**" + "😀" * 1500 + "**", LOG)
    (message,) = telegram.messages(ANN)
    assert message["caption"] == "😀" * 511 + "…"
    assert message["caption_entities"] == [{"type": "bold", "offset": 0, "length": 1023}]


async def test_a_file_needs_no_caption(telegram: TelegramServer, adapter: TelegramAdapter) -> None:
    number = await adapter.deliver(Post(CHAT, {"text": " "}, (Button("Go", "t"),), upload=LOG))
    assert number is not None
    await adapter.deliver(Edit(CHAT, number, {"text": ""}))
    (message,) = telegram.messages(ANN)
    assert "caption" not in message
    assert telegram.labels(message) == []


async def test_a_plain_caption_has_no_formats(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    (body,) = adapter.render("**all** of it")
    await adapter.deliver(Post(CHAT, body, upload=LOG, plain=True))
    assert "caption_entities" not in telegram.messages(ANN)[0]


@pytest.mark.parametrize("data", [png(400, 9000), png(6000, 6000), b"no picture"])
async def test_a_picture_that_telegram_does_not_show_is_a_document_at_the_second_try(
    telegram: TelegramServer, adapter: TelegramAdapter, data: bytes
) -> None:
    post = Post(CHAT, {"text": "the tree"}, upload=Upload("tree.png", data, picture=True))
    with pytest.raises(Refused):
        await adapter.deliver(post)
    await adapter.deliver(Post(CHAT, post.body, upload=post.upload, plain=True))
    (message,) = telegram.messages(ANN)
    assert (message["document"]["file_name"], message["caption"]) == ("tree.png", "the tree")


async def test_a_name_that_is_no_name_does_no_harm(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    name = 'a"b\r\nc: d\0\ud800😀.txt'
    await adapter.deliver(Post(CHAT, {"text": "x"}, upload=Upload(name, b"content")))
    kept = telegram.file(telegram.messages(ANN)[0])
    assert kept is not None
    assert kept.content == b"content"


@pytest.mark.parametrize(
    ("kind", "description", "expected"),
    [
        ("413", "", Refused),
        ("400", "Bad Request: file must be non-empty", Refused),
        ("400", "Bad Request: not enough rights to send documents to the chat", Unreachable),
        ("403", "", Unreachable),
        ("401", "", Misconfigured),
        ("429", "", Throttled),
        ("502", "", Unavailable),
        ("cut_before", "", Unavailable),
    ],
)
async def test_what_telegram_says_to_a_file_becomes_the_seams_error(
    telegram: TelegramServer,
    adapter: TelegramAdapter,
    kind: FaultKind,
    description: str,
    expected: type[AdapterError],
) -> None:
    telegram.fail_next("sendDocument", kind=kind, description=description)
    with pytest.raises(expected) as caught:
        await posted(adapter, "here", LOG)
    assert type(caught.value) is expected
    assert await posted(adapter, "here", LOG)


async def test_an_empty_file_is_refused(telegram: TelegramServer, adapter: TelegramAdapter) -> None:
    with pytest.raises(Refused, match="non-empty"):
        await posted(adapter, "here", Upload("empty.txt", b""))


async def test_a_message_with_a_file_follows_a_group_to_its_supergroup(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    telegram.migrate(-55, FORUM)
    await adapter.deliver(Post(Conversation("telegram", "-55"), {"text": "x"}, upload=LOG))
    assert len(telegram.messages(FORUM)) == 1


# Edits of ours


@pytest.mark.parametrize("upload", [LOG, TREE])
async def test_an_edit_of_a_message_with_a_file_changes_caption_and_buttons(
    telegram: TelegramServer, adapter: TelegramAdapter, upload: Upload
) -> None:
    number = await posted(adapter, "page 1", upload)
    (body,) = adapter.render("page **2** " + "x" * 2000)
    await adapter.deliver(Edit(CHAT, number, body, (Button("◀", "t1"),)))
    (message,) = telegram.messages(ANN)
    assert message["caption"] == "page 2 " + "x" * 1016 + "…"
    assert message["caption_entities"] == [{"type": "bold", "offset": 5, "length": 1}]
    assert telegram.labels(message) == ["◀"]
    kept = telegram.file(message)
    assert kept is not None and kept.content == upload.data
    await adapter.deliver(Edit(CHAT, number, body))
    assert telegram.labels(telegram.messages(ANN)[0]) == []


async def test_an_edit_that_changes_no_caption_is_done(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = await posted(adapter, "as it is", LOG)
    assert await adapter.deliver(Edit(CHAT, number, {"text": "as it is"})) is None
    assert len(telegram.calls("editMessageCaption")) == 1


async def test_an_edit_gives_a_text_its_buttons_row_by_row(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = await adapter.deliver(Post(CHAT, {"text": "one"}))
    assert number is not None
    buttons = tuple(Button(str(i), f"t{i}", beside=True) for i in range(10))
    await adapter.deliver(Edit(CHAT, number, {"text": "two"}, buttons))
    (message,) = telegram.messages(ANN)
    assert message["text"] == "two"
    assert telegram.rows(message) == [list("01234567"), list("89")]


async def test_a_text_cannot_become_blank(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = await adapter.deliver(Post(CHAT, {"text": "one"}))
    assert number is not None
    with pytest.raises(Refused):
        await adapter.deliver(Edit(CHAT, number, {"text": " "}))
    assert telegram.messages(ANN)[0]["text"] == "one"


# In


async def test_a_document_that_a_person_sends_is_fetched(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    content = b"one\ntwo\n" * 100
    document = telegram.document("old talk 😀.jsonl", content)
    telegram.say(ANN, ANN, "/import", caption=True, document=document)
    message = await arrived(telegram, adapter)
    (file,) = message.files
    assert message.text == "/import"
    assert (file.name, file.size) == ("old talk 😀.jsonl", len(content))
    assert await adapter.fetch(file.ref, LIMIT) == content


async def test_a_document_of_ours_that_is_replied_to_is_fetched(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = await posted(adapter, "your export", LOG)
    telegram.say(ANN, ANN, "/import", reply_to=int(number))
    message = await arrived(telegram, adapter)
    assert message.reply_to == number
    (file,) = message.files
    assert (file.name, file.size, file.kind) == ("log.jsonl", len(LOG.data), "document")
    assert await adapter.fetch(file.ref, LIMIT) == LOG.data


@pytest.mark.parametrize("size", [LIMIT + 1, 20 * 1024 * 1024 + 1])
async def test_a_file_that_is_too_big_is_refused_before_it_is_fetched(
    telegram: TelegramServer, adapter: TelegramAdapter, size: int
) -> None:
    document = telegram.document("big.bin", bytes(size))
    with pytest.raises(Refused, match=r"at most (1000|20 MB)"):
        await adapter.fetch(document["file_id"], LIMIT)
    assert telegram.calls("file") == []


async def test_a_file_of_just_the_limit_is_taken_and_an_empty_one_too(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    for content in (bytes(LIMIT), b""):
        document = telegram.document("file", content)
        assert await adapter.fetch(document["file_id"], LIMIT) == content


async def test_a_file_that_is_gone_is_refused(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    document = telegram.document("old.txt", b"content")
    with pytest.raises(Refused, match="send it again"):
        await adapter.fetch("nothing", LIMIT)
    telegram.fail_next("file", kind="404")
    with pytest.raises(Refused, match="send it again"):
        await adapter.fetch(document["file_id"], LIMIT)
    assert await adapter.fetch(document["file_id"], LIMIT) == b"content"


@pytest.mark.parametrize("method", ["getFile", "file"])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("429", Throttled),
        ("500", Unavailable),
        ("502", Unavailable),
        ("cut_before", Unavailable),
        ("cut_after", Unavailable),
        ("401", Misconfigured),
        ("400", Refused),
    ],
)
async def test_a_fetch_that_fails_says_how(
    telegram: TelegramServer,
    adapter: TelegramAdapter,
    method: str,
    kind: FaultKind,
    expected: type[AdapterError],
) -> None:
    document = telegram.document("file.txt", b"content")
    telegram.fail_next(method, kind=kind)
    with pytest.raises(expected) as caught:
        await adapter.fetch(document["file_id"], LIMIT)
    assert type(caught.value) is expected
    assert await adapter.fetch(document["file_id"], LIMIT) == b"content"


async def test_a_file_of_this_machine_is_never_taken_for_the_platforms(
    telegram: TelegramServer,
    adapter: TelegramAdapter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = telegram.document("file.txt", b"from Telegram")
    here = tmp_path / telegram.world.files[document["file_id"]].path
    here.parent.mkdir()
    here.write_bytes(b"a secret")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused):
        await adapter.fetch(document["file_id"], LIMIT)


async def test_no_log_line_and_no_error_of_a_file_has_the_token(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    document = telegram.document("file.txt", b"content")
    texts: list[str] = []
    async with started(telegram) as adapter:
        with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "httpx"):
            assert await adapter.fetch(document["file_id"], LIMIT) == b"content"
            echo = f"Bad Request: no /file/bot{TOKEN.replace(':', '%3A')}/x here"
            telegram.fail_next("file", kind="400", description=echo)
            telegram.fail_next("file", kind="500", description=echo)
            telegram.fail_next("file", kind="cut_before")
            for _ in range(3):
                with pytest.raises(AdapterError) as caught:
                    await adapter.fetch(document["file_id"], LIMIT)
                texts.append(str(caught.value))
    assert "/file/bot[token]/" in caplog.text
    assert "a-secret-token" not in caplog.text + "".join(texts)
