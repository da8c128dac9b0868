"""Sending: the adapter against a Bot API server on the wire."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from adapters.base import (
    Acknowledge,
    AdapterError,
    Button,
    Edit,
    Misconfigured,
    Post,
    Refused,
    Throttled,
    Typing,
    Unavailable,
    Unreachable,
)
from adapters.events import Conversation, Press
from adapters.telegram.adapter import TelegramAdapter
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_running import (
    ANN,
    CHAT,
    FORUM,
    TOKEN,
    Clock,
    Inbox,
    post,
    running,
    started,
)
from tests.stand_ins.telegram_wire import FaultKind


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def telegram(clock: Clock) -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN, clock=clock) as server:
        server.person(ANN, "Ann")
        yield server
        assert server.violations == []


@pytest.fixture
async def adapter(telegram: TelegramServer) -> AsyncIterator[TelegramAdapter]:
    async with started(telegram) as adapter:
        yield adapter


async def test_a_post_is_sent_with_its_formats_and_without_preview(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    (body,) = adapter.render("**bold** and `https://x.de`")
    number = await adapter.deliver(Post(CHAT, body))
    (message,) = telegram.messages(ANN)
    assert number == str(message["message_id"])
    assert message["text"] == "bold and https://x.de"
    assert [entity["type"] for entity in message["entities"]] == ["bold", "code"]
    params = telegram.calls("sendMessage")[0].params
    assert params["link_preview_options"] == {"is_disabled": True}
    assert "parse_mode" not in params


async def test_a_plain_post_has_no_formats(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    (body,) = adapter.render("**bold**")
    await adapter.deliver(Post(CHAT, body, plain=True))
    assert "entities" not in telegram.messages(ANN)[0]


async def test_what_stood_in_code_makes_no_links_in_a_plain_post(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    seen = "see 😀 https://evil.example/x, @admin, t.me/x, /stop #now 10.0.0.1 and 1,5 €"
    (body,) = adapter.render(f"😀 https://ours.example: `{seen}` **end** https://ours.example")
    number = await adapter.deliver(Post(CHAT, body, plain=True))
    assert number is not None
    await adapter.deliver(Edit(CHAT, number, body, plain=True))
    for call in (telegram.calls("sendMessage")[0], telegram.calls("editMessageText")[0]):
        text = call.params["text"]
        assert text.startswith("😀 https://ours.example: see 😀 https:")
        assert text.endswith(" and 1,5 € end https://ours.example")
        assert len(text) == len(body["text"])
        for link in ("evil.", "@admin", "t.me", "/stop", "#now", "10.0"):
            assert link not in text


async def test_a_long_answer_arrives_whole(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    code = "\n".join(f"    line {i} 😀" for i in range(2000))
    for body in adapter.render(f"```py\n{code}\n```"):
        await adapter.deliver(Post(CHAT, body))
    messages = telegram.messages(ANN)
    assert "\n".join(message["text"] for message in messages) == code
    assert all(message["entities"][0]["language"] == "py" for message in messages)


async def test_a_reply_is_shown_as_one_and_sent_even_if_its_message_is_gone(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    asked = telegram.say(ANN, ANN, "why?")["message"]["message_id"]
    body = {"text": "because", "entities": []}
    await adapter.deliver(Post(CHAT, body, reply_to=str(asked)))
    await adapter.deliver(Post(CHAT, body, reply_to="999"))
    first, second = telegram.messages(ANN)
    assert first["reply_to_message"]["message_id"] == asked
    assert "reply_to_message" not in second


async def test_a_topic_is_answered_in_that_topic(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    telegram.group(FORUM, "Team", forum=True)
    thread = telegram.topic(FORUM, "Plans", ANN)
    inbox = Inbox()
    async with running(adapter, inbox.receive):
        telegram.say(FORUM, ANN, "@bough_bot where are we?", thread=thread)
        await telegram.wait_for(lambda: inbox.texts)
    (arrived,) = inbox.rows.values()
    await adapter.deliver(Typing(arrived.conversation))
    await adapter.deliver(post("here", arrived.conversation))
    assert [message["text"] for message in telegram.messages(FORUM, thread)] == ["here"]
    assert telegram.calls("sendChatAction")[0].params == {
        "chat_id": FORUM,
        "message_thread_id": thread,
        "action": "typing",
    }


async def test_a_button_goes_out_and_its_press_comes_back(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    inbox = Inbox()
    buttons = (Button("Try again", "token-1"), Button("Stop", "token-2", "danger"))
    number = await adapter.deliver(Post(CHAT, {"text": "Stuck. Now?"}, buttons))
    (message,) = telegram.messages(ANN)
    assert telegram.labels(message) == ["Try again", "Stop"]
    async with running(adapter, inbox.receive):
        telegram.press(message, "Stop", ANN)
        await telegram.wait_for(lambda: inbox.rows)
    (press,) = inbox.rows.values()
    assert isinstance(press, Press)
    assert (press.token, press.message_id, press.user.id) == ("token-2", number, "1001")
    await adapter.deliver(Acknowledge(press.handle))
    await adapter.deliver(Acknowledge(press.handle, "Only an approver decides. " + "x" * 300))
    silent, told = telegram.methods.answers
    assert "text" not in silent
    assert (told["show_alert"], len(told["text"])) == (True, 200)


async def test_an_edit_changes_text_and_takes_buttons_away(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = await adapter.deliver(Post(CHAT, {"text": "Sure?"}, (Button("Yes", "t"),)))
    assert number is not None
    edit = Edit(CHAT, number, {"text": "Ann said yes", "entities": []})
    assert await adapter.deliver(edit) is None
    (message,) = telegram.messages(ANN)
    assert message["text"] == "Ann said yes"
    assert telegram.labels(message) == []


async def test_an_edit_that_changes_nothing_is_done(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    number = await adapter.deliver(post("as it is"))
    assert number is not None
    assert await adapter.deliver(Edit(CHAT, number, {"text": "as it is"})) is None
    assert len(telegram.calls("editMessageText")) == 1


async def test_a_message_that_cannot_be_edited_is_refused(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    theirs = telegram.say(ANN, ANN, "mine")["message"]["message_id"]
    for number in (str(theirs), "999", "no number"):
        with pytest.raises(Refused):
            await adapter.deliver(Edit(CHAT, number, {"text": "x"}))


async def test_a_press_that_is_too_old_is_acknowledged_in_vain(
    telegram: TelegramServer,
    adapter: TelegramAdapter,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await adapter.deliver(Post(CHAT, {"text": "Sure?"}, (Button("Yes", "t"),)))
    update = telegram.press(telegram.messages(ANN)[0], "Yes", ANN)
    clock.now += 151
    with caplog.at_level(logging.INFO):
        await adapter.deliver(Acknowledge(update["callback_query"]["id"], "too late"))
    assert "acknowledged too late" in caplog.text
    assert telegram.methods.answers == []
    assert telegram.world.pending == []


@pytest.mark.parametrize(
    ("kind", "description", "expected"),
    [
        ("429", "", Throttled),
        ("500", "", Unavailable),
        ("502", "", Unavailable),
        ("cut_before", "", Unavailable),
        ("cut_after", "", Unavailable),
        ("401", "", Misconfigured),
        ("403", "Forbidden: bot was kicked from the group chat", Unreachable),
        ("403", "Forbidden: user is deactivated", Unreachable),
        ("400", "Bad Request: chat not found", Unreachable),
        ("400", "Bad Request: TOPIC_CLOSED", Unreachable),
        (
            "400",
            "Bad Request: not enough rights to send text messages to the chat",
            Unreachable,
        ),
        ("400", "Bad Request: can't parse entities", Refused),
    ],
)
async def test_what_telegram_answers_becomes_the_seams_error(
    telegram: TelegramServer,
    adapter: TelegramAdapter,
    kind: FaultKind,
    description: str,
    expected: type[AdapterError],
) -> None:
    telegram.fail_next("sendMessage", kind=kind, seconds=7, description=description)
    with pytest.raises(expected) as caught:
        await adapter.deliver(post())
    assert type(caught.value) is expected
    assert len(telegram.calls("sendMessage")) == 1
    if isinstance(caught.value, Throttled):
        assert caught.value.retry_after == 7
    assert await adapter.deliver(post()) is not None


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [
        (Conversation("telegram", "4004"), Unreachable),
        (Conversation("telegram", "@nobody"), Unreachable),
        (Conversation("telegram", "kitchen"), Unreachable),
        (Conversation("telegram", "1001", "12"), Unreachable),
        (Conversation("telegram", "1001", "twelve"), Unreachable),
    ],
)
async def test_a_place_that_is_not_there_is_unreachable(
    telegram: TelegramServer,
    adapter: TelegramAdapter,
    conversation: Conversation,
    expected: type[AdapterError],
) -> None:
    with pytest.raises(expected):
        await adapter.deliver(post(conversation=conversation))
    assert telegram.messages(ANN) == []


async def test_a_blocked_bot_is_unreachable(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    telegram.block(ANN)
    with pytest.raises(Unreachable, match="blocked by the user"):
        await adapter.deliver(post())


async def test_a_message_follows_a_group_to_its_supergroup(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    telegram.migrate(-55, FORUM)
    assert await adapter.deliver(post(conversation=Conversation("telegram", "-55"))) is not None
    assert [message["text"] for message in telegram.messages(FORUM)] == ["hello"]


async def test_what_telegram_never_takes_is_refused(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    entity = {"type": "bold", "offset": 3, "length": 9}
    with pytest.raises(Refused, match="too long"):
        await adapter.deliver(post("x" * 4097))
    with pytest.raises(Refused, match="empty"):
        await adapter.deliver(post(" \n"))
    with pytest.raises(Refused, match="out of the text"):
        await adapter.deliver(Post(CHAT, {"text": "short", "entities": [entity]}))
    with pytest.raises(Refused, match=r"(?i)button_data_invalid"):
        await adapter.deliver(Post(CHAT, {"text": "x"}, (Button("x", "y" * 65),)))
    with pytest.raises(Refused, match="no number"):
        await adapter.deliver(Post(CHAT, {"text": "x"}, reply_to="no number"))


async def test_sending_does_not_wait_for_the_poll(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    async with running(adapter, Inbox().receive):
        await telegram.wait_for(lambda: len(telegram.calls("getUpdates")) == 2)
        await asyncio.gather(*(adapter.deliver(post(str(i))) for i in range(20)))
        assert len(telegram.calls("getUpdates")) == 2
    assert {message["text"] for message in telegram.messages(ANN)} == {str(i) for i in range(20)}


async def test_cancelling_a_delivery_leaves_the_adapter_working(
    telegram: TelegramServer, adapter: TelegramAdapter
) -> None:
    telegram.fail_next("sendMessage", kind="slow", seconds=0.5)
    sending = asyncio.create_task(adapter.deliver(post("slow")))
    await telegram.wait_for(lambda: telegram.calls("sendMessage"))
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert await adapter.deliver(post("quick")) is not None
