import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.base import Adapter, Button, Edit, Post, Refused, Upload
from adapters.events import Conversation, File, Message, Update
from adapters.recording import RecordingAdapter

CHAT = Conversation("recording", "1")


@pytest.fixture
def received() -> list[Update]:
    return []


@pytest.fixture
async def chat(received: list[Update]) -> AsyncIterator[RecordingAdapter]:
    async def receive(update: Update) -> None:
        received.append(update)

    chat = RecordingAdapter()
    task = asyncio.create_task(chat.run(receive, {}))
    yield chat
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_it_is_an_adapter() -> None:
    adapter: Adapter = RecordingAdapter(name="telegram")
    assert adapter.name == "telegram"


async def test_an_edit_has_the_place_and_id_of_its_message_and_a_key_of_its_own(
    chat: RecordingAdapter, received: list[Update]
) -> None:
    said = await chat.say("helo", chat="5", user="7", reply_to="m1")
    first = await chat.edit(said, "hello")
    second = await chat.edit(first, "hello!")
    assert received == [said, first, second]
    assert (first.kind, first.text, first.reply_to) == ("edit", "hello", "m1")
    assert (first.conversation, first.user) == (said.conversation, said.user)
    assert {one.message_id for one in (said, first, second)} == {said.message_id}
    assert len({one.key for one in (said, first, second)}) == 3
    assert first.key.startswith(f"{said.key}:edit:")
    assert second.key.startswith(f"{said.key}:edit:")
    assert second.key.count(":edit:") == 1


async def test_what_came_with_a_message_is_fetched(chat: RecordingAdapter) -> None:
    said = await chat.say("/import", files={"a.jsonl": b"one", "b.jsonl": b"three"})
    assert isinstance(said, Message)
    first, second = said.files
    assert first == File(first.ref, "a.jsonl", 3)
    assert (await chat.fetch(first.ref, 5), await chat.fetch(second.ref, 5)) == (b"one", b"three")


async def test_a_file_that_is_too_big_or_not_there_is_refused(chat: RecordingAdapter) -> None:
    said = await chat.say("/import", files={"a.jsonl": b"three"})
    with pytest.raises(Refused, match="5 bytes"):
        await chat.fetch(said.files[0].ref, 4)
    with pytest.raises(Refused, match="send it again"):
        await chat.fetch("nothing", 4)


async def test_a_file_that_went_out_is_shown_and_stays_when_its_message_changes(
    chat: RecordingAdapter,
) -> None:
    upload = Upload("tree.png", b"picture", picture=True)
    number = await chat.deliver(Post(CHAT, {"text": "page 1"}, upload=upload))
    assert number is not None
    await chat.deliver(Edit(CHAT, number, {"text": "page 2"}, (Button("◀", "t"),)))
    shown = chat.shown[number]
    assert (shown.text, shown.upload) == ("page 2", upload)
    assert [button.label for button in shown.buttons] == ["◀"]
